/* cli/flame_out.h - the pictures of `kiln flame` that answer a question: terminal, SVG, JSON. */
#pragma once
#include "cli/cli.h"
#include "draw/ink.h"

typedef enum flame_kind { FLAME_ON_TERMINAL, FLAME_AS_SVG, FLAME_AS_JSON } flame_kind;

/* Opens the inputs, selects, draws.  Files appear whole or not at all.  Failures are reported. */
void flame_out(cli *c, flame_kind kind);

/* What this terminal can show, as --color allows it. */
ink cli_ink(const cli *c);
