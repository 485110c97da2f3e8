/* cli/naming.h - automatic symbol lookup.
 *
 * Commands that show functions look up addresses without names in the binaries and debug files of
 * this machine and in the symbol cache.  Only files with the right build id are used; nothing is
 * downloaded.  All inputs of a command share the time limit of --symbolize-timeout. */
#pragma once
#include "cli/input.h"

/* Adds names to the input.  Does nothing with --no-symbolize, if no name is missing, or if the
 * command shows none. Records missing names for naming_report, so the input must stay open until
 * then.  Returns false after reporting a failure. */
bool naming_add(cli *c, input *in);

/* Prints one line about the binary with the most missing names and how to obtain them, if it is
 * significant. */
void naming_report(cli *c);
void naming_close(cli *c);
