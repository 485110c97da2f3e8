/* Generates manual pages in roff from the tables of commands and options. */
#include "cli/cli.h"

#include "base/ban.h"

/* Escapes text for roff.  Hyphens become minus signs, because nearly all of them are in options and
 * commands. */
static void roff(buf *b, const char *text)
{
    bool line_start = true;
    for (const char *p = text; *p; p++) {
        if (line_start && (*p == '.' || *p == '\'')) buf_z(b, "\\&");
        line_start = *p == '\n';
        if (*p == '\\')
            buf_z(b, "\\e");
        else if (*p == '-')
            buf_z(b, "\\-");
        else if (*p == '\n' && p[1] == '\n')
            buf_z(b, "\n.PP\n"), p++;
        else
            buf_putc(b, *p);
    }
}

static void section(buf *b, const char *name) { buf_printf(b, ".SH %s\n", name); }

static void put_option(buf *b, const option_desc *d)
{
    buf_z(b, ".TP\n");
    if (d->letter) buf_printf(b, "\\fB\\-%c\\fR, ", d->letter);
    buf_z(b, "\\fB\\-\\-");
    roff(b, d->name);
    buf_z(b, "\\fR");
    if (d->arg) buf_printf(b, d->kind == OPTION_MAYBE ? "[=\\fI%s\\fR]" : "=\\fI%s\\fR", d->arg);
    buf_putc(b, '\n');
    roff(b, d->help);
    buf words = {0};
    option_choices(&words, d);
    if (words.n) buf_z(b, " One of: ");
    for (size_t i = 0; i < words.n; i++) {
        if (words.p[i] == ' ') buf_putc(b, ',');
        roff(b, (char[2]){words.p[i], 0});
    }
    if (words.n) buf_putc(b, '.');
    buf_free(&words);
    buf_putc(b, '\n');
}

static void exit_status(buf *b)
{
    section(b, "EXIT STATUS");
    buf_z(b, ".TP\n0\nsuccess\n.TP\n1\nbad input, or a failed check\n.TP\n2\nusage error\n"
             ".TP\n3\nsystem error: permission, disk, network\n"
             ".TP\n4\na gate failed, or a regression was found\n");
}

static void header(buf *b, const char *page, const char *summary)
{
    buf_printf(b, ".TH \"%s\" 1 \"\" \"kiln %s\" \"Kiln\"\n.SH NAME\n", page, KILN_VERSION);
    roff(b, page);
    buf_z(b, " \\- ");
    roff(b, summary);
    buf_putc(b, '\n');
}

static void overview(buf *b)
{
    header(b, "kiln",
           "record, query, compare, draw, convert, check and send OpenTelemetry profiles");
    section(b, "SYNOPSIS");
    buf_z(b, "\\fBkiln\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]... [\\fIFILE\\fR]...\n");
    section(b, "DESCRIPTION");
    buf_z(
        b,
        "kiln works with profiles in files, pipes, stores and servers. It detects the format from "
        "the bytes, and removes gzip and zstd compression.\n");
    section(b, "COMMANDS");
    size_t n;
    const command *c = commands(&n);
    for (size_t i = 0; i < n; i++) {
        buf_printf(b, ".TP\n\\fBkiln\\-%s\\fR(1)\n", c[i].name);
        roff(b, c[i].summary);
        buf_putc(b, '\n');
    }
    exit_status(b);
    section(b, "ENVIRONMENT");
    buf_z(b, ".TP\n\\fBNO_COLOR\\fR\nDisables colours if it is set and not empty.\n");
    buf_z(
        b,
        ".TP\n\\fBKILN_AGENT_PATH\\fR\nDirectory of the libraries that \\fBkiln run\\fR preloads.\n"
        ".TP\n\\fBKILN_SEED\\fR\nSeed of the hash tables (default: random). The output does not "
        "depend on it.\n");
}

void man_page(buf *b, const command *c)
{
    if (!c) {
        overview(b);
        return;
    }
    char page[32];
    snprintf(page, sizeof page, "kiln-%s", c->name);
    header(b, page, c->summary);
    section(b, "SYNOPSIS");
    buf_printf(b, "\\fBkiln %s\\fR [\\fIOPTION\\fR]... \\fI%s\\fR\n", c->name, c->args);
    section(b, "DESCRIPTION");
    roff(b, c->about);
    buf_putc(b, '\n');
    section(b, "OPTIONS");
    size_t n;
    const option_desc *o = options(&n);
    for (size_t i = 0; i < n; i++)
        if (option_applies(&o[i], command_index(c))) put_option(b, &o[i]);
    section(b, "EXAMPLES");
    for (size_t i = 0; i < ARRAY_LEN(c->examples) && c->examples[i].what; i++) {
        buf_z(b, ".PP\n");
        roff(b, c->examples[i].what);
        buf_z(b, ":\n.PP\n.nf\n.RS 4\n");
        roff(b, c->examples[i].line);
        buf_z(b, "\n.RE\n.fi\n");
    }
    exit_status(b);
    section(b, "SEE ALSO");
    buf_z(b, "\\fBkiln\\fR(1)\n");
}
