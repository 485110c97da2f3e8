/* The long hash with 256-bit registers.  A file of its own because it is compiled with -mavx2. */
#include "base/hash_long.h"

#include "base/hash.h"
#include "base/ban.h"

uint64_t hash_long_avx2(const void *p, size_t n) { return XXH3_64bits(p, n); }
