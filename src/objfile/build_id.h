/* objfile/build_id.h - which binary is this?  Pure. */
#pragma once
#include "objfile/elf.h"

enum { BUILD_ID_BYTES_MAX = 64, HTLHASH_BYTES = 16 };

typedef struct build_ids {
    str gnu; /* bytes of the GNU note; empty: none */
    str go;  /* text of the Go note, four parts with slashes; empty: none */
} build_ids;

/* From the notes of a file, found by sections or, without them, by segments. */
build_ids elf_build_ids(const elf_file *f);

/* The same from bare notes, as /sys/kernel/notes has them. */
build_ids notes_build_ids(str notes, bool big);

/* process.executable.build_id.htlhash: the first half of SHA-256 over the first 4096 bytes, the last
 * 4096 and the length as 8 bytes, big endian.  A shorter file is its own head and its own tail. */
void htlhash(str file, uint8_t out[HTLHASH_BYTES]);
