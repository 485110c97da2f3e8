/* Chooses the implementation of the long hash at run time.  xxhash.h chooses at compile time only. */
#include "base/hash_long.h"

#include "base/hash.h"
#include "base/ban.h"

uint64_t hash_long(const void *p, size_t n)
{
#ifdef KILN_X86_VECTOR
    if (n >= 1024 && __builtin_cpu_supports("avx2")) return hash_long_avx2(p, n);
#endif
    return XXH3_64bits(p ? p : "", n);
}
