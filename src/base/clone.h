/* base/clone.h - what compilers and linkers hang onto the name of a function.  Pure. */
#pragma once
#include "base/str.h"

/* f.constprop.0, f.cold, f(int) [clone .part.1] and read@@GLIBC_2.2.5 without what follows the name.
 * The names of other languages have dots of their own (main.main.func1.2): where one stays, all do. */
str name_without_clones(str s);
