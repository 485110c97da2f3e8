/* base/sha256.h - SHA-256 (FIPS 180-4). */
#pragma once
#include "base/compiler.h"

enum { SHA256_BYTES = 32 };

typedef struct sha256 {
    uint32_t h[8];
    uint64_t n; /* bytes so far */
    uint8_t block[64];
} sha256;

void sha256_init(sha256 *s);
void sha256_put(sha256 *s, const void *p, size_t n);
void sha256_end(sha256 *s, uint8_t out[SHA256_BYTES]);
