/* cli/cli.h - the state of one invocation of `kiln`, passed to every command. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/options.h"
#include "sys/child.h"
#include "sys/term.h"

typedef struct cli {
    cli_options o;
    const struct command *command;
    const char **args; /* operands */
    size_t n_args;
    buf out;   /* output so far; main writes it, or cli_flush when it is large */
    int fd;    /* where `out` is written: stdout, or stderr for `run`, whose program owns stdout */
    term term; /* properties of fd; --color is already applied */
    term term_err;
    uint64_t seed;           /* seed of the hash tables */
    bool out_closed;         /* the reader closed the pipe: no error, no more output */
    bool pages;              /* show long output through a pager */
    bool verbatim;           /* the output is data or a file, not text for people */
    bool status;             /* a progress line is on the terminal */
    child_settings settings; /* as they were when kiln was started */
    exit_code worst;         /* highest code seen so far */
    struct naming *naming;   /* automatic symbol lookup (cli/naming.h); NULL: not used yet */
} cli;

/* Replaces UTF-8 marks in c->out by ASCII if the locale is not UTF-8.  Call it before c->out is
 * shown. */
void cli_localize(cli *c);

/* Writes c->out to c->fd and empties it.  Returns false after reporting a failure. */
bool cli_flush(cli *c);

/* Prints "kiln: " and one line on stderr; raises the exit code to at least `code`. */
void cli_fail(cli *c, exit_code code, const char *fmt, ...) PRINTF(3, 4);
/* Prints "kiln: path: sentence (byte, path in the message)".  The kind of error determines the exit
 * code. */
void cli_fail_err(cli *c, const char *path, const err *e);
/* Prints "kiln: " and one line on stderr; the exit code does not change. */
void cli_note(cli *c, const char *fmt, ...) PRINTF(2, 3);

/* Shows a progress line on stderr; "" removes it.  Does nothing if stderr is not a terminal. */
void cli_status(cli *c, const char *fmt, ...) PRINTF(2, 3);

/* Writes {"schema": 1, "files": [ ; the caller writes the files and closes both. */
struct json_out;
void cli_open_files(struct json_out *o);

/* ---- colours ---- */
typedef enum paint {
    PAINT_OFF,
    PAINT_BOLD,
    PAINT_DIM,
    PAINT_RED,
    PAINT_YELLOW,
    PAINT_GREEN,
    PAINT_CYAN
} paint;
/* Returns the escape sequence, or "" if color is false.  PAINT_OFF resets. */
const char *paint_on(bool color, paint p);

/* ---- commands: one file each ---- */
exit_code cmd_run(cli *c);
exit_code cmd_record(cli *c);
exit_code cmd_info(cli *c);
exit_code cmd_top(cli *c);
exit_code cmd_tree(cli *c);
exit_code cmd_peek(cli *c);
exit_code cmd_list(cli *c);
exit_code cmd_traces(cli *c);
exit_code cmd_diff(cli *c);
exit_code cmd_series(cli *c);
exit_code cmd_merge(cli *c);
exit_code cmd_cat(cli *c);
exit_code cmd_convert(cli *c);
exit_code cmd_check(cli *c);
exit_code cmd_flame(cli *c);
exit_code cmd_symbolize(cli *c);
exit_code cmd_ctx(cli *c);
exit_code cmd_send(cli *c);
exit_code cmd_serve(cli *c);
exit_code cmd_store(cli *c);
exit_code cmd_formats(cli *c);
exit_code cmd_version(cli *c);
exit_code cmd_help(cli *c);
exit_code cmd_completion(cli *c);
