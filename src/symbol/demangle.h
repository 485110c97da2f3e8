/* symbol/demangle.h - names as in the source: C++, and both manglings of Rust. */
#pragma once
#include "base/hash.h"
#include "base/vec.h"

typedef enum demangle_mode {
    DEMANGLE_SHORT, /* std::vector::push_back: no template arguments, no parameters, no clones */
    DEMANGLE_FULL,  /* as c++filt prints it */
    DEMANGLE_NONE,
} demangle_mode;

enum { DEMANGLE_MAX_IN = 8192, DEMANGLE_MAX_OUT = 64 * 1024 };

typedef struct demangled {
    str from, to;
} demangled;

typedef struct demangler {
    demangle_mode mode;
    arena *a; /* results live here */
    VEC(demangled) known;
    hash_index by_name;
} demangler;

/* Returns the name to show for `name`, which must live as long as the arena. Returns `name` itself
 * if it is not mangled or too long, or if memory runs out. Each name is demangled once. */
str demangle(demangler *d, str name);

/* Returns the name to show for a function without a mangled name: "scope::name", without template
 * arguments in short mode. Returns `name` itself if there is no scope, names are not demangled, or
 * memory runs out. */
str demangle_scoped(demangler *d, str scope, str name);

/* Applies DEMANGLE_SHORT to a full name; writes to out[cap] and returns the length. */
size_t demangle_shorten(str full, bool rust, char *out, size_t cap);
