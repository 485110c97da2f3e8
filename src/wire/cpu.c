#include "wire/otlp_hot.h"

#include "base/ban.h"

#if defined(__x86_64__) && defined(KILN_AVX512)
bool hot_has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
           __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("bmi2");
}
#else
/* No vector path in this build: the portable one answers under its names. */
bool hot_has_avx512(void) { return false; }
bool hot_samples_avx512(hot *h, const uint8_t *p, const uint8_t *q, profile *out)
{
    return hot_samples_portable(h, p, q, out);
}
bool hot_dictionary_avx512(hot *h, const uint8_t *p, const uint8_t *q)
{
    return hot_dictionary_portable(h, p, q);
}
ptrdiff_t packed_u32_avx512(const uint8_t *p, const uint8_t *q, uint32_t *to, uint32_t *max)
{
    return packed_u32_portable(p, q, to, max);
}
uint8_t *packed_put_avx512(uint8_t *w, const uint32_t *v, size_t n)
{
    return packed_put_portable(w, v, n);
}
#endif
