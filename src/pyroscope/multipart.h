/* pyroscope/multipart.h - the parts of a multipart/form-data body (RFC 7578). Pure. */
#pragma once
#include "base/err.h"
#include "base/str.h"

enum { MULTIPART_MAX_PARTS = 16, MULTIPART_MAX_BOUNDARY = 70, MULTIPART_MAX_HEAD = 8192 };

typedef struct multipart {
    struct {
        str name, body; /* views of the input */
    } part[MULTIPART_MAX_PARTS];
    size_t n;
} multipart;

/* Returns whether this content type is multipart/form-data. */
bool multipart_is(str content_type);

/* Splits the body. Errors have the offset in `body` and the path "part[2]". A part without a name is
 * malformed, and so is a body that does not end with the closing boundary, because it was cut. */
NODISCARD bool multipart_parse(str content_type, str body, multipart *out, err *e);

/* Returns the body of the first part with this name, or {NULL, 0}. */
str multipart_get(const multipart *m, str name);
