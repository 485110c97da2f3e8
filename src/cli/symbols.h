/* cli/symbols.h - options about symbols, for commands that add names. */
#pragma once
#include "cli/cli.h"
#include "symbol/symbolize.h"

/* Returns the state of a binary in two words: "symbols only", "not found". */
const char *symbols_state(module_state s);

/* Builds the options from --debug-dir and related options; strings are in `a`. */
NODISCARD bool symbols_wanted(cli *c, arena *a, symbolize_opts *out, err *e);
