/* Finds the scopes that contain a function: namespaces, classes, functions.
 *
 *     namespace app                   container 1   app
 *       namespace                     container 2   app::(anonymous namespace)
 *         struct Hidden               container 3   app::(anonymous namespace)::Hidden
 *           work  ◄─ specification ─┐
 *     subprogram ───────────────────┘               its code; the declaration has the scope
 *
 * A DIE does not refer to its parent, so a unit whose functions need a scope is read a second time
 * for its containers.  Units of C, and units whose functions all have linkage names, are read
 * once. */
#include "objfile/dwarf.h"
#include "base/search.h"

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
    dwarf_container h;
    dwarf_value name, sibling;
    bool copy; /* concrete copy of an abstract function; the abstract one has the classes */
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

/* Returns whether the DIE cannot contain functions: types, variables, inlined calls, copies of
 * functions. */
static bool has_no_functions(const scanned *s)
{
    if (is_holder(s->h.tag)) return s->copy;
    return s->h.tag != TAG_COMPILE_UNIT && s->h.tag != TAG_PARTIAL_UNIT &&
           s->h.tag != TAG_LEXICAL_BLOCK;
}

/* Skips the children of a DIE, if it has a reference to its sibling. */
static bool skip_children(dwarf *d, const dwarf_unit *u, rd *r, const dwarf_value *sibling)
{
    dwarf *in;
    uint64_t to;
    if (!dwarf_reference(d, u, sibling, &in, &to) || in != d) return false;
    if (to > u->end || to < u->end - rd_left(r)) return false;
    *r = rd_from((str){d->info.p, (size_t)u->end}, to, d->big);
    return true;
}

/* Called at a function: everything that encloses it becomes a container. */
static bool put_containers(dwarf *d)
{
    uint32_t parent = d->n_put ? d->open.v[d->n_put - 1].container : 0;
    for (; d->n_put < d->open.n; d->n_put++) {
        dwarf_open *o = &d->open.v[d->n_put];
        o->container = parent;
        if (!is_holder(o->h.tag)) continue;
        dwarf_container *h =
            d->containers.n < UINT32_MAX ? vec_push(d->b->a, &d->containers) : NULL;
        if (!h) return false;
        *h = o->h;
        h->parent = parent;
        parent = o->container = (uint32_t)d->containers.n;
    }
    return true;
}

static void close_top(dwarf *d, uint64_t end)
{
    const dwarf_open *o = &d->open.v[--d->open.n];
    bool put = d->n_put > d->open.n && is_holder(o->h.tag);
    if (put) d->containers.v[o->container - 1].end = end;
    if (d->n_put > d->open.n) d->n_put = d->open.n;
}

/* An unnamed class with a call operator is a lambda. */
static void note_lambda(dwarf *d, const dwarf_unit *u, const dwarf_value *name)
{
    const dwarf_open *o = &d->open.v[d->open.n - 1];
    if (!o->container || !o->h.nameless) return;
    str s = dwarf_string(d, u, name);
    if (str_starts(s, STR("operator()")) || str_starts(s, STR("<lambda")))
        d->containers.v[o->container - 1].lambda = true;
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
            if (!put_containers(d)) return false;
            note_lambda(d, u, &s.name);
        }
        if (!ab->children || (has_no_functions(&s) && skip_children(d, u, &r, &s.sibling)))
            continue;
        dwarf_open *o = vec_push(d->b->a, &d->open);
        if (!o) return false;
        *o = (dwarf_open){.h = s.h};
        o->h.at = at;
        if (has_no_functions(&s)) o->h.tag = 0;
    }
    while (d->open.n) close_top(d, u->end);
    return true;
}

/* ---- numbers of lambdas ---- */

/* Orders lambdas as the compiler numbers them: in the order of the source, regardless of blocks. */
static int by_place(const void *x, const void *y)
{
    const dwarf_container *a = *(dwarf_container *const *)x, *b = *(dwarf_container *const *)y;
    if (a->parent != b->parent) return a->parent < b->parent ? -1 : 1;
    if (a->lambda != b->lambda) return a->lambda ? -1 : 1;
    if (a->line != b->line) return a->line < b->line ? -1 : 1;
    if (a->column != b->column) return a->column < b->column ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

static bool number(dwarf *d, const dwarf_unit *u)
{
    size_t n = 0, max = d->containers.n - u->first_container;
    dwarf_container **v = arena_array(d->b->a, max, sizeof(dwarf_container *));
    if (!v) return false;
    for (size_t i = u->first_container; i < d->containers.n; i++)
        if (d->containers.v[i].nameless) v[n++] = &d->containers.v[i];
    if (n) qsort(v, n, sizeof(dwarf_container *), by_place);
    for (size_t i = 0; i < n; i++) {
        bool first = !i || v[i]->parent != v[i - 1]->parent || v[i]->lambda != v[i - 1]->lambda;
        v[i]->number = first ? 1 : v[i - 1]->number + 1;
    }
    return true;
}

static bool scan(dwarf *d, dwarf_unit *u)
{
    if (u->scanned) return true;
    d->scan_bytes += u->end - u->at;
    if (d->scan_bytes / DWARF_SLACK > d->info.n)
        return false; /* stops units that refer to each other endlessly */
    u->scanned = true;
    u->first_container = d->containers.n;
    bool ok = read_unit(d, u) && number(d, u);
    u->n_containers = d->containers.n - u->first_container;
    d->b->failed |= !ok;
    return ok;
}

void dwarf_scope_forget(dwarf *d, dwarf_unit *u)
{
    if (!u->scanned || u->first_container + u->n_containers != d->containers.n) return;
    d->containers.n = u->first_container;
    u->scanned = false;
}

/* ---- paths ---- */

/* Returns position + 1 of the innermost container of an offset; 0 if there is none. */
static uint32_t container_of(const dwarf *d, const dwarf_unit *u, uint64_t offset)
{
    size_t from = SEARCH(u->first_container, u->first_container + u->n_containers, i,
                         d->containers.v[i].at < offset);
    uint32_t h = from > u->first_container ? (uint32_t)from : 0;
    for (unsigned i = 0; h && d->containers.v[h - 1].end <= offset; i++)
        h = i < DWARF_MAX_DEPTH ? d->containers.v[h - 1].parent : 0;
    return h;
}

/* Returns the name of a class or function and sets *at to the offset of its declaration. */
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

/* Appends a container's part of the path to `outer` in room[DWARF_MAX_PATH].  Returns the length,
 * which is larger if it did not fit. */
static int put_path(char *room, str outer, const dwarf_container *h, str name)
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
    uint32_t h = u && scan(d, u) ? container_of(d, u, offset) : 0;
    if (!h) return 0;
    if (d->containers.v[h - 1].path) return d->containers.v[h - 1].path - 1;
    if (!d->path) d->path = arena_alloc(d->b->a, DWARF_MAX_PATH);
    if (!d->path) return d->b->failed = true, 0;
    dwarf *in = d;
    uint64_t at = d->containers.v[h - 1].at;
    str name = declared(&in, &at);
    uint32_t outer = depth < DWARF_MAX_DEPTH ? scope_at(in, at, depth + 1) : 0;
    dwarf_container *to =
        &d->containers.v[h - 1]; /* looked up again: the calls above may have moved it */
    int n = put_path(d->path, str_of(d->b->text.v + outer), to, name);
    uint32_t path = n < DWARF_MAX_PATH ? index_text(d->b, (str){d->path, (size_t)n}) : 0;
    to->path = path + 1;
    return path;
}

uint32_t dwarf_scope(dwarf *d, uint64_t offset) { return scope_at(d, offset, 0); }
