/* base/hash_long.h - XXH3-64 of many bytes: the same number as XXH3_64bits, by wider registers where the machine has them. */
#pragma once
#include <stddef.h>
#include <stdint.h>

uint64_t hash_long(const void *p, size_t n);

/* For hash_long.c: built for AVX2. */
uint64_t hash_long_avx2(const void *p, size_t n);
