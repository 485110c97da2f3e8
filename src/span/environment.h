/* span/environment.h - OTEL_RESOURCE_ATTRIBUTES: key=value,key=value; what is special is percent-encoded.
 * No allocation. */
#pragma once
#include "base/compiler.h"

enum { TEXT_MAX = 4096 }; /* bytes of a key or a value */

/* Takes the next pair off *list and decodes it into key and value (TEXT_MAX + 1 bytes each).  false at
 * the end. */
bool environment_next(const char **list, char *key, char *value);
/* Is every pair of it well formed?  By the specification one bad pair spoils the whole variable. */
bool environment_valid(const char *list);
