/* agent/messages.h - messages to the user: one line on stderr, each at most once.
 *
 * The program may close stderr and give its number to a file or a socket.  The agent remembers
 * which file descriptor 2 was at the start, and writes to no other file, nor to a pipe that is full
 * or has no reader. */
#pragma once
#include "base/compiler.h"

enum { MESSAGES_MAX = 32 }; /* maximum number of different messages; later ones are dropped */

void messages_open(void);
/* Stops printing; messages are still remembered. */
void messages_quiet(void);
/* Prints "kiln: text"; may be called from any thread of the agent. */
void messages_print(const char *text);
/* Returns the number of messages so far and stores them in `out`, for the report. */
size_t messages_list(const char *out[MESSAGES_MAX]);
/* Called in the child of a fork: forgets the messages, so that the child may print them again. */
void messages_forked(void);
