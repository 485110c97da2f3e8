/* Reads the text kinds: heap (tcmalloc, Go), counts (Go), threads, contention. */
#include "format/pprof_legacy.h"

#include "base/ban.h"

/* ---- heap ---- */

typedef struct heap_line {
    int64_t in_use[2], allocated[2]; /* objects, bytes */
} heap_line;

/* "1: 9216 [1: 9216] @" */
static bool take_heap_line(str *s, heap_line *h)
{
    int64_t *to[4] = {&h->in_use[0], &h->in_use[1], &h->allocated[0], &h->allocated[1]};
    static const char after[4] = {':', '[', ':', ']'};
    for (size_t i = 0; i < 4; i++) {
        text_blanks(s);
        if (!text_i64(s, to[i])) return false;
        text_blanks(s);
        if (!text_char(s, after[i])) return false;
    }
    text_blanks(s);
    return text_char(s, '@');
}

typedef struct heap {
    bool sampled, allocated;
    int64_t rate;
} heap;

/* Parses "@ heapz_v2/524288" of the heading. */
static bool heap_kind(legacy *g, str s, heap *h)
{
    text_blanks(&s);
    size_t n = 0;
    while (n < s.n && s.p[n] != '/' && s.p[n] != ' ') n++;
    str kind = {s.p, n}, rest = {s.p + n, s.n - n};
    if (text_char(&rest, '/') && !text_i64(&rest, &h->rate))
        return legacy_bad(g, "the sampling rate is not a number");
    if (str_eq(kind, STR("heapz_v2")) || str_eq(kind, STR("heap_v2"))) {
        h->sampled = true;
    } else if (str_eq(kind, STR("heap"))) { /* Go writes twice its rate here */
        h->sampled = true;
        h->rate /= 2;
    } else if (str_eq(kind, STR("heapprofile")) || str_starts(kind, STR("growth")) ||
               str_starts(kind, STR("fragmentation"))) {
        h->allocated &= kind.p[0] == 'h';
        h->rate = 1;
    } else {
        return legacy_bad(g, "unknown kind \"%.*s\" of heap profile",
                          (int)(kind.n < 40 ? kind.n : 40), kind.p);
    }
    return true;
}

static bool take_heap_heading(legacy *g, heap *h)
{
    heap_line t;
    str s = {g->line.p + 13, g->line.n - 13}; /* after "heap profile:" */
    if (!take_heap_line(&s, &t))
        return legacy_bad(g, "expected \"heap profile: objects: bytes [objects: bytes] @ kind\"");
    for (int i = 0; i < 2; i++)
        h->allocated |= t.allocated[i] != t.in_use[i] && t.allocated[i] != 0;
    g->declared = t.in_use[0] > 0 ? (uint64_t)t.in_use[0] : 0;
    return heap_kind(g, s, h);
}

/* Stores a pair {objects, bytes} as values, and the size of an object. */
static bool put_pair(legacy *g, const heap *h, const int64_t pair[2], int64_t *values,
                     int64_t *bytes)
{
    int64_t count = pair[0], size = pair[1];
    if (count == 0 && size != 0) return legacy_bad(g, "bytes without objects");
    if (count != 0) {
        *bytes = count == -1 ? (size == INT64_MIN ? INT64_MAX : -size) : size / count;
        if (h->sampled) legacy_unsample(&count, &size, h->rate);
    }
    values[0] = count;
    values[1] = size;
    return true;
}

static bool take_heap_sample(legacy *g, const heap *h)
{
    heap_line l;
    str s = g->line;
    if (!take_heap_line(&s, &l))
        return legacy_bad(g, "expected \"objects: bytes [objects: bytes] @ addresses\"");
    legacy_sample *to = legacy_new_sample(g);
    if (!to) return false;
    g->n_read += l.in_use[0] > 0 ? (uint64_t)l.in_use[0] : 0;
    to->has_bytes = true;
    int64_t *values = to->values;
    if (h->allocated) {
        if (!put_pair(g, h, l.allocated, values, &to->bytes)) return false;
        values += 2;
    }
    return put_pair(g, h, l.in_use, values, &to->bytes) && legacy_addresses(g, s, ADJUST_ALL);
}

static bool heap_comment(legacy *g)
{
    str s = g->line;
    if (!text_char(&s, '#')) return true;
    text_blanks(&s);
    if (str_starts(s, STR("0x"))) return legacy_symbol_comment(g);
    return !s.n || legacy_comment(g, s); /* Go's MemStats */
}

