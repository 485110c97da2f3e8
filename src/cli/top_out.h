/* cli/top_out.h - prints the table of `kiln top`. */
#pragma once
#include "cli/query.h"

/* Prints header and rows to q->c->out. */
void top_text(query *q, const flat *f);
