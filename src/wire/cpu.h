/* wire/cpu.h - the compiled variants of the codec's inner loops (otlp_hot.h), and the choice among
 * them by what this machine supports. */
#pragma once
#include "base/compiler.h"

/* Slowest first.  SIMD_AUTO means the last one that the machine supports. */
typedef enum simd_mode {
    SIMD_AUTO,
    SIMD_PORTABLE,
    SIMD_AVX2,
    SIMD_AVX512,
    SIMD_MODES /* the number of modes */
} simd_mode;

/* Returns whether this build contains the variant and this machine supports its instructions. */
bool simd_runs(simd_mode m);

const char *simd_name(simd_mode m); /* "portable", "avx2" ... */
