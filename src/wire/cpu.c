/* Chooses the compiled variant of the codec at run time.  It is a separate file because it is compiled
 * without the flags of any variant. */
#include "wire/cpu.h"
#include "wire/otlp_hot.h"

#include "base/ban.h"

#define PATH(suffix)                                                                               \
    {                                                                                              \
        hot_samples_##suffix, hot_dictionary_##suffix, packed_u32_##suffix, packed_put_##suffix    \
    }

static const hot_path paths[SIMD_MODES] = {
    [SIMD_PORTABLE] = PATH(portable),
#ifdef KILN_X86_VECTOR
    [SIMD_AVX2] = PATH(avx2),
    [SIMD_AVX512] = PATH(avx512),
#endif
};

static bool has_avx2(void)
{
#ifdef KILN_X86_VECTOR
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
#else
    return false;
#endif
}

static bool has_avx512(void)
{
#ifdef KILN_X86_VECTOR
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
           __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("bmi2");
#else
    return false;
#endif
}

bool simd_runs(simd_mode m)
{
    return m == SIMD_AVX512 ? has_avx512() : m == SIMD_AVX2 ? has_avx2() : true;
}

const char *simd_name(simd_mode m)
{
    static const char *const names[SIMD_MODES] = {"auto", "portable", "avx2", "avx512"};
    return names[m];
}

const hot_path *hot_path_of(simd_mode m)
{
    if (m == SIMD_AUTO) m = has_avx512() ? SIMD_AVX512 : SIMD_AVX2;
    return &paths[simd_runs(m) ? m : SIMD_PORTABLE];
}
