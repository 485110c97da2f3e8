/* Code that all commands share: output, messages on standard error, progress lines and colours.
 * Messages may contain file names and text of inputs, so characters that a terminal would interpret
 * are replaced before printing. */
#include "cli/cli.h"

#include "base/utf8.h"
#include "draw/ascii.h"
#include "wire/json.h"
#include "base/ban.h"
#include <errno.h>
#include <unistd.h>

void cli_localize(cli *c)
{
    if (!c->term.utf8 && !c->verbatim && !c->o.json) c->out.n = ascii_marks(c->out.p, c->out.n);
}

bool cli_flush(cli *c)
{
    cli_localize(c);
    bool ok = !c->out.failed;
    if (!ok) cli_fail(c, EXIT_ENVIRONMENT, "out of memory for the output");
    for (size_t at = 0; ok && !c->out_closed && at < c->out.n;) {
        ssize_t k = write(c->fd, c->out.p + at, c->out.n - at);
        if (k >= 0) {
            at += (size_t)k;
        } else if (errno == EPIPE) {
            c->out_closed = true;
        } else if (errno != EINTR) {
            cli_fail(c, EXIT_ENVIRONMENT, "cannot write to standard output: %s", strerror(errno));
            ok = false;
        }
    }
    buf_reset(&c->out);
    return ok;
}

/* Replaces control and bidirectional characters by `?`. */
static void hide_harmful(char *line)
{
    uint32_t code;
    size_t n, to = 0;
    for (size_t i = 0, all = strlen(line); i < all; i += n) {
        bool harmful = utf8_harmful(line + i, all - i, &n, &code);
        if (harmful && code != '\n' && code != '\t') {
            line[to++] = '?';
            continue;
        }
        memmove(line + to, line + i, n);
        to += n;
    }
    line[to] = '\0';
}

static void put_message(cli *c, const char *fmt, va_list ap) PRINTF(2, 0);

static void put_message(cli *c, const char *fmt, va_list ap)
{
    cli_status(c, "%s", "");
    char line[1024];
    vsnprintf(line, sizeof line, fmt, ap);
    hide_harmful(line);
    if (!c->term_err.utf8) line[ascii_marks(line, strlen(line))] = '\0';
    bool color = c->term_err.color;
    fprintf(stderr, "%skiln:%s %s\n", paint_on(color, PAINT_BOLD), paint_on(color, PAINT_OFF),
            line);
}

void cli_fail(cli *c, exit_code code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    put_message(c, fmt, ap);
    va_end(ap);
    if (code > c->worst) c->worst = code;
}

void cli_note(cli *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    put_message(c, fmt, ap);
    va_end(ap);
}

static exit_code code_of(const err *e)
{
    return e->code == ERR_SYS     ? EXIT_ENVIRONMENT
           : e->code == ERR_USAGE ? EXIT_USAGE
                                  : EXIT_BAD_INPUT;
}

void cli_fail_err(cli *c, const char *path, const err *e)
{
    char text[512];
    err_text(e, text, sizeof text);
    if (path)
        cli_fail(c, code_of(e), "%s: %s", !strcmp(path, "-") ? "standard input" : path, text);
    else
        cli_fail(c, code_of(e), "%s", text);
}

void cli_status(cli *c, const char *fmt, ...)
{
    if (!c->term_err.moves) return;
    char line[120];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (!line[0] && !c->status) return;
    c->status = line[0] != '\0';
    if (!c->term_err.utf8) line[ascii_marks(line, strlen(line))] = '\0';
    fprintf(stderr, "\r\033[K%.*s", (int)c->term_err.width - 1, line);
    fflush(stderr);
}

const char *paint_on(bool color, paint p)
{
    static const char *const codes[] = {
        [PAINT_OFF] = "\033[0m",   [PAINT_BOLD] = "\033[1m",    [PAINT_DIM] = "\033[2m",
        [PAINT_RED] = "\033[31m",  [PAINT_YELLOW] = "\033[33m", [PAINT_GREEN] = "\033[32m",
        [PAINT_CYAN] = "\033[36m",
    };
    return color ? codes[p] : "";
}

void cli_open_files(json_out *o)
{
    json_put_object(o);
    json_put_key(o, STR("schema"));
    json_put_i64(o, 1);
    json_put_key(o, STR("files"));
    json_put_array(o);
}
