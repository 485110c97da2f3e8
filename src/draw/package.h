/* draw/package.h - which package a function belongs to, from its name: what colours tell apart.  Pure. */
#pragma once
#include "base/str.h"

/* A view into `name`; "" when the name does not say.
 *   github.com/a/b/pkg.(*T).Run   github.com/a/b/pkg      Go
 *   java/util/HashMap.put         java/util               JVM, also with dots: java.util.HashMap.put
 *   std::vector<int>::at(int)     std                     C++ and Rust: the outermost namespace
 *   do_syscall_64_[k]             "" */
str package_of(str name);

/* "libc" of "/usr/lib/libc.so.6", "kernel" of "[kernel.kallsyms]" and of modules and vmlinux. */
str library_of(str mapping);

/* Without its package, for a place where the whole name does not fit: "pkg.(*T).Run", "HashMap.put". */
str name_short(str name);
