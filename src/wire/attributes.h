/* wire/attributes.h - writes values and attributes as JSON and as text. */
#pragma once
#include "base/buf.h"
#include "model/model.h"

struct json_out;

/* Writes a value as JSON: 64-bit integers as numbers, bytes in base64. */
void value_json(struct json_out *o, const any *v);

/* Writes the attributes as a JSON object. */
void attributes_json(struct json_out *o, const keyvalue *v, size_t n);

/* Writes arbitrary bytes as a JSON string; invalid UTF-8 becomes U+FFFD. */
void text_json(struct json_out *o, str s);

/* Writes a value as one line of text; an array is truncated after about `max` bytes. */
void value_text(buf *b, const any *v, size_t max);
