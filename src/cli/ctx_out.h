/* cli/ctx_out.h - the contexts of a process, for machines and people. */
#pragma once
#include "base/buf.h"
#include "ctx/contexts.h"

struct json_out;

/* docs/ctx.md has the form. */
void contexts_json(struct json_out *o, const contexts *c);
void contexts_text(buf *b, const contexts *c, size_t width, bool color);
