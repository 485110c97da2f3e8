/* Demangles with libiberty, whose output is not bounded: at the limit, its callback leaves with
 * longjmp. Results are cached by name. */
#include "symbol/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include "base/ban.h"

/* The output of libiberty so far.  A few bytes can expand to gigabytes, and its callback cannot
 * stop it; longjmp can, because the demanglers own no resources. */
typedef struct sink {
    char *p;
    size_t n;
    jmp_buf full;
} sink;

static void put(const char *p, size_t n, void *to)
{
    sink *s = to;
    if (n > DEMANGLE_MAX_OUT - s->n) longjmp(s->full, 1);
    memcpy(s->p + s->n, p, n);
    s->n += n;
}

/* libiberty rejects names of more than 1024 bytes unless a flag removes that limit;
 * DEMANGLE_MAX_IN limits the depth instead (a few hundred bytes of stack per byte of name). */
static bool run(const char *name, int options, bool *rust, sink *s)
{
    options |= DMGL_ANSI | DMGL_NO_RECURSE_LIMIT;
    if (setjmp(s->full)) return false;
    *rust = rust_demangle_callback(name, options, put, s) != 0;
    if (*rust) return true;
    s->n = 0;
    return cplus_demangle_v3_callback(name, options, put, s) != 0;
}

static bool is_mangled(str s) { return str_starts(s, STR("_Z")) || str_starts(s, STR("_R")); }

static str work(demangler *d, str name)
{
    char *z = arena_alloc(d->a, name.n + 1);
    char *room = malloc(2 * DEMANGLE_MAX_OUT);
    str out = name;
    bool rust, brief = d->mode == DEMANGLE_SHORT;
    sink s = {.p = room};
    if (z && room) {
        memcpy(z, name.p, name.n);
        z[name.n] = '\0';
        if (run(z, brief ? 0 : DMGL_PARAMS, &rust, &s) && s.n) {
            str full = {room, s.n};
            char *text = room + DEMANGLE_MAX_OUT;
            if (brief) full = (str){text, demangle_shorten(full, rust, text, DEMANGLE_MAX_OUT)};
            char *keep = full.n ? arena_alloc(d->a, full.n) : NULL;
            if (keep) memcpy(keep, full.p, full.n), out = (str){keep, full.n};
        }
    }
    free(room);
    return out;
}

str demangle(demangler *d, str name)
{
    if (d->mode == DEMANGLE_NONE || name.n > DEMANGLE_MAX_IN || !is_mangled(name)) return name;
    if (!hash_index_room(&d->by_name, d->a)) return name;
    uint64_t h = hash_bytes(name.p, name.n, d->by_name.seed);
    uint32_t i = hash_first(&d->by_name, h);
    for (uint32_t at; hash_next(&d->by_name, &i, h, &at); i++)
        if (str_eq(d->known.v[at].from, name)) return d->known.v[at].to;
    demangled *k = vec_push(d->a, &d->known);
    if (!k) return name;
    hash_put(&d->by_name, i, h, (uint32_t)(d->known.n - 1));
    *k = (demangled){name, work(d, name)};
    return k->to;
}

str demangle_scoped(demangler *d, str scope, str name)
{
    size_t cap = scope.n + 2 + name.n, n = 0;
    if (d->mode == DEMANGLE_NONE || !scope.n) return name;
    char *to = arena_alloc(d->a, cap);
    if (!to) return name;
    bool brief = d->mode == DEMANGLE_SHORT;
    if (brief)
        n = demangle_shorten(scope, false, to, cap);
    else
        memcpy(to, scope.p, n = scope.n);
    memcpy(to + n, "::", 2);
    n += 2;
    /* GCC names lambdas "<lambda>" and "~<lambda>": these brackets are not template arguments. */
    bool lambda = str_starts(name, STR("<lambda")) || str_starts(name, STR("~<lambda"));
    if (brief && !lambda) return (str){to, n + demangle_shorten(name, false, to + n, cap - n)};
    memcpy(to + n, name.p, name.n);
    return (str){to, n + name.n};
}
