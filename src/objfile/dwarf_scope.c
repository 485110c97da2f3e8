/* What holds a function: namespaces, classes, functions.
 *
 *   namespace app                   holder 1   app
 *     namespace                     holder 2   app::(anonymous namespace)
 *       struct Hidden               holder 3   app::(anonymous namespace)::Hidden
 *         work  ◄─ specification ─┐
 *   subprogram ───────────────────┘            its code; the declaration says where it belongs
 *
 * A DIE does not say what is around it, so a unit whose functions need a scope is read a second time,
 * for its holders.  Units of C and units whose functions all have linkage names are not. */
#include "objfile/dwarf.h"

#include "base/ban.h"

static bool is_class(uint16_t tag)
{
    return tag == TAG_CLASS || tag == TAG_STRUCTURE || tag == TAG_UNION;
}

static bool is_holder(uint16_t tag)
{
    return is_class(tag) || tag == TAG_NAMESPACE || tag == TAG_SUBPROGRAM;
}

/* ---- reading a unit ---- */

typedef struct scanned {
    dwarf_holder h;
    dwarf_value name, sibling;
    bool copy; /* of an abstract function, which has the classes */
} scanned;

static uint32_t u32_of(dwarf_value v) { return v.u <= UINT32_MAX ? (uint32_t)v.u : 0; }

static scanned read_die(const dwarf *d, const dwarf_unit *u, rd *r, const dwarf_abbrev *ab)
{
    scanned s = {.h = {.tag = ab->tag, .nameless = is_class(ab->tag)}};
    for (uint32_t i = 0; i < ab->n; i++) {
        const dwarf_attr *a = &d->attrs.v[ab->first + i];
        switch (a->name) {
        case AT_SIBLING: s.sibling = dwarf_read_form(u, r, a); break;
        case AT_NAME:
            s.name = dwarf_read_form(u, r, a);
            s.h.nameless = false;
            break;
        case AT_DECL_LINE: s.h.line = u32_of(dwarf_read_form(u, r, a)); break;
        case AT_DECL_COLUMN: s.h.column = u32_of(dwarf_read_form(u, r, a)); break;
        case AT_ABSTRACT_ORIGIN:
            s.copy = true;
            dwarf_skip_form(u, r, a->form);
            break;
        case AT_SPECIFICATION:
            s.h.nameless = false;
            dwarf_skip_form(u, r, a->form);
            break;
        default: dwarf_skip_form(u, r, a->form); break;
        }
    }
    return s;
}

/* Nothing below holds a function: types, variables, inlined calls, copies of functions. */
static bool is_dull(const scanned *s)
{
    if (is_holder(s->h.tag)) return s->copy;
    return s->h.tag != TAG_COMPILE_UNIT && s->h.tag != TAG_PARTIAL_UNIT &&
           s->h.tag != TAG_LEXICAL_BLOCK;
}

/* Goes on behind the children of a DIE, where it says where that is. */
static bool skip_children(dwarf *d, const dwarf_unit *u, rd *r, const dwarf_value *sibling)
{
    dwarf *in;
    uint64_t to;
    if (!dwarf_reference(d, u, sibling, &in, &to) || in != d) return false;
    if (to > u->end || to < u->end - rd_left(r)) return false;
    *r = rd_from((str){d->info.p, (size_t)u->end}, to, d->big);
    return true;
}

/* A function was met: everything around it is a holder. */
static bool put_holders(dwarf *d)
{
    uint32_t parent = d->n_put ? d->open.v[d->n_put - 1].holder : 0;
    for (; d->n_put < d->open.n; d->n_put++) {
        dwarf_open *o = &d->open.v[d->n_put];
        o->holder = parent;
        if (!is_holder(o->h.tag)) continue;
        dwarf_holder *h = d->holders.n < UINT32_MAX ? vec_push(d->b->a, &d->holders) : NULL;
        if (!h) return false;
        *h = o->h;
        h->parent = parent;
        parent = o->holder = (uint32_t)d->holders.n;
    }
    return true;
}

