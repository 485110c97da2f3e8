/* wire/attributes.h - values and attributes, for machines and people. */
#pragma once
#include "base/buf.h"
#include "model/model.h"

struct json_out;

/* 64-bit integers as numbers, bytes in base64. */
void value_json(struct json_out *o, const any *v);

/* An object of the attributes. */
void attributes_json(struct json_out *o, const keyvalue *v, size_t n);

/* Any bytes as a JSON string: what is no UTF-8 becomes U+FFFD. */
void text_json(struct json_out *o, str s);

/* One line; about `max` bytes of an array. */
void value_text(buf *b, const any *v, size_t max);
