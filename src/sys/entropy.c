/* Random numbers from the kernel. */
#include "sys/entropy.h"

#include "base/ban.h"
#include <sys/auxv.h>
#include <sys/random.h>

uint64_t entropy_u64(void)
{
    uint64_t v = 0;
    if (getrandom(&v, sizeof v, GRND_NONBLOCK) == (ssize_t)sizeof v) return v;
    const void *given = (const void *)(uintptr_t)getauxval(AT_RANDOM); /* 16 random bytes */
    if (given) memcpy(&v, given, sizeof v);
    return v;
}