bool legacy_read_heap(legacy *g)
{
    heap h = {0};
    while (legacy_next_line(g) && legacy_is_comment(g->line)) continue;
    if (!take_heap_heading(g, &h)) return false;
    g->period = h.rate;
    g->period_type = (legacy_type){STR("space"), STR("bytes")};
    g->n_types = h.allocated ? 4 : 2;
    legacy_type *t = g->types;
    if (h.allocated) {
        *t++ = (legacy_type){STR("alloc_objects"), STR("count")};
        *t++ = (legacy_type){STR("alloc_space"), STR("bytes")};
        *t++ = (legacy_type){STR("inuse_objects"), STR("count")};
        *t++ = (legacy_type){STR("inuse_space"), STR("bytes")};
    } else {
        *t++ = (legacy_type){STR("objects"), STR("count")};
        *t++ = (legacy_type){STR("space"), STR("bytes")};
    }
    while (legacy_next_line(g) && !legacy_is_map_heading(g->line)) {
        size_t n_before = g->samples.n;
        if (legacy_is_comment(g->line) ? !heap_comment(g)
                                       : !legacy_end_sample(g, n_before, take_heap_sample(g, &h)))
            return false;
    }
    return legacy_read_maps(g);
}

/* ---- counts ---- */

static bool count_comment(legacy *g)
{
    if (text_contains(g->line, STR("# labels:")))
        ledger_add(g->ledger, STAGE_READ, LOSS_LABEL, NULL, "# labels:", g->line);
    return legacy_symbol_comment(g);
}

static bool take_count(legacy *g)
{
    str s = g->line;
    int64_t n;
    if (!text_i64(&s, &n) || n < 0 || (text_blanks(&s), !text_char(&s, '@')))
        return legacy_bad(g, "expected \"count @ addresses\"");
    legacy_sample *to = legacy_new_sample(g);
    if (!to) return false;
    to->values[0] = n;
    g->n_read += (uint64_t)n;
    return legacy_addresses(g, s, ADJUST_ALL);
}

/* "goroutine profile: total 7" */
static uint64_t declared_total(str heading)
{
    const char *at = memmem(heading.p, heading.n, " total ", 7);
    str s = at ? (str){at + 7, heading.n - (size_t)(at + 7 - heading.p)} : (str){0};
    int64_t n;
    return at && text_i64(&s, &n) && n > 0 ? (uint64_t)n : 0;
}

bool legacy_read_count(legacy *g)
{
    while (legacy_next_line(g) && legacy_is_comment(g->line)) continue;
    const char *blank = g->line.n ? memchr(g->line.p, ' ', g->line.n) : NULL;
    if (!blank) return legacy_bad(g, "expected \"goroutine profile: total 7\"");
    str type = legacy_text(g, (str){g->line.p, (size_t)(blank - g->line.p)});
    if (!type.p) return false;
    g->n_types = 1;
    g->types[0] = g->period_type = (legacy_type){type, STR("count")};
    g->period = 1;
    g->declared = declared_total(g->line);
    while (legacy_next_line(g) && !str_starts(g->line, STR("---"))) {
        size_t n_before = g->samples.n;
        if (legacy_is_comment(g->line) ? !count_comment(g)
                                       : !legacy_end_sample(g, n_before, take_count(g)))
            return false;
    }
    return legacy_read_maps(g);
}

/* ---- threads ---- */

/* "--- Thread 7f794ab90940 (name: main/14748) stack: ---" */
static bool take_thread(legacy *g, legacy_thread *t)
{
    str s = g->line;
    uint64_t address;
    if (!str_starts(s, STR("--- Thread "))) return false;
    s = (str){s.p + 11, s.n - 11};
    if (!text_hex(&s, &address) || !str_starts(s, STR(" (name: "))) return false;
    s = (str){s.p + 8, s.n - 8};
    const char *slash = s.n ? memrchr(s.p, '/', s.n) : NULL;
    if (!slash) return false;
    str id = {slash + 1, s.n - (size_t)(slash - s.p) - 1};
    t->name = legacy_text(g, (str){s.p, (size_t)(slash - s.p)});
    return text_i64(&id, &t->id) && str_starts(id, STR(") stack: ---"));
}

/* Reads the name in "PC:  0x00bc8f1c: helper(arg *)" for the last frame. */
static bool thread_symbol(legacy *g)
{
    const char *at = memmem(g->line.p, g->line.n, "0x", 2);
    if (!at || text_contains(g->line, STR("creator:"))) return true;
    str s = {at, g->line.n - (size_t)(at - g->line.p)};
    uint64_t address;
    if (!text_hex(&s, &address) || !text_char(&s, ':')) return true;
    legacy_location *l = &g->locations.v[g->frames.v[g->frames.n - 1]];
    if (!l->symbol.n) l->symbol = legacy_text(g, text_trim(s));
    return true;
}

static bool add_thread(legacy *g, const legacy_thread *t)
{
    legacy_thread *slot = vec_push(g->a, &g->threads);
    if (!slot) return arena_spent(g->a, g->e);
    *slot = *t;
    g->samples.v[g->samples.n - 1].threads.n++;
    return true;
}

