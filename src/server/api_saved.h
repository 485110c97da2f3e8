/* server/api_saved.h - the endpoint `saved`: selections that people saved under a name
 * (store/saved.h).
 *
 *   GET /api/v1/saved           the list, and whether a client may change it
 *   PUT /api/v1/saved/NAME      saves the link in the body; If-None-Match: * forbids to replace
 *   PUT /api/v1/saved/NAME?from=OLD     renames
 *   DELETE /api/v1/saved/NAME
 *
 * Changes need the right to write.  They are synced in a thread of the pool before the response. */
#pragma once
#include "net/http_server.h"

struct pool;

typedef struct api_saved api_saved;

/* Sets *damaged when the list of `dir` was damaged and set aside. */
NODISCARD api_saved *api_saved_open(loop *l, struct pool *p, const char *dir, bool *damaged,
                                    err *e);
/* Called after the pool was closed. */
void api_saved_close(api_saved *a);

bool api_saved_has(const http_message *m);
/* Returns whether the request changes the list. */
bool api_saved_changes(const http_message *m);
/* Responds to x, now or later.  `changes` is the requirement of a change: "open", "token", or "none"
 * when nobody may change the list. */
void api_saved_request(api_saved *a, http_exchange *x, const char *changes);
void api_saved_gone(http_exchange *x);
