/* Generates --help of kiln and of each command from the tables of commands and options. */
#include "cli/cli.h"

#include "base/ban.h"

enum { WIDTH = 80, LEFT = 26 };

/* Appends one line; returns the rest of the text. */
static const char *wrap_line(buf *b, const char *text, unsigned width)
{
    size_t fit = 0, end = 0;
    for (size_t i = 0; text[i] && text[i] != '\n'; i++) {
        end = i + 1;
        if (i >= width) break;
        if (text[i + 1] == ' ' || text[i + 1] == '\0' || text[i + 1] == '\n') fit = i + 1;
    }
    size_t n = fit ? fit : end;
    buf_put(b, text, n);
    buf_putc(b, '\n');
    text += n;
    while (*text == ' ') text++;
    return text;
}

void wrap_text(buf *b, const char *text, unsigned indent, unsigned width)
{
    while (*text) {
        if (*text == '\n') {
            text++;
            if (*text == '\n') buf_putc(b, '\n'), text++;
            continue;
        }
        buf_printf(b, "%*s", (int)indent, "");
        text = wrap_line(b, text, width - indent);
    }
}

static void put_option(buf *b, const option_desc *d)
{
    char left[64];
    int n = d->letter ? snprintf(left, sizeof left, "  -%c, --%s", d->letter, d->name)
                      : snprintf(left, sizeof left, "      --%s", d->name);
    bool maybe = d->kind == OPTION_MAYBE;
    if (d->arg) n += snprintf(left + n, sizeof left - (size_t)n, maybe ? "[=%s]" : "=%s", d->arg);
    buf_z(b, left);
    buf_printf(b, "%*s", n + 2 > LEFT ? 0 : LEFT - n, "");
    if (n + 2 > LEFT) buf_printf(b, "\n%*s", LEFT, "");
    buf prose = {0};
    wrap_text(&prose, d->help, LEFT, WIDTH);
    if (prose.n > LEFT) buf_put(b, prose.p + LEFT, prose.n - LEFT);
    if (prose.failed) b->failed = true;
    buf_free(&prose);
}

void help_command(buf *b, const command *c)
{
    buf_printf(b, "kiln %s - %s\n\nUsage: kiln %s [OPTION]...%s%s\n\n", c->name, c->summary,
               c->name, *c->args ? " " : "", c->args);
    wrap_text(b, c->about, 0, WIDTH);
    buf_z(b, "\nOptions:\n");
    size_t n;
    const option_desc *o = options(&n);
    for (size_t i = 0; i < n; i++)
        if (option_applies(&o[i], command_index(c))) put_option(b, &o[i]);
    buf_z(b, "\nExamples:\n");
    for (size_t i = 0; i < ARRAY_LEN(c->examples) && c->examples[i].what; i++)
        buf_printf(b, "  # %s\n  %s\n", c->examples[i].what, c->examples[i].line);
}

void help_overview(buf *b)
{
    buf_z(b, "kiln - record, query, compare, draw, convert, check and send profiles\n\n"
             "Usage: kiln COMMAND [OPTION]... [FILE]...\n\nCommands:\n");
    size_t n;
    const command *c = commands(&n);
    for (size_t i = 0; i < n; i++) buf_printf(b, "  %-12s %s\n", c[i].name, c[i].summary);
    buf_z(b, "\n`kiln help COMMAND` and `kiln COMMAND --help` explain a command.\n"
             "Inputs may be compressed with gzip or zstd; - is standard input.\n\n"
             "Exit codes: 0 success, 1 bad input or failed check, 2 usage error,\n"
             "3 system error (permission, disk, network), 4 a gate failed.\n\n"
             "Examples:\n  kiln run ./app\n  kiln top app.otlp\n");
}
