/* agent/images.h - the executable mappings of a process, now and in the recent past.
 *
 * A library may be unloaded (dlclose) before its samples are delivered, so a mapping that has
 * disappeared is kept as long as samples may refer to it.  Build ids are read from memory, through
 * the kernel: the file may have been replaced, and the memory may be unmapped during the read.  A
 * file without a build id is hashed if it is still the file that was mapped. */
#pragma once
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/vec.h"
#include "objfile/build_id.h"

typedef struct image {
    uint64_t start, end, offset; /* one executable mapping */
    uint64_t inode;
    /* Unix ns at which it was first seen, and first missing; gone == 0: it still exists */
    uint64_t born, gone;
    str path;
    char gnu[2 * BUILD_ID_BYTES_MAX + 1]; /* "": none */
    char go[128];
    char htlhash[2 * HTLHASH_BYTES + 1]; /* for a file without build ids */
} image;

typedef struct images {
    arena a; /* holds `v` and the paths; rebuilt when most of it is obsolete */
    VEC(image) v;
    int pid;            /* process of the mappings; 0: this process */
    uint64_t published; /* address of the process context's mapping; 0: none */
} images;

/* Reads /proc/PID/maps; `now` is in Unix ns.  When the file cannot be read or memory is exhausted,
 * returns false and leaves the list unchanged. */
NODISCARD bool images_refresh(images *m, uint64_t now, err *e);

/* images_refresh with the text of maps, without build ids; for tests. */
NODISCARD bool images_take(images *m, str maps, uint64_t now);

/* Adds a mapping from another source; uses start, end, offset, path, born and the GNU build id of
 * `x`.  Returns false when out of memory. */
NODISCARD bool images_put(images *m, const image *x);

/* Returns the mapping that contained this address at this time, or NULL.  Time 0: the current or
 * the latest one (stacks of the heap may be as old as the program). */
const image *images_find(const images *m, uint64_t address, uint64_t time);

/* Removes mappings that disappeared before `time`: later calls of images_find use no earlier time
 * except 0.  With `all` false, keeps them for time 0 while there is space. */
void images_forget(images *m, uint64_t time, bool all);

void images_close(images *m);
