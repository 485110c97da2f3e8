/* server/answer_json.h - what the JSON of both encodings shares. */
#pragma once
#include "server/answer.h"
#include "wire/json.h"

/* Puts one value in the place of a column. */
typedef void answer_column(void *who, json_out *o, const answer_node *x);

void answer_json_put(json_out *o, const answer_node *x, answer_column *column, void *who);
