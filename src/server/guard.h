/* server/guard.h - access control by tokens, read from files and reloaded when these change.
 * A file has one token on each line; # begins a comment; text after a space is a name for the
 * token. Without a file no token is required. A file without tokens rejects all requests. */
#pragma once
#include "base/err.h"
#include "net/message.h"

typedef struct guard guard;

typedef enum right { RIGHT_WRITE, RIGHT_READ, RIGHTS } right;

/* Paths may be NULL and must outlive the guard.  ERR_SYS: a file cannot be read, or other users may
 * access it.  ERR_MALFORMED, with the line: a token is too short or has characters that a header
 * cannot carry. */
NODISCARD guard *guard_open(const char *write_file, const char *read_file, err *e);
void guard_close(guard *g);

/* Reloads files that have changed. If a file is invalid, its old tokens stay valid, and `e`
 * describes the first such file. Returns true when a file was loaded. */
bool guard_refresh(guard *g, err *e);

typedef enum guard_verdict { GUARD_OPEN, GUARD_NO_TOKEN, GUARD_WRONG_TOKEN } guard_verdict;

/* Returns the path of the file for this right if it contains no tokens; otherwise NULL. */
const char *guard_empty(const guard *g, right r);

/* Returns whether this right requires a token. */
bool guard_has(const guard *g, right r);

/* Checks the Authorization header: `Bearer TOKEN`, or `Basic` with any user and the token as the
 * password, as Grafana and Pyroscope's clients send it.  A wrong token takes as long as a correct
 * one. */
guard_verdict guard_check(const guard *g, right r, const http_message *m);
