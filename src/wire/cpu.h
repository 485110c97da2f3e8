/* wire/cpu.h - the compiled variants of the codec's inner loops (otlp_hot.h), and which of them this
 * machine runs. */
#pragma once
#include "base/compiler.h"

/* Slowest first.  SIMD_AUTO stands for the last one that the machine runs. */
typedef enum simd_mode {
    SIMD_AUTO,
    SIMD_PORTABLE,
    SIMD_AVX2,
    SIMD_AVX512,
    SIMD_MODES /* the number of modes */
} simd_mode;

/* True when this build contains the variant and this machine has its instructions. */
bool simd_runs(simd_mode m);

const char *simd_name(simd_mode m); /* "portable", "avx2" ... */
