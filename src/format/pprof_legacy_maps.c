/* Reads memory maps at the end of legacy profiles: /proc/self/maps, or the short form
 *     00400000-00fcb000: $source/server (@1000) 5fa1b2...
 * after a line "source=/home". Also finds the mapping of an address. */
#include "format/pprof_legacy.h"
#include "base/search.h"

#include "base/ban.h"

typedef struct define {
    str name, value;
} define;

typedef struct defines {
    define v[LEGACY_MAX_DEFINES];
    size_t n;
} defines;

/* ---- a line ---- */

static str token(str *s)
{
    text_blanks(s);
    size_t n = 0;
    while (n < s->n && s->p[n] != ' ' && s->p[n] != '\t') n++;
    str t = {s->p, n};
    *s = (str){s->p + n, s->n - n};
    return t;
}

static bool only(str s, const char *chars)
{
    for (size_t i = 0; i < s.n; i++)
        if (!strchr(chars, s.p[i])) return false;
    return s.n != 0;
}

static bool all_hex(str s, uint64_t *v) { return text_hex(&s, v) && !s.n; }

/* "fd:01" */
static bool is_device(str s)
{
    uint64_t v;
    return text_hex(&s, &v) && text_char(&s, ':') && text_hex(&s, &v) && !s.n;
}

/* Removes a logger's prefix: "I0102 03:04:05.6 file.cc:12] rest". */
static str without_log_prefix(str s)
{
    const char *end = s.n ? memchr(s.p, ']', s.n) : NULL;
    if (!end || end == s.p) return s;
    size_t n = (size_t)(end - s.p), digits = 0;
    while (digits < n && s.p[n - 1 - digits] >= '0' && s.p[n - 1 - digits] <= '9') digits++;
    bool prefix = digits && digits < n && s.p[n - 1 - digits] == ':' && !memchr(s.p, '[', n);
    return prefix ? text_trim((str){end + 1, s.n - n - 1}) : s;
}

/* Returns the path with $name replaced. */
static str expand(legacy *g, str s, const defines *d)
{
    const char *at = s.n ? memchr(s.p, '$', s.n) : NULL;
    if (!at) return legacy_text(g, s);
    str rest = {at + 1, s.n - (size_t)(at - s.p) - 1};
    for (size_t i = 0; i < d->n; i++) {
        str name = d->v[i].name, value = d->v[i].value;
        if (!name.n || !str_starts(rest, name)) continue;
        size_t before = (size_t)(at - s.p), after = rest.n - name.n;
        char *p = arena_alloc(g->a, before + value.n + after);
        if (!p) return arena_spent(g->a, g->e), (str){0};
        memcpy(p, s.p, before);
        memcpy(p + before, value.p, value.n);
        memcpy(p + before + value.n, rest.p + name.n, after);
        return legacy_text(g, (str){p, before + value.n + after});
    }
    return legacy_text(g, s);
}

/* Parses a mapping. Returns false if s is not one; sets *skip for a mapping without code. */
static bool parse_mapping(str s, legacy_mapping *m, bool *skip)
{
    *m = (legacy_mapping){0};
    *skip = false;
    if (!text_hex(&s, &m->start)) return false;
    str sep = s;
    text_blanks(&s);
    text_char(&s, '-');
    text_blanks(&s);
    if (s.p == sep.p || !text_hex(&s, &m->limit)) return false;
    text_char(&s, ':');
    if (s.n && s.p[0] != ' ' && s.p[0] != '\t') return false;
    str at = s, t = token(&s);
    if (only(t, "-rwxps"))
        *skip = !memchr(t.p, 'x', t.n), at = s;
    else
        s = at;
    str offset = token(&s), device = token(&s), inode = token(&s);
    uint64_t v;
    if (all_hex(offset, &m->offset) && is_device(device) && only(inode, "0123456789")) {
        m->file = token(&s);
        return true;
    }
    m->offset = 0;
    s = at;
    m->file = token(&s);
    t = token(&s);
    if (t.n > 3 && t.p[0] == '(' && t.p[1] == '@' && t.p[t.n - 1] == ')') {
        if (all_hex((str){t.p + 2, t.n - 3}, &v)) m->offset = v;
        t = token(&s);
    }
    for (size_t i = 0; i < t.n; i++)
        if (!is_hex_digit(t.p[i])) return true;
    m->build_id = t;
    return true;
}

static void add_define(defines *d, str s)
{
    const char *eq = s.n ? memchr(s.p, '=', s.n) : NULL;
    if (!eq || d->n == LEGACY_MAX_DEFINES) return;
    size_t n = (size_t)(eq - s.p);
    d->v[d->n++] = (define){text_trim((str){s.p, n}), text_trim((str){eq + 1, s.n - n - 1})};
}

