/* symbol/shelf.h - modules between two symbolizations (symbolize.h has the type). */
#pragma once
#include "symbol/symbolize.h"

/* Takes the module of a key off the shelf; false: it is not there.  `s` may be NULL. */
bool shelf_take(module_shelf *s, str key, module *out);
/* Puts it there, or closes it when there is no shelf. */
void shelf_put(module_shelf *s, str key, module *m);
