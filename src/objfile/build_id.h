/* objfile/build_id.h - build ids, which identify a binary.  Pure. */
#pragma once
#include "objfile/elf.h"

enum { BUILD_ID_BYTES_MAX = 64, HTLHASH_BYTES = 16 };

typedef struct build_ids {
    str gnu; /* bytes of the GNU note; empty: none */
    str go;  /* text of the Go note, four parts with slashes; empty: none */
} build_ids;

/* Reads the notes of a file, by its sections or, without them, by its segments. */
build_ids elf_build_ids(const elf_file *f);

/* Reads bare notes, such as /sys/kernel/notes. */
build_ids notes_build_ids(str notes, bool big);

/* Computes process.executable.build_id.htlhash: the first half of SHA-256 over the first 4096
 * bytes, the last 4096 bytes and the length as 8 bytes, big endian. A shorter file is hashed
 * twice. */
void htlhash(str file, uint8_t out[HTLHASH_BYTES]);
