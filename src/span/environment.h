/* span/environment.h - OTEL_RESOURCE_ATTRIBUTES: key=value,key=value with percent-encoding.  Does
 * not allocate. */
#pragma once
#include "base/compiler.h"

enum { TEXT_MAX = 4096 }; /* maximum bytes of a key or a value */

/* Removes the next pair from *list and decodes it into key and value (TEXT_MAX + 1 bytes each).
 * Returns false at the end. */
bool environment_next(const char **list, char *key, char *value);
/* Returns whether every pair is well formed.  The specification invalidates the whole variable if
 * one is not. */
bool environment_valid(const char *list);
