/* draw/package.h - the package of a function.  Functions of one package share a colour.  Pure.
 *
 * All results are views into the arguments, or literals. */
#pragma once
#include "base/str.h"

/* Returns the package in a name; "" when there is none.
 *   github.com/a/b/pkg.(*T).Run   github.com/a/b/pkg      Go
 *   java/util/HashMap.put         java/util               JVM, also with dots: java.util.HashMap.put
 *   std::vector<int>::at(int)     std                     C++ and Rust: the outermost namespace
 *   malloc                        "" */
str package_of(str name);

/* Returns "libc" for "/usr/lib/libc.so.6", "kernel" for "[kernel.kallsyms]", kernel modules and
 * vmlinux. */
str library_of(str mapping);

/* Returns the package of a function by name, mapping and source file. In this order: "kernel" for
 * code of the kernel (also for names that end in "_[k]"), the package in the name, the library, the
 * package of the source file ("@scope/pkg" below node_modules, or the file itself), "". */
str package_at(str name, str mapping, str file);