static void close_top(dwarf *d, uint64_t end)
{
    const dwarf_open *o = &d->open.v[--d->open.n];
    bool put = d->n_put > d->open.n && is_holder(o->h.tag);
    if (put) d->holders.v[o->holder - 1].end = end;
    if (d->n_put > d->open.n) d->n_put = d->open.n;
}

/* A class without a name that can be called is what a lambda was made into. */
static void look_for_lambda(dwarf *d, const dwarf_unit *u, const dwarf_value *name)
{
    const dwarf_open *o = &d->open.v[d->open.n - 1];
    if (!o->holder || !o->h.nameless) return;
    str s = dwarf_string(d, u, name);
    if (str_starts(s, STR("operator()")) || str_starts(s, STR("<lambda")))
        d->holders.v[o->holder - 1].lambda = true;
}

static bool read_unit(dwarf *d, const dwarf_unit *u)
{
    rd r = rd_from((str){d->info.p, (size_t)u->end}, u->dies, d->big);
    d->open.n = d->n_put = 0;
    while (rd_left(&r)) {
        uint64_t at = u->end - rd_left(&r), code = rd_uleb(&r);
        if (!code) {
            if (d->open.n) close_top(d, at);
            continue;
        }
        const dwarf_abbrev *ab = dwarf_abbrev_of(d, u, code);
        if (!ab) break;
        if (!ab->children && ab->tag != TAG_SUBPROGRAM) {
            dwarf_skip_die(d, u, &r, ab);
            continue;
        }
        scanned s = read_die(d, u, &r, ab);
        if (r.failed) break;
        if (ab->tag == TAG_SUBPROGRAM && d->open.n) {
            if (!put_holders(d)) return false;
            look_for_lambda(d, u, &s.name);
        }
        if (!ab->children || (is_dull(&s) && skip_children(d, u, &r, &s.sibling))) continue;
        dwarf_open *o = vec_push(d->b->a, &d->open);
        if (!o) return false;
        *o = (dwarf_open){.h = s.h};
        o->h.at = at;
        if (is_dull(&s)) o->h.tag = 0;
    }
    while (d->open.n) close_top(d, u->end);
    return true;
}

/* ---- numbers of lambdas ---- */

/* As the compiler counts them: in the order of the source, whatever block they are in. */
static int by_place(const void *x, const void *y)
{
    const dwarf_holder *a = *(dwarf_holder *const *)x, *b = *(dwarf_holder *const *)y;
    if (a->parent != b->parent) return a->parent < b->parent ? -1 : 1;
    if (a->lambda != b->lambda) return a->lambda ? -1 : 1;
    if (a->line != b->line) return a->line < b->line ? -1 : 1;
    if (a->column != b->column) return a->column < b->column ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

static bool number(dwarf *d, const dwarf_unit *u)
{
    VEC(dwarf_holder *) v = {0};
    for (size_t i = u->first_holder; i < d->holders.n; i++) {
        if (!d->holders.v[i].nameless) continue;
        dwarf_holder **to = vec_push(d->b->a, &v);
        if (!to) return false;
        *to = &d->holders.v[i];
    }
    if (v.n) qsort(v.v, v.n, sizeof *v.v, by_place);
    for (size_t i = 0; i < v.n; i++) {
        bool first =
            !i || v.v[i]->parent != v.v[i - 1]->parent || v.v[i]->lambda != v.v[i - 1]->lambda;
        v.v[i]->number = first ? 1 : v.v[i - 1]->number + 1;
    }
    return true;
}

static bool scan(dwarf *d, dwarf_unit *u)
{
    if (u->scanned) return true;
    d->scan_bytes += u->end - u->at;
    if (d->scan_bytes / DWARF_SLACK > d->info.n) return false; /* units that name each other */
    u->scanned = true;
    u->first_holder = d->holders.n;
    bool ok = read_unit(d, u) && number(d, u);
    u->n_holders = d->holders.n - u->first_holder;
    d->b->failed |= !ok;
    return ok;
}

void dwarf_scope_forget(dwarf *d, dwarf_unit *u)
{
    if (!u->scanned || u->first_holder + u->n_holders != d->holders.n) return;
    d->holders.n = u->first_holder;
    u->scanned = false;
}

/* ---- paths ---- */

/* Position + 1 of the innermost holder around an offset; 0: none. */
static uint32_t holder_of(const dwarf *d, const dwarf_unit *u, uint64_t offset)
{
    size_t from = u->first_holder, to = from + u->n_holders;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (d->holders.v[mid].at < offset)
            from = mid + 1;
        else
            to = mid;
    }
    uint32_t h = from > u->first_holder ? (uint32_t)from : 0;
    for (unsigned i = 0; h && d->holders.v[h - 1].end <= offset; i++)
        h = i < DWARF_MAX_DEPTH ? d->holders.v[h - 1].parent : 0;
    return h;
}

