/* server/page.h - serves the live viewer: a document, a style sheet and a script, embedded in the
 * program.  Files are stored and sent compressed.  Names with a content hash may be cached
 * indefinitely; the document is revalidated on each load (etag). */
#pragma once
#include "net/http_server.h"

/* Returns whether the path is a file of the viewer. These files need no token; the queries that the
 * page sends do. */
bool page_has(str path);

/* Responds to x. */
void page_request(http_exchange *x);
