/* server/openapi.h - the table of routes (routes.h) as an OpenAPI 3.1 document. Pure.
 *
 * /api/v1/openapi.json serves the document; docs/openapi.json is a copy;
 * tests/unit/server/test_routes.c checks that they are equal. */
#pragma once
#include "base/buf.h"

void openapi_put(buf *out);
