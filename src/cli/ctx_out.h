/* cli/ctx_out.h - prints the contexts of a process as JSON and text. */
#pragma once
#include "base/buf.h"
#include "ctx/contexts.h"

struct json_out;

/* Prints JSON with the schema of docs/ctx.md. */
void contexts_json(struct json_out *o, const contexts *c);
void contexts_text(buf *b, const contexts *c, size_t width, bool color);
