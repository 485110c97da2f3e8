/* cli/symbols.h - the options about symbols, for those commands that add names. */
#pragma once
#include "cli/cli.h"
#include "symbol/symbolize.h"

/* --debug-dir and the like (cmd_symbolize.c); texts lie in `a`. */
NODISCARD bool symbols_wanted(cli *c, arena *a, symbolize_opts *out, err *e);
