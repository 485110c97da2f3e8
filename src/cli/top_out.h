/* cli/top_out.h - the table of `kiln top`, for those commands that end with one. */
#pragma once
#include "cli/question.h"

/* Head and rows, into q->c->out. */
void top_text(question *q, const flat *f);
