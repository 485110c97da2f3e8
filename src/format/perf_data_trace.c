/* Reads the format texts of tracepoints, which perf copies from tracefs. Also derives names for
 * events without one.
 *
 *   17 08 44 "tracing" version\0 endian long_size page_size
 *   "header_page\0" u8 size, bytes   "header_event\0" u8 size, bytes
 *   u4 n, n x {u8 size, text}                          ftrace's own
 *   u4 systems, each: name\0 u4 n, n x {u8 size, text}  "name: sched_switch\nID: 316\nformat:\n..." */
#include "format/perf_data.h"

#include "base/text.h"
#include "base/ban.h"
#include <inttypes.h>

static const char magic[] = "\x17\x08\x44"
                            "tracing";

typedef struct walk {
    const perf_data *d;
    str left;
    bool bad;
} walk;

static str take(walk *w, uint64_t n)
{
    if (n > w->left.n) {
        w->bad = true;
        w->left.n = 0;
        return (str){0};
    }
    str s = {w->left.p, (size_t)n};
    w->left = (str){w->left.p + n, w->left.n - (size_t)n};
    return s;
}

static uint32_t take_u32(walk *w)
{
    str s = take(w, 4);
    return s.n ? perf_u32(w->d, (const uint8_t *)s.p) : 0;
}

static str take_sized(walk *w)
{
    str s = take(w, 8);
    return s.n ? take(w, perf_u64(w->d, (const uint8_t *)s.p)) : s;
}

static str take_z(walk *w)
{
    str s = perf_text((const uint8_t *)w->left.p, w->left.n);
    take(w, s.n + 1);
    return s;
}

/* ---- one format text ---- */

static bool skip_past(str *s, str what)
{
    const char *p = s->n ? memmem(s->p, s->n, what.p, what.n) : NULL;
    if (!p) return false;
    size_t n = (size_t)(p - s->p) + what.n;
    *s = (str){s->p + n, s->n - n};
    return true;
}

static uint64_t number(str s)
{
    uint64_t v = 0;
    for (size_t i = 0; i < s.n && s.p[i] >= '0' && s.p[i] <= '9' && v < UINT32_MAX; i++)
        v = v * 10 + (uint64_t)(s.p[i] - '0');
    return v;
}

/* "field:pid_t prev_pid;	offset:24;	size:4;	signed:1;" */
static void take_field(perf_data *d, str text)
{
    const char *semicolon = text.n ? memchr(text.p, ';', text.n) : NULL;
    if (!semicolon) return;
    str declared = {text.p, (size_t)(semicolon - text.p)};
    str offset = text, size = text;
    if (!skip_past(&offset, STR("offset:")) || !skip_past(&size, STR("size:"))) return;
    uint32_t at = (uint32_t)number(offset), n = (uint32_t)number(size);
    if (str_ends(declared, STR(" prev_pid")) && n == 4) d->sched.prev_pid = at;
    if (str_ends(declared, STR(" next_pid")) && n == 4) d->sched.next_pid = at;
    if (str_ends(declared, STR(" prev_state")) && (n == 4 || n == 8))
        d->sched.prev_state = at, d->sched.prev_state_size = n;
}

static void take_switch(perf_data *d, str text)
{
    for (str row; str_line(&text, &row);) take_field(d, row);
    d->sched.found = d->sched.prev_pid && d->sched.next_pid;
}

static str value_of(str text, str key)
{
    str row = {0};
    return skip_past(&text, key) && str_line(&text, &row) ? row : (str){0};
}

static bool add_tracepoint(perf_data *d, perf_tracepoint t)
{
    if (!hash_index_room(&d->by_tracepoint, d->a)) return arena_spent(d->a, d->e);
    uint64_t h = hash_mix(d->by_tracepoint.seed, t.id);
    uint32_t i = hash_first(&d->by_tracepoint, h);
    for (uint32_t at; hash_next(&d->by_tracepoint, &i, h, &at); i++)
        if (d->tracepoints.v[at].id == t.id) return true;
    perf_tracepoint *slot = vec_push(d->a, &d->tracepoints);
    if (!slot) return arena_spent(d->a, d->e);
    *slot = t;
    hash_put(&d->by_tracepoint, i, h, (uint32_t)(d->tracepoints.n - 1));
    return true;
}

static bool take_format(perf_data *d, str system, str text)
{
    str name = value_of(text, STR("name: ")), id = value_of(text, STR("ID: "));
    if (!name.n || !id.n) return true;
    if (str_eq(system, STR("sched")) && str_eq(name, STR("sched_switch"))) take_switch(d, text);
    return add_tracepoint(d, (perf_tracepoint){number(id), system, name});
}

