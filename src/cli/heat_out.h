/* cli/heat_out.h - `kiln series --heat`: terminal, SVG, JSON. */
#pragma once
#include "cli/question.h"

/* Draws the heat map of the question's view, which has a row for each sample. */
NODISCARD bool heat_out(question *q, err *e);

/* Writes a picture to --output. */
NODISCARD bool picture_write(cli *c, const buf *picture, err *e);
/* Is the output an SVG, by --to or its name?  ERR_USAGE when it is something else. */
NODISCARD bool picture_is_svg(const cli *c, err *e);
