/* cli/cli.h - what every command of `kiln` gets and gives back. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/options.h"
#include "sys/term.h"

typedef struct cli {
    cli_options o;
    const struct command *command;
    const char **args; /* what is left after the options */
    size_t n_args;
    buf out;   /* for stdout: written by main, or by cli_flush when it grows */
    int fd;    /* that is, stdout; `run` leaves that to the program and writes to stderr */
    term term; /* of fd; color already follows --color */
    term term_err;
    uint64_t seed;         /* of the hash tables */
    bool out_closed;       /* the reader of a pipe went away: no complaint, no more output */
    bool pages;            /* the output is for a person at a terminal: long, through a pager */
    bool verbatim;         /* the output is data or a file, not for a person to read */
    bool status;           /* a passing line is on the terminal */
    uint64_t ignored;      /* the signals that were ignored when we were started (sys/child.h) */
    exit_code worst;       /* highest code seen so far */
    struct naming *naming; /* looked up without being asked (cli/naming.h); NULL: none yet */
} cli;

/* Before c->out is shown: marks that only UTF-8 has become ASCII where the locale is another. */
void cli_localize(cli *c);

/* Writes c->out to stdout and empties it.  false after a failure that was already reported. */
bool cli_flush(cli *c);

/* "kiln: " and one line on stderr; the exit code is remembered. */
void cli_fail(cli *c, exit_code code, const char *fmt, ...) PRINTF(3, 4);
/* "kiln: path: sentence (byte, place)", then what to do about it where we know. */
void cli_fail_err(cli *c, const char *path, const err *e);
/* A line on stderr that is no failure. */
void cli_note(cli *c, const char *fmt, ...) PRINTF(2, 3);

/* A passing "what I am doing" on the terminal; "" takes it away.  Nothing when it is no terminal. */
void cli_status(cli *c, const char *fmt, ...) PRINTF(2, 3);

/* ---- colour: a name when it is on, "" when it is off ---- */
typedef enum paint {
    PAINT_OFF,
    PAINT_BOLD,
    PAINT_DIM,
    PAINT_RED,
    PAINT_YELLOW,
    PAINT_GREEN,
    PAINT_CYAN
} paint;
const char *paint_on(bool color, paint p); /* PAINT_OFF: back to normal */

/* ---- commands: one file each ---- */
exit_code cmd_run(cli *c);
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
