/* server/openapi.h - the table of routes (routes.h) as an OpenAPI 3.1 document.  Pure.
 *
 * docs/openapi.json is a copy (tests/unit/server/test_openapi.c compares them); /api/v1/openapi.json is the document itself. */
#pragma once
#include "base/buf.h"

void openapi_put(buf *out);
