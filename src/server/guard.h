/* server/guard.h - who may write and who may ask: bearer tokens in files, read again when they change.
 *
 * A file has a token on each line; # begins a comment; what follows a blank is its name for people.  Without a file everybody may; with
 * a file that has no token nobody may. */
#pragma once
#include "base/err.h"
#include "net/message.h"

typedef struct guard guard;

typedef enum right { RIGHT_WRITE, RIGHT_READ, RIGHTS } right;

/* Paths may be NULL and must outlive it.  ERR_SYS: a file that cannot be read, or that others than its owner may read;
 * ERR_MALFORMED with the line: a token that is too short or has characters that no header can carry. */
NODISCARD guard *guard_open(const char *write_file, const char *read_file, err *e);
void guard_close(guard *g);

/* Reads files that have changed; a broken one leaves its old tokens in force, and `e` names the first.  true: something was
 * read. */
bool guard_refresh(guard *g, err *e);

typedef enum guard_verdict { GUARD_OPEN, GUARD_NO_TOKEN, GUARD_WRONG_TOKEN } guard_verdict;

/* The file for it, when there is no token in it: nobody may.  NULL otherwise. */
const char *guard_empty(const guard *g, right r);

/* Is there a file for it: does it take a token? */
bool guard_guards(const guard *g, right r);

/* By the authorization header.  Takes as long for a wrong token as for a right one. */
guard_verdict guard_ask(const guard *g, right r, const http_message *m);
