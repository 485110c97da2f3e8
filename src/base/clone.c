/* Recognizes suffixes by a list of the words that gcc, clang and ld append. */
#include "base/clone.h"

#include "base/compiler.h"
#include "base/ban.h"

static str from(str s, size_t at) { return (str){s.p + at, s.n - at}; }

static bool is_clone(str word)
{
    static const char *const words[] = {"constprop", "isra",  "part",       "cold",     "llvm",
                                        "lto_priv",  "clone", "localalias", "str",      "cfi",
                                        "cfi_jt",    "warm",  "hot",        "unlikely", "resume",
                                        "destroy",   "actor"};
    bool digits = word.n > 0;
    for (size_t i = 0; i < word.n; i++) digits &= word.p[i] >= '0' && word.p[i] <= '9';
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_eq(word, str_of(words[i]))) return true;
    return digits;
}

/* Removes the version of a symbol. f@plt stays, because it is another function than f. */
static str without_version(str s)
{
    const char *at = s.n ? memchr(s.p, '@', s.n) : NULL;
    if (at && at > s.p && !str_eq(from(s, (size_t)(at - s.p)), STR("@plt")))
        s.n = (size_t)(at - s.p);
    return s;
}

/* Returns whether s has a dot outside of brackets. */
static bool has_dot(str s)
{
    for (size_t i = 0; i < s.n && !strchr("<({[", s.p[i]); i++)
        if (s.p[i] == '.' && i) return true;
    return false;
}

str name_without_clones(str s)
{
    s = without_version(s);
    for (size_t i = 1; i + 8 < s.n; i++)
        if (!memcmp(s.p + i, " [clone ", 8)) s.n = i;
    str all = s;
    for (;;) {
        const char *dot = s.n ? memrchr(s.p, '.', s.n) : NULL;
        if (!dot || dot == s.p || !is_clone(from(s, (size_t)(dot - s.p) + 1)))
            return has_dot(s) ? all : s;
        s.n = (size_t)(dot - s.p);
    }
}
