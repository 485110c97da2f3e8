/* server/page.h - the page for people: a document, a style sheet and a script, carried inside the program.
 *
 * Files are kept compressed and go out so; names that hold a hash of the content may be kept by browsers for ever, the document is
 * asked for again each time (and mostly not sent again: etag). */
#pragma once
#include "net/http_server.h"

/* Is the path one of the page's?  Everybody may have those: what they ask for then is guarded. */
bool page_has(str path);

/* Answers it. */
void page_request(http_exchange *x);
