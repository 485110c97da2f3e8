/* base/hash_long.h - XXH3-64 of long input.  Returns the value of XXH3_64bits, with AVX2 where it exists. */
#pragma once
#include <stddef.h>
#include <stdint.h>

uint64_t hash_long(const void *p, size_t n);

/* Only for hash_long.c: compiled for AVX2. */
uint64_t hash_long_avx2(const void *p, size_t n);
