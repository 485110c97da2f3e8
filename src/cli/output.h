/* cli/output.h - a file that a command writes: its format and compression.  The file is replaced
 * only when it is complete. */
#pragma once
#include "cli/cli.h"
#include "format/format.h"

typedef struct output {
    const char *path;
    const format *to;
    codec pack;
    bool quick; /* compress fast rather than well */
} output;

/* Chooses the format by --to or the name.  Returns false after reporting a failure. */
bool output_choose(cli *c, const char *path, output *out);
/* Returns true, after reporting it, if a binary format would be written to a terminal. */
bool output_is_shown(cli *c, const output *o);
/* Returns true, after reporting it, if --json and the output would both go to standard output.
 * `what` is what --json prints. */
bool output_is_taken(cli *c, const char *path, const char *what);
NODISCARD bool output_write(const output *o, str bytes, err *e);
/* Reports a failed write, unless the reader closed the pipe. */
void output_fail(cli *c, const output *o, const err *e);
/* Prints the losses on standard error, if anything was lost. */
void output_losses(cli *c, const output *o, const ledger *l);