/* The name of a class or function, and where it was declared. */
static str declared(dwarf **d, uint64_t *at)
{
    str name = STR("");
    dwarf *in = *d;
    uint64_t next = *at;
    for (unsigned hops = 0; hops < DWARF_MAX_HOPS; hops++) {
        dwarf_unit *u;
        dwarf_die die;
        if (!dwarf_die_at(in, next, &u, &die)) break;
        *d = in;
        *at = next;
        if (!name.n) name = dwarf_string(in, u, &die.name);
        const dwarf_value *v = die.origin.form ? &die.origin : &die.specification;
        if (!dwarf_reference(in, u, v, &in, &next)) break;
    }
    return name;
}

/* What a holder adds to the path of `outer`: room[DWARF_MAX_PATH].  Returns the length, or more. */
static int put_path(char *room, str outer, const dwarf_holder *h, str name)
{
    char unnamed[40];
    bool function = h->tag == TAG_SUBPROGRAM;
    if (h->lambda || (name.n && name.p[0] == '<')) {
        snprintf(unnamed, sizeof unnamed, h->number ? "{lambda#%u}" : "{lambda}", h->number);
        name = str_of(unnamed);
    } else if (!name.n && h->tag == TAG_NAMESPACE) {
        name = STR("(anonymous namespace)");
    } else if (!name.n) {
        snprintf(unnamed, sizeof unnamed, "{unnamed type#%u}", h->number ? h->number : 1);
        name = str_of(unnamed);
    }
    return snprintf(room, DWARF_MAX_PATH, "%.*s%s%.*s%s", STR_ARG(outer), outer.n ? "::" : "",
                    STR_ARG(name), function ? "()" : "");
}

static uint32_t scope_at(dwarf *d, uint64_t offset, unsigned depth)
{
    dwarf_unit *u = dwarf_unit_at(d, offset);
    uint32_t h = u && scan(d, u) ? holder_of(d, u, offset) : 0;
    if (!h) return 0;
    if (d->holders.v[h - 1].path) return d->holders.v[h - 1].path - 1;
    if (!d->path) d->path = arena_alloc(d->b->a, DWARF_MAX_PATH);
    if (!d->path) return d->b->failed = true, 0;
    dwarf *in = d;
    uint64_t at = d->holders.v[h - 1].at;
    str name = declared(&in, &at);
    uint32_t outer = depth < DWARF_MAX_DEPTH ? scope_at(in, at, depth + 1) : 0;
    dwarf_holder *to = &d->holders.v[h - 1]; /* now: what was read above may have moved it */
    int n = put_path(d->path, str_of(d->b->text.v + outer), to, name);
    uint32_t path = n < DWARF_MAX_PATH ? index_text(d->b, (str){d->path, (size_t)n}) : 0;
    to->path = path + 1;
    return path;
}

uint32_t dwarf_scope(dwarf *d, uint64_t offset) { return scope_at(d, offset, 0); }
