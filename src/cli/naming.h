/* cli/naming.h - names for the addresses of the inputs, without being asked.
 *
 * Commands that show functions look up addresses that came without a name in what this machine has: binaries and debug files
 * that a build id proves to be those that ran, and the cache of their indexes.  Nothing is taken on trust and nothing is
 * fetched.  All inputs of a command share the time of --symbolize-timeout. */
#pragma once
#include "cli/input.h"

/* Adds names to the input, unless --no-symbolize says otherwise, all are there, or the command shows none.  What is missing is
 * remembered for naming_tell: the input stays open until then.  false: reported. */
bool naming_add(cli *c, input *in);

/* One line about the binary that most names are missing of and what brings them; nothing when none is worth it. */
void naming_tell(cli *c);
void naming_close(cli *c);
