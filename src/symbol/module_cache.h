/* symbol/module_cache.h - modules that stay open between two symbolizations (type: symbolize.h). */
#pragma once
#include "symbol/symbolize.h"

/* Moves the module of this key from the cache to *out. Returns false if there is none. `s` may be
 * NULL. */
bool module_cache_take(module_cache *s, str key, module *out);
/* Moves the module into the cache, or closes it when `s` is NULL. */
void module_cache_put(module_cache *s, str key, module *m);
