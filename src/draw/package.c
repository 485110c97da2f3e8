/* Finds the package of a function, mainly from its name.  Names have the styles of many
 * languages and demanglers, so the rules are heuristics.  ui/src/model/package.ts has the same
 * rules in TypeScript; tests of both read tests/support/flame_cases.txt. */
#include "draw/package.h"

#include "base/ban.h"

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

/* Returns the path or namespace of a name: the part before arguments, receivers and templates. */
static str head_of(str name)
{
    size_t n = 0;
    while (n < name.n && !strchr("(<[{ \t\"'", name.p[n])) n++;
    return (str){name.p, n};
}

static size_t last_slash(str s)
{
    while (s.n && s.p[s.n - 1] != '/') s.n--;
    return s.n;
}

/* Removes the return type of `int ns::f(int)`. A return type with brackets stays. */
static str without_return_type(str name)
{
    for (size_t i = 0, from = 0; i < name.n; i++) {
        if (name.p[i] == ' ') from = i + 1;
        if (name.p[i] == '(' || name.p[i] == '<' || name.p[i] == ':')
            return (str){name.p + from, name.n - from};
    }
    return name;
}

static str namespace_of(str name)
{
    name = without_return_type(name);
    if (name.n && name.p[0] == '<') name.p++, name.n--; /* <crate::Type as Trait>::method */
    if (name.n && name.p[0] == '&') name.p++, name.n--;
    for (size_t i = 0; i + 1 < name.n; i++) {
        if (name.p[i] == ':' && name.p[i + 1] == ':') return (str){name.p, i};
        if (!is_word(name.p[i])) break;
    }
    return STR("");
}

/* Returns whether the name is a Go function inside a function (main.run.func1), whose package ends
 * at the first dot. */
static bool has_closure(str head)
{
    for (size_t i = 0; i + 5 < head.n; i++)
        if (!memcmp(head.p + i, ".func", 5) && head.p[i + 5] >= '0' && head.p[i + 5] <= '9')
            return true;
    return false;
}

/* The package of a dotted name ends before the first part that starts with a capital letter (the
 * class), or else at the last dot (module.function). */
static str dotted(str head)
{
    size_t begin = 0, dots = 0, last = 0;
    for (size_t i = 0; i < head.n; i++) {
        if (i == begin && dots && is_upper(head.p[i])) return (str){head.p, begin - 1};
        if (head.p[i] == '.')
            begin = i + 1, last = i, dots++;
        else if (!is_word(head.p[i]) && head.p[i] != '-')
            return STR("");
    }
    return dots && last ? (str){head.p, last} : STR("");
}

str package_of(str name)
{
    str ns = namespace_of(name);
    if (ns.n) return ns;
    str head = head_of(name);
    size_t slash = last_slash(head);
    if (slash > 1) {
        const char *dot = memchr(head.p + slash, '.', head.n - slash);
        if (!dot) return STR("");
        bool jvm = is_upper(head.p[slash]); /* java/util/HashMap.put: the class is not a package */
        return (str){head.p, jvm ? slash - 1 : (size_t)(dot - head.p)};
    }
    const char *dot = head.n ? memchr(head.p, '.', head.n) : NULL;
    if (!dot) return STR("");
    if (head.n < name.n && head.p[head.n - 1] == '.')
        return (str){head.p, head.n - 1}; /* main.(*T).Run */
    if (has_closure(head)) return (str){head.p, (size_t)(dot - head.p)};
    return dotted(head);
}

static str base_of(str path)
{
    size_t n = path.n;
    while (n && path.p[n - 1] != '/' && path.p[n - 1] != '\\') n--;
    return (str){path.p + n, path.n - n};
}

str library_of(str mapping)
{
    if (!mapping.n) return mapping;
    str base = base_of(mapping);
    bool kernel = str_starts(base, STR("[kernel")) || str_starts(base, STR("[guest.kernel")) ||
                  str_starts(base, STR("vmlinux")) || str_ends(base, STR(".ko"));
    if (kernel) return STR("kernel");
    if (!str_starts(base, STR("lib"))) return base;
    for (size_t i = 3; i + 3 <= base.n; i++)
        if (!memcmp(base.p + i, ".so", 3)) return (str){base.p, i};
    return base;
}

/* Returns the part of a path after `folder`, up to the next slash, or up to the second slash in
 * "@scope/name". */
static str below(str path, const char *folder)
{
    const char *p = path.n ? memmem(path.p, path.n, folder, strlen(folder)) : NULL;
    if (!p) return STR("");
    p += strlen(folder);
    size_t left = (size_t)(path.p + path.n - p), n = 0;
    for (int slashes = left && *p == '@' ? 2 : 1; n < left; n++)
        if (p[n] == '/' && !--slashes) break;
    return (str){p, n};
}

/* Returns the package of a source file: the one below node_modules or site-packages, or the
 * file. */
static str package_of_file(str file)
{
    if (str_starts(file, STR("node:"))) return STR("node");
    for (size_t i = 0; i < file.n; i++)
        if (file.p[i] == '?' || file.p[i] == '#') file.n = i;
    str package = below(file, "node_modules/");
    if (!package.n) package = below(file, "site-packages/");
    return package.n ? package : file.n ? base_of(file) : file;
}

str package_at(str name, str mapping, str file)
{
    str library = library_of(mapping);
    if (str_ends(name, STR("_[k]")) || str_eq(library, STR("kernel"))) return STR("kernel");
    str package = package_of(name);
    return package.n ? package : library.n ? library : package_of_file(file);
}