bool perf_read_tracing(perf_data *d, const uint8_t *p, size_t n)
{
    walk w = {.d = d, .left = {(const char *)p, n}};
    str head = take(&w, sizeof magic - 1);
    if (!str_eq(head, (str){magic, sizeof magic - 1})) return true;
    take_z(&w);   /* version */
    take(&w, 2);  /* byte order, size of long */
    take_u32(&w); /* page size */
    take_z(&w);   /* header_page */
    take_sized(&w);
    take_z(&w); /* header_event */
    take_sized(&w);
    for (uint32_t i = take_u32(&w); i && !w.bad; i--) take_sized(&w);
    for (uint32_t systems = take_u32(&w); systems && !w.bad; systems--) {
        str system = take_z(&w);
        for (uint32_t i = take_u32(&w); i && !w.bad; i--)
            if (!take_format(d, system, take_sized(&w))) return false;
    }
    return true;
}

/* ---- names derived from type and config ---- */

static const char *const hardware[] = {
    "cycles",
    "instructions",
    "cache-references",
    "cache-misses",
    "branches",
    "branch-misses",
    "bus-cycles",
    "stalled-cycles-frontend",
    "stalled-cycles-backend",
    "ref-cycles",
};
static const char *const software[] = {
    "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
    "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
    "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches",
};
static const char *const cache[] = {"L1-dcache", "L1-icache", "LLC", "dTLB",
                                    "iTLB",      "branch",    "node"};
static const char *const cache_op[] = {"load", "store", "prefetch"};

enum { LONGEST_NAME = 256 };
enum { FLAG_EXCLUDE_USER = 4, FLAG_EXCLUDE_KERNEL = 5, FLAG_EXCLUDE_HV = 6, FLAG_PRECISE = 15 };

static void put_modifiers(const perf_event *v, buf *b)
{
    bool user = v->flags >> FLAG_EXCLUDE_USER & 1, kernel = v->flags >> FLAG_EXCLUDE_KERNEL & 1,
         hv = v->flags >> FLAG_EXCLUDE_HV & 1;
    unsigned precise = (unsigned)(v->flags >> FLAG_PRECISE & 3);
    bool some = (kernel && !user) || (user && !kernel);
    if (!some && !precise) return;
    buf_putc(b, ':');
    if (some && !user) buf_putc(b, 'u');
    if (some && !kernel) buf_putc(b, 'k');
    if (some && !hv) buf_putc(b, 'h');
    while (precise--) buf_putc(b, 'p');
}

static const perf_tracepoint *tracepoint_of(const perf_data *d, const perf_event *v)
{
    if (v->type != PERF_TYPE_TRACEPOINT || !d->by_tracepoint.n) return NULL;
    uint64_t h = hash_mix(d->by_tracepoint.seed, v->config);
    uint32_t i = hash_first(&d->by_tracepoint, h);
    for (uint32_t at; hash_next(&d->by_tracepoint, &i, h, &at); i++)
        if (d->tracepoints.v[at].id == v->config) return &d->tracepoints.v[at];
    return NULL;
}

static str clipped(str s) { return (str){s.p, s.n < LONGEST_NAME ? s.n : LONGEST_NAME}; }

static void put_name(const perf_data *d, const perf_event *v, buf *b)
{
    const perf_tracepoint *t = tracepoint_of(d, v);
    uint64_t c = v->config, op = c >> 8 & 0xff, result = c >> 16;
    if (v->type == PERF_TYPE_HARDWARE && c < ARRAY_LEN(hardware))
        buf_z(b, hardware[c]);
    else if (v->type == PERF_TYPE_SOFTWARE && c < ARRAY_LEN(software))
        buf_z(b, software[c]);
    else if (v->type == PERF_TYPE_HW_CACHE && (c & 0xff) < ARRAY_LEN(cache) &&
             op < ARRAY_LEN(cache_op) && result < 2)
        buf_printf(b, "%s-%s%s", cache[c & 0xff], cache_op[op], result ? "-misses" : "s");
    else if (v->type == PERF_TYPE_RAW)
        buf_printf(b, "raw 0x%" PRIx64, c);
    else if (t)
        buf_printf(b, "%.*s:%.*s", STR_ARG(clipped(t->system)), STR_ARG(clipped(t->name)));
    else if (v->type == PERF_TYPE_TRACEPOINT)
        buf_printf(b, "tracepoint %" PRIu64, c);
    else
        buf_printf(b, "event %u/0x%" PRIx64, v->type, c);
    put_modifiers(v, b);
}

bool perf_name_event(perf_data *d, perf_event *v)
{
    if (v->name.n) return true;
    buf b = {0};
    put_name(d, v, &b);
    char *p = b.failed ? NULL : arena_alloc(d->a, b.n);
    if (p) memcpy(p, b.p, b.n), v->name = (str){p, b.n};
    buf_free(&b);
    return p || arena_spent(d->a, d->e);
}