bool legacy_maps(legacy *g)
{
    defines d = {.n = 0};
    while (legacy_next_line(g)) {
        str s = without_log_prefix(g->line);
        legacy_mapping m;
        bool skip;
        if (!parse_mapping(s, &m, &skip)) {
            add_define(&d, s);
            continue;
        }
        if (skip) continue;
        m.file = expand(g, m.file, &d);
        if (g->e && g->e->code) return false;
        legacy_mapping *slot = vec_push(g->a, &g->mappings);
        if (!slot) return arena_spent(g->a, g->e);
        *slot = m;
    }
    return true;
}

bool legacy_read_maps(legacy *g)
{
    while (!legacy_is_map_heading(g->line))
        if (!legacy_next_line(g)) return true;
    return legacy_maps(g);
}

/* ---- mapping of an address ---- */

/* Returns whether two lines describe parts of one mapping of a file. */
static bool continues(const legacy_mapping *a, const legacy_mapping *b)
{
    if (a->file.n && b->file.n && !str_eq(a->file, b->file)) return false;
    if (a->build_id.n && b->build_id.n && !str_eq(a->build_id, b->build_id)) return false;
    if (a->limit != b->start) return false;
    return !a->offset || !b->offset || a->offset + (a->limit - a->start) == b->offset;
}

static void join_split(legacy *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->mappings.n; i++) {
        legacy_mapping m = g->mappings.v[i], *last = n ? &g->mappings.v[n - 1] : NULL;
        if (!last || !continues(last, &m)) {
            g->mappings.v[n++] = m;
            continue;
        }
        last->limit = m.limit;
        if (m.file.n) last->file = m.file;
        if (m.build_id.n) last->build_id = m.build_id;
    }
    g->mappings.n = n;
}

/* "libc.so", "libc.so.6", "ld.so_1" */
static bool is_library(str file)
{
    for (str s = file; s.n >= 3; s.p++, s.n--) {
        if (!str_starts(s, STR(".so"))) continue;
        if (s.n == 3) return true;
        bool version = s.n > 4 && (s.p[3] == '.' || s.p[3] == '_');
        if (version && s.p[4] >= '0' && s.p[4] <= '9') return true;
    }
    return false;
}

/* Swaps the first mapping that looks like the main binary to position 0, where pprof expects it. */
static void main_first(legacy *g)
{
    for (size_t i = 0; i < g->mappings.n; i++) {
        legacy_mapping m = g->mappings.v[i];
        if (!m.file.n || m.file.p[0] == '[' || is_library(m.file)) continue;
        g->mappings.v[i] = g->mappings.v[0];
        g->mappings.v[0] = m;
        break;
    }
    /* A remapped main binary may have lost its start, which is usually this address. */
    enum { USUAL_START = 0x400000 };
    legacy_mapping *m = g->mappings.n ? &g->mappings.v[0] : NULL;
    if (m && m->start - m->offset == USUAL_START) m->start = USUAL_START, m->offset = 0;
}

typedef struct range {
    uint64_t start, limit;
    uint32_t mapping; /* position */
} range;

static int range_order(const void *x, const void *y)
{
    const range *a = x, *b = y;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return a->mapping < b->mapping ? -1 : a->mapping > b->mapping;
}

/* Returns the number of ranges that begin at or before the address. */
static size_t begun(const range *r, size_t n, uint64_t address)
{
    return SEARCH(0, n, i, r[i].start <= address);
}

bool legacy_assign_mappings(legacy *g, uint32_t *of)
{
    join_split(g);
    main_first(g);
    size_t n = g->mappings.n;
    range *r = arena_new(g->a, range, n);
    if (!r) return arena_spent(g->a, g->e);
    for (uint32_t i = 0; i < n; i++)
        r[i] = (range){g->mappings.v[i].start, g->mappings.v[i].limit, i};
    qsort(r, n, sizeof *r, range_order);
    for (size_t i = 0; i < g->locations.n; i++) {
        uint64_t a = g->locations.v[i].address;
        of[i] = 0;
        if (g->locations.v[i].named || !a) continue;
        size_t k = begun(r, n, a);
        if (k && a < r[k - 1].limit) {
            of[i] = r[k - 1].mapping + 1;
        } else if (k < n) {
            /* Old handlers wrote only the later part of a split mapping, which its offset shows. */
            legacy_mapping *m = &g->mappings.v[r[k].mapping];
            if (!m->offset || m->offset > m->start || m->start - m->offset > a) continue;
            m->start -= m->offset;
            m->offset = 0;
            r[k].start = m->start;
            of[i] = r[k].mapping + 1;
        }
    }
    return true;
}
