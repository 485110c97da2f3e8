/* cli/flame_out.h - flame graphs of a selection: terminal, SVG, JSON. */
#pragma once
#include "cli/cli.h"
#include "draw/term_color.h"

typedef enum flame_kind { FLAME_ON_TERMINAL, FLAME_AS_SVG, FLAME_AS_JSON } flame_kind;

/* Opens the inputs, selects and draws.  Replaces a file only when it is complete.  Reports
 * failures. */
void flame_out(cli *c, flame_kind kind);

/* Returns the colours that the terminal supports and --color allows. */
term_color cli_term_color(const cli *c);