/* Reads the stack up to the next heading, which becomes the current line. */
static bool take_thread_stack(legacy *g, const legacy_thread *t)
{
    bool same = false, first = !g->samples.n;
    legacy_sample *s = NULL;
    while (legacy_next_line(g) && !str_starts(g->line, STR("---"))) {
        if (!g->line.n) continue;
        same |= text_contains(g->line, STR("same as previous thread"));
        if (same) continue;
        if (!s && !(s = legacy_new_sample(g))) return false;
        size_t before = g->frames.n;
        if (!legacy_addresses(g, g->line, ADJUST_CALLERS)) return false;
        if (g->frames.n > before && !thread_symbol(g)) return false;
    }
    bool empty = !s || !g->samples.v[g->samples.n - 1].frames.n;
    if (s && empty) g->samples.n--;
    if (empty && (first || !g->samples.n)) return true; /* there is no previous stack */
    g->samples.v[g->samples.n - 1].values[0]++;
    return add_thread(g, t);
}

bool legacy_read_thread(legacy *g)
{
    while (legacy_next_line(g) && legacy_is_comment(g->line)) continue;
    if (str_starts(g->line, STR("--- threadz ")))
        while (legacy_next_line(g) && !str_starts(g->line, STR("-")) &&
               !legacy_is_map_heading(g->line))
            continue;
    g->n_types = 1;
    g->types[0] = g->period_type = (legacy_type){STR("thread"), STR("count")};
    g->period = 1;
    while (g->line.n && !legacy_is_map_heading(g->line)) {
        if (str_starts(g->line, STR("---- no stack trace for"))) break;
        legacy_thread t = {0};
        if (!take_thread(g, &t))
            return legacy_bad(g, "expected \"--- Thread 7f00 (name: main/1) stack: ---\"");
        if (!take_thread_stack(g, &t)) return false;
    }
    if (!legacy_read_maps(g)) return false;
    legacy_drop_double_leaf(g);
    return true;
}

/* ---- contention ---- */

/* Reads a line such as "cycles/second = 3201000000". Sets *is to false where the samples begin. */
static bool take_setting(legacy *g, int64_t *hz, bool *is)
{
    const char *eq = memchr(g->line.p, '=', g->line.n);
    *is = eq != NULL;
    if (!eq) return true;
    size_t n = (size_t)(eq - g->line.p);
    str key = text_trim((str){g->line.p, n});
    str value = text_trim((str){eq + 1, g->line.n - n - 1});
    int64_t v;
    bool number = text_i64(&value, &v) && !value.n;
    if (str_eq(key, STR("cycles/second")) && number) {
        *hz = v;
    } else if (str_eq(key, STR("sampling period")) && number) {
        g->period = v;
    } else if (str_eq(key, STR("ms since reset")) && number) {
        if (v < 0 || ckd_mul(&g->duration_nano, (uint64_t)v, 1000000u))
            return legacy_bad(g, "%lld ms are out of range", (long long)v);
    } else if (str_eq(key, STR("cycles/second")) || str_eq(key, STR("sampling period"))) {
        return legacy_bad(g, "expected a number");
    } else {
        return legacy_comment(g, g->line);
    }
    return true;
}

/* Reads "cycles count @ addresses" and scales the values up by the sampling rate. */
static bool take_contention(legacy *g, int64_t hz)
{
    str s = g->line;
    int64_t delay, count;
    bool ok = text_i64(&s, &delay) && (text_blanks(&s), text_i64(&s, &count));
    if (!ok || delay < 0 || count < 0 || (text_blanks(&s), !text_char(&s, '@')))
        return legacy_bad(g, "expected \"delay count @ addresses\"");
    legacy_sample *to = legacy_new_sample(g);
    if (!to) return false;
    if (g->period > 0) {
        if (hz > 0) delay = legacy_i64((double)delay * (double)g->period / ((double)hz / 1e9));
        if (ckd_mul(&count, count, g->period)) count = INT64_MAX;
    }
    to->values[0] = count;
    to->values[1] = delay;
    return legacy_addresses(g, s, ADJUST_ALL);
}

bool legacy_read_contention(legacy *g)
{
    int64_t hz = 0; /* cycles per second; 0: the delays are nanoseconds */
    while (legacy_next_line(g) && legacy_is_comment(g->line)) continue;
    g->n_types = 2;
    g->types[0] = g->period_type = (legacy_type){STR("contentions"), STR("count")};
    g->types[1] = (legacy_type){STR("delay"), STR("nanoseconds")};
    g->period = 1;
    bool settings = true;
    while (legacy_next_line(g) && !str_starts(g->line, STR("---")) &&
           !legacy_is_map_heading(g->line)) {
        if (legacy_is_comment(g->line)) {
            if (!legacy_symbol_comment(g)) return false;
            continue;
        }
        if (settings && !take_setting(g, &hz, &settings)) return false;
        size_t n_before = g->samples.n;
        if (!settings && !legacy_end_sample(g, n_before, take_contention(g, hz))) return false;
    }
    return legacy_read_maps(g);
}
