/* agent/images.h - what was mapped where, now and a moment ago.
 *
 * A library may be gone (dlclose) before its samples are shipped: a mapping that vanished is kept until
 * nobody can ask for it any more.  Build ids are read from memory, through the kernel: the file may be
 * another one by now, and the memory may go away under the reader.  A file that has none is hashed, if it is
 * still the one that was mapped. */
#pragma once
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/vec.h"
#include "objfile/build_id.h"

typedef struct image {
    uint64_t start, end, offset; /* of one executable mapping */
    uint64_t inode;
    uint64_t born, gone; /* Unix ns when it was first seen, and first missed; gone 0: it is there */
    str path;
    char gnu[2 * BUILD_ID_BYTES_MAX + 1]; /* "": none */
    char go[128];
    char htlhash[2 * HTLHASH_BYTES + 1]; /* of a file without either */
} image;

typedef struct images {
    arena a; /* of `v` and the paths; made anew when most of it is of the past */
    VEC(image) v;
    int pid;            /* whose mappings; 0: our own */
    uint64_t published; /* address of the process context's mapping; 0: none */
} images;

/* Looks at the process's /proc/PID/maps; `now` in Unix ns.  false: it cannot be read, or memory ran out; what was
 * known still is. */
NODISCARD bool images_refresh(images *m, uint64_t now, err *e);

/* The same from a text, for tests: no build ids. */
NODISCARD bool images_take(images *m, str maps, uint64_t now);

/* Adds one that somebody else found: start, end, offset, path, born and the GNU build id of `x` count.  false: no memory. */
NODISCARD bool images_put(images *m, const image *x);

/* The mapping that had this address at this time; NULL: none.  Time 0: whenever it was, the one that is
 * there or was there last (stacks of the heap may be as old as the program). */
const image *images_find(const images *m, uint64_t address, uint64_t time);

/* Nobody will ask for times before `time` any more.  With `all` false what is gone is kept while there is
 * room, for those who ask for time 0. */
void images_forget(images *m, uint64_t time, bool all);

void images_close(images *m);
