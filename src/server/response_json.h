/* server/response_json.h - JSON output shared by both encodings. */
#pragma once
#include "server/response.h"
#include "wire/json.h"

/* Writes one value in place of a column. */
typedef void response_column(void *ctx, json_out *o, const response_node *x);

void response_json_put(json_out *o, const response_node *x, response_column *column, void *ctx);
