/* cli/output.h - a file that a command writes: which format, packed how, whole or not at all. */
#pragma once
#include "cli/cli.h"
#include "format/format.h"

typedef struct output {
    const char *path;
    const format *to;
    codec pack;
    bool quick; /* pack in little time rather than in few bytes */
} output;

/* The format that --to or the name says.  false: reported. */
bool output_choose(cli *c, const char *path, output *out);
/* Bytes nobody can read would go to a terminal.  true: reported. */
bool output_is_shown(cli *c, const output *o);
/* --json and the result both want standard output.  true: reported. */
bool output_is_taken(cli *c, const char *path, const char *what);
NODISCARD bool output_write(const output *o, str bytes, err *e);
/* A failed write, unless the reader of a pipe just went away. */
void output_fail(cli *c, const output *o, const err *e);
/* What the format could not carry, on standard error. */
void output_losses(cli *c, const output *o, const ledger *l);
