/* cli/heat_out.h - `kiln series --heat` on the terminal, as SVG and as JSON. */
#pragma once
#include "cli/query.h"

/* Draws the heat map of the query, which must have one row per sample (by_sample). */
NODISCARD bool heat_out(query *q, err *e);

/* Writes a picture to --output. */
NODISCARD bool picture_write(cli *c, const buf *picture, err *e);
/* Returns whether --to or the name of the output requires SVG; fails with ERR_USAGE if not. */
NODISCARD bool picture_is_svg(const cli *c, err *e);
