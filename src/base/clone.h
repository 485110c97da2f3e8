/* base/clone.h - removes the suffixes that compilers and linkers append to function names.  Pure. */
#pragma once
#include "base/str.h"

/* Returns the name of f.constprop.0, f.cold, f(int) [clone .part.1] or read@@GLIBC_2.2.5 without its
 * suffix.  Names of other languages contain dots (main.main.func1.2): when one part is not a known
 * suffix, all parts stay. */
str name_without_clones(str s);
