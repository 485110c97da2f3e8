/* agent/voice.h - what the agent has to say to people: one line on stderr, each at most once.
 *
 * The program's stderr may be gone, and its number given to a file or a socket of the program: what
 * descriptor 2 was at the start is remembered, and nothing is written to anything else, nor to a pipe that is
 * full or that nobody reads. */
#pragma once
#include "base/compiler.h"

enum { VOICE_SENTENCES = 32 }; /* different ones; the rest is silence */

void voice_open(void);
/* Nothing more is written; what is said is still remembered. */
void voice_quiet(void);
/* "kiln: sentence"; from any thread of the agent. */
void voice_say(const char *sentence);
/* What was said so far, for the report; returns how many. */
size_t voice_said(const char *out[VOICE_SENTENCES]);
/* In the child of a fork: the child may say it again. */
void voice_forked(void);
