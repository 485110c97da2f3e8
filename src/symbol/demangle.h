/* symbol/demangle.h - names as the source has them: C++, and Rust in both of its manglings. */
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

/* The name to show for `name`, which must live as long as the arena: itself when it is not mangled,
 * too long, or memory is short.  A name is worked on once. */
str demangle(demangler *d, str name);

/* The name to show for a function that has no mangled name: "scope::name", without template arguments
 * where names are short; `name` itself when it has no scope, names are not demangled, or memory is short. */
str demangle_scoped(demangler *d, str scope, str name);

/* What DEMANGLE_SHORT does to a full name, into out[cap]; returns the length. */
size_t demangle_shorten(str full, bool rust, char *out, size_t cap);
