/* cli/symbols.h - the options about symbols, for those commands that add names. */
#pragma once
#include "cli/cli.h"
#include "symbol/symbolize.h"

/* What became of a binary, in two words: "symbols only", "not found". */
const char *symbols_state(module_state s);

/* --debug-dir and the like; texts lie in `a`. */
NODISCARD bool symbols_wanted(cli *c, arena *a, symbolize_opts *out, err *e);
