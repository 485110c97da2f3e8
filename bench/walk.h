/* walk.h - the base line of decoding: visits every field of ProfilesData and keeps a checksum. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads n bytes at p, which must be followed by 10 readable bytes.  Stores only *sum. Returns false
 * when the bytes are not a ProfilesData with one-byte tags (all tags of the schema are). */
bool walk_profiles(const uint8_t *p, size_t n, uint64_t *sum);
