/* gen.c - writes synthetic but realistic OTLP profiles for the benchmarks.
 *
 *   gen [--shape wide|deep|ruby|tenth|small] [--scale N] [--seed N] OUT.otlp
 *
 * The bytes are ProfilesData in the current layout (v1.10 / v1.11).  Equal arguments give equal
 * bytes on every machine: the generator has its own random numbers and uses no floating point.  It
 * shares no code with src/, so that Kiln's encoder is not compared with itself.
 *
 * To be realistic, functions form a layered call graph.  A stack is a walk from one of a few roots
 * in which the first call site of a function is the most likely, so stacks share prefixes and some
 * locations are hot.  Dictionary entries are numbered when first seen, as in a profiler. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_DEPTH = 250,
    MAX_SITES = 5, /* call sites of one function */
    FUNCTIONS_PER_FILE = 8,
    ATTR_COLUMNS = 3,
};

typedef struct shape {
    const char *name;
    uint32_t n_samples, n_stacks, n_functions;
    uint32_t mean_depth;
    uint32_t n_roots;
    uint32_t first_site_permille;    /* probability of the likeliest call site */
    uint32_t stop_permille;          /* probability of a sample before a leaf is reached */
    uint32_t n_sets;                 /* distinct attribute sets of samples */
    uint32_t min_attrs;              /* a set has min_attrs .. ATTR_COLUMNS attributes */
    uint32_t n_values[ATTR_COLUMNS]; /* distinct values of each attribute key */
    uint32_t n_links, link_percent;
    bool frame_attrs, mangled, jitter;
} shape;

static const shape shapes[] = {
    /* a merged profile of a large server: many samples of fewer stacks */
    {.name = "wide",
     .n_samples = 1000000,
     .n_stacks = 100000,
     .n_functions = 24500,
     .mean_depth = 72,
     .n_roots = 24,
     .first_site_permille = 885,
     .stop_permille = 3,
     .n_sets = 5000,
     .min_attrs = 1,
     .n_values = {240, 96, 60},
     .n_links = 40000,
     .link_percent = 5,
     .frame_attrs = true,
     .mangled = true,
     .jitter = true},
    /* nearly every sample has its own stack */
    {.name = "deep",
     .n_samples = 120000,
     .n_stacks = 106000,
     .n_functions = 18000,
     .mean_depth = 54,
     .n_roots = 24,
     .first_site_permille = 890,
     .stop_permille = 3,
     .n_sets = 163,
     .min_attrs = 3,
     .n_values = {41, 12, 4}},
    /* the published benchmark's "ruby": few functions, very deep, no labels */
    {.name = "ruby",
     .n_samples = 8100,
     .n_stacks = 8100,
     .n_functions = 1300,
     .mean_depth = 146,
     .n_roots = 4,
     .first_site_permille = 988,
     .stop_permille = 1,
     .n_sets = 1},
    /* the merged "large" of the same benchmark, with a tenth of the samples */
    {.name = "tenth",
     .n_samples = 12000,
     .n_stacks = 11800,
     .n_functions = 18000,
     .mean_depth = 54,
     .n_roots = 24,
     .first_site_permille = 890,
     .stop_permille = 3,
     .n_sets = 27,
     .min_attrs = 3,
     .n_values = {27, 12, 4}},
    /* deep / 100, for scaling: linear in everything except depth */
    {.name = "small",
     .n_samples = 1200,
     .n_stacks = 1060,
     .n_functions = 180,
     .mean_depth = 54,
     .n_roots = 4,
     .first_site_permille = 890,
     .stop_permille = 3,
     .n_sets = 8,
     .min_attrs = 3,
     .n_values = {4, 3, 2}},
};

/* ---- helpers: memory, random numbers, output ---- */

static void *grow(void *p, size_t n, size_t size)
{
    void *q = reallocarray(p, n, size);
    if (!q) {
        fprintf(stderr, "gen: out of memory\n");
        exit(3);
    }
    return q;
}

static void *zeroed(size_t n, size_t size) { return memset(grow(NULL, n, size), 0, n * size); }

static uint64_t rnd_state;

static uint64_t rnd(void) /* splitmix64 */
{
    uint64_t z = rnd_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint32_t below(uint32_t n) { return (uint32_t)((rnd() >> 32) * n >> 32); }

/* Like below(n), with small results more likely: the cube of a uniform number, in fixed point. */
static uint32_t below_skewed(uint32_t n)
{
    uint64_t u = rnd() >> 32, cube = (u * u >> 32) * u >> 32;
    return (uint32_t)(cube * n >> 32);
}

typedef struct out {
    uint8_t *p;
    size_t n, cap;
} out;

static uint8_t *out_room(out *o, size_t n)
{
    if (o->cap - o->n < n) {
        o->cap = (o->cap + n) * 2;
        o->p = grow(o->p, o->cap, 1);
    }
    return o->p + o->n;
}

static void put_bytes(out *o, const void *p, size_t n)
{
    uint8_t *w = out_room(o, n);
    if (n) memcpy(w, p, n);
    o->n += n;
}

static void put_varint(out *o, uint64_t v)
{
    uint8_t *w = out_room(o, 10);
    for (; v >= 0x80; v >>= 7) *w++ = (uint8_t)(v | 0x80);
    *w++ = (uint8_t)v;
    o->n = (size_t)(w - o->p);
}

static void put_len(out *o, unsigned field, const void *p, size_t n)
{
    put_varint(o, field << 3 | 2);
    put_varint(o, n);
    put_bytes(o, p, n);
}

static void put_str(out *o, unsigned field, const char *s) { put_len(o, field, s, strlen(s)); }

static void put_u64(out *o, unsigned field, uint64_t v) /* proto3: the default is not written */
{
    if (!v) return;
    put_varint(o, field << 3);
    put_varint(o, v);
}

static void put_fixed64(out *o, unsigned field, uint64_t v)
{
    uint8_t b[8];
    for (int i = 0; i < 8; i++) b[i] = (uint8_t)(v >> 8 * i);
    put_varint(o, field << 3 | 1);
    put_bytes(o, b, sizeof b);
}

static void put_packed(out *o, unsigned field, const uint32_t *v, size_t n)
{
    static out run;
    if (!n) return;
    run.n = 0;
    for (size_t i = 0; i < n; i++) put_varint(&run, v[i]);
    put_len(o, field, run.p, run.n);
}

static void put_message(out *o, unsigned field, out *m) /* then empties m for reuse */
{
    put_len(o, field, m->p, m->n);
    m->n = 0;
}

/* ---- a set of byte strings, numbered from 0 in order of arrival ---- */

typedef struct set {
    out bytes;
    size_t *end;    /* entry i ends here in bytes */
    uint32_t *slot; /* entry number + 1, 0 = free */
    uint32_t n, cap, mask;
} set;

static uint64_t hash_bytes(const uint8_t *p, size_t n)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325) + n;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h ^ h >> 29;
}

static size_t set_start(const set *s, uint32_t i) { return i ? s->end[i - 1] : 0; }

static void set_rehash(set *s)
{
    s->cap = s->cap ? s->cap * 2 : 1024;
    s->end = grow(s->end, s->cap, sizeof *s->end);
    free(s->slot);
    s->slot = zeroed((size_t)s->cap * 2, sizeof *s->slot);
    s->mask = s->cap * 2 - 1;
    for (uint32_t i = 0; i < s->n; i++) {
        size_t at = set_start(s, i);
        uint32_t h = (uint32_t)hash_bytes(s->bytes.p + at, s->end[i] - at) & s->mask;
        while (s->slot[h]) h = (h + 1) & s->mask;
        s->slot[h] = i + 1;
    }
}

static bool set_add(set *s, const void *p, size_t n, uint32_t *index) /* false: already present */
{
    if (s->n == s->cap) set_rehash(s);
    uint32_t h = (uint32_t)hash_bytes(p, n) & s->mask;
    for (; s->slot[h]; h = (h + 1) & s->mask) {
        uint32_t i = s->slot[h] - 1;
        size_t at = set_start(s, i);
        if (s->end[i] - at == n && (n == 0 || memcmp(s->bytes.p + at, p, n) == 0))
            return *index = i, false;
    }
    put_bytes(&s->bytes, p, n);
    s->end[s->n] = s->bytes.n;
    *index = s->n;
    s->slot[h] = ++s->n;
    return true;
}

static uint32_t intern(set *strings, const char *s)
{
    uint32_t i;
    (void)set_add(strings, s, strlen(s), &i);
    return i;
}

/* ---- names ---- */

static const char *const words[] = {
    "http",    "server",  "handler",   "json",       "encode", "decode", "cache",  "store",
    "query",   "index",   "block",     "flush",      "sync",   "pool",   "worker", "batch",
    "stream",  "reader",  "writer",    "parse",      "token",  "schema", "table",  "shard",
    "merge",   "scan",    "filter",    "route",      "proxy",  "client", "retry",  "metric",
    "trace",   "span",    "label",     "config",     "plan",   "exec",   "row",    "column",
    "page",    "heap",    "arena",     "alloc",      "list",   "map",    "tree",   "graph",
    "node",    "edge",    "path",      "file",       "socket", "conn",   "frame",  "codec",
    "proto",   "wire",    "event",     "loop",       "timer",  "queue",  "lock",   "state",
    "billing", "session", "inventory", "compaction",
};

typedef struct word {
    char low[16], cap[16];
} word;

static word a_word(void)
{
    word w;
    snprintf(w.low, sizeof w.low, "%s", words[below(sizeof words / sizeof *words)]);
    w.cap[0] = '\0';
    snprintf(w.cap, sizeof w.cap, "%c%s", w.low[0] - 'a' + 'A', w.low + 1);
    return w;
}

typedef struct names {
    char name[160], mangled[160], file[160];
} names;

/* Names depend only on the function's number, not on when it is first seen. */
static void name_function(uint32_t f, uint64_t seed, names *n)
{
    uint64_t saved = rnd_state;
    uint32_t file = f / FUNCTIONS_PER_FILE;
    rnd_state = seed ^ UINT64_C(0xf11e) * (file + 1);
    uint32_t language = below(3);
    word a = a_word(), b = a_word(), c = a_word(), d = a_word();
    rnd_state = seed ^ UINT64_C(0xfc0de) * (f + 1);
    word k = a_word(), l = a_word(), v = a_word(), o = a_word();
    n->mangled[0] = '\0';
    switch (language) {
    case 0:
        snprintf(n->file, sizeof n->file, "/go/src/github.com/acme/%s/%s/%s_%s.go", a.low, b.low,
                 c.low, d.low);
        snprintf(n->name, sizeof n->name,
                 below(3) ? "github.com/acme/%s/%s.(*%s%s).%s%s" : "github.com/acme/%s/%s.%s%s%s%s",
                 a.low, b.low, k.cap, l.low, v.cap, o.cap);
        break;
    case 1:
        snprintf(n->file, sizeof n->file, "/build/acme/src/%s/%s/%s_%s.cc", a.low, b.low, c.low,
                 d.low);
        if (below(4))
            snprintf(n->name, sizeof n->name, "acme::%s::%s%s::%s_%s(unsigned long)", a.low, k.cap,
                     l.cap, v.low, o.low);
        else
            snprintf(n->name, sizeof n->name,
                     "acme::%s::%s%s<std::string, acme::%s::%s>::%s_%s(unsigned long)", a.low,
                     k.cap, l.cap, a.low, c.cap, v.low, o.low);
        snprintf(n->mangled, sizeof n->mangled, "_ZN4acme%zu%s%zu%s%s%zu%s_%sEm", strlen(a.low),
                 a.low, strlen(k.cap) + strlen(l.cap), k.cap, l.cap,
                 strlen(v.low) + strlen(o.low) + 1, v.low, o.low);
        break;
    default:
        snprintf(n->file, sizeof n->file, "%s%s%s.java", b.cap, c.cap, d.cap);
        snprintf(n->name, sizeof n->name, "com.acme.%s.%s.%s%s%s.%s%s", a.low, b.low, b.cap, c.cap,
                 d.cap, v.low, o.cap);
    }
    rnd_state = saved;
}

/* ---- the profile being built ---- */

typedef struct site {
    uint32_t callee, line, location;
} site; /* location 0: not seen yet */

typedef struct gen {
    shape s;
    uint64_t seed;
    site *sites; /* MAX_SITES per function */
    uint8_t *n_sites;
    uint32_t *function_index; /* by function, 0 = not seen yet */
    set strings, stacks;      /* stacks: arrays of site numbers, root first */
    uint32_t n_locations, n_functions, n_attributes, first_frame_attr;
    uint32_t first_attr[ATTR_COLUMNS];
    out mappings, locations, functions, links, attributes, stack_table, samples;
    uint64_t n_frames;
} gen;

static void build_graph(gen *g)
{
    uint32_t n = g->s.n_functions, stride = 2 * n / g->s.mean_depth;
    g->sites = zeroed((size_t)n * MAX_SITES, sizeof *g->sites);
    g->n_sites = zeroed(n, 1);
    g->function_index = zeroed(n, sizeof *g->function_index);
    for (uint32_t f = 0; f < n; f++) {
        uint32_t line = 10 + below(900);
        g->n_sites[f] = (uint8_t)(1 + below(MAX_SITES));
        for (uint32_t i = 0; i < g->n_sites[f]; i++)
            g->sites[f * MAX_SITES + i] =
                (site){.callee = f + 1 + below(stride), .line = line += 1 + below(14)};
    }
}

static size_t walk_graph(const gen *g, uint32_t *path)
{
    uint32_t f = below(g->s.n_roots) * 3;
    size_t depth = 0;
    while (f < g->s.n_functions && depth < MAX_DEPTH) {
        uint32_t i = 0;
        while (i + 1u < g->n_sites[f] && below(1000) >= g->s.first_site_permille) i++;
        path[depth++] = f * MAX_SITES + i;
        if (depth > 6 && below(1000) < g->s.stop_permille) break;
        f = g->sites[f * MAX_SITES + i].callee;
    }
    return depth;
}

static uint32_t see_function(gen *g, uint32_t f)
{
    static out m;
    if (g->function_index[f]) return g->function_index[f];
    names n;
    name_function(f, g->seed, &n);
    put_u64(&m, 1, intern(&g->strings, n.name));
    if (g->s.mangled && n.mangled[0]) put_u64(&m, 2, intern(&g->strings, n.mangled));
    put_u64(&m, 3, intern(&g->strings, n.file));
    put_u64(&m, 4, g->sites[f * MAX_SITES].line - 8);
    put_message(&g->functions, 3, &m);
    return g->function_index[f] = ++g->n_functions;
}

static void put_line(gen *g, out *location, uint32_t f, uint32_t line)
{
    static out m;
    put_u64(&m, 1, see_function(g, f));
    put_u64(&m, 2, line);
    put_message(location, 3, &m);
}

static uint32_t see_location(gen *g, uint32_t number)
{
    static out m;
    site *s = &g->sites[number];
    if (s->location) return s->location;
    uint32_t f = number / MAX_SITES;
    put_u64(&m, 1, f % 17 == 0 ? 2 : 1);
    put_u64(&m, 2, 0x401000 + (uint64_t)f * 704 + (number % MAX_SITES) * 97);
    if (f + 1 < g->s.n_functions && f % 7 == 0)
        put_line(g, &m, f + 1, s->line / 2 + 1); /* inlined */
    put_line(g, &m, f, s->line);
    if (g->s.frame_attrs) put_packed(&m, 4, &(uint32_t){g->first_frame_attr + f % 3}, 1);
    put_message(&g->locations, 2, &m);
    return s->location = ++g->n_locations;
}

static void put_stack(gen *g, const uint32_t *path, size_t depth)
{
    static out m;
    uint32_t index[MAX_DEPTH];
    for (size_t i = 0; i < depth; i++)
        index[i] = see_location(g, path[depth - 1 - i]); /* leaf first */
    put_packed(&m, 1, index, depth);
    put_message(&g->stack_table, 7, &m);
    g->n_frames += depth;
}

static uint32_t put_attribute(gen *g, const char *key, const char *value)
{
    static out m, v;
    put_u64(&m, 1, intern(&g->strings, key));
    put_str(&v, 1, value);
    put_message(&m, 2, &v);
    put_message(&g->attributes, 6, &m);
    return ++g->n_attributes;
}

static void put_attributes(gen *g)
{
    static const char *const keys[ATTR_COLUMNS] = {"http.route", "thread.name",
                                                   "cloud.availability_zone"};
    static const char *const frames[] = {"native", "go", "jvm"};
    for (uint32_t c = 0; c < ATTR_COLUMNS; c++)
        for (uint32_t i = 0; i < g->s.n_values[c]; i++) {
            char value[64];
            word a = a_word(), b = a_word();
            if (c == 0) snprintf(value, sizeof value, "/api/v%u/%s/%s/%u", i % 3, a.low, b.low, i);
            if (c == 1) snprintf(value, sizeof value, "%s-%s-%u", a.low, b.low, i);
            if (c == 2) snprintf(value, sizeof value, "eu-west-%u%c", i / 3, 'a' + i % 3);
            uint32_t index = put_attribute(g, keys[c], value);
            if (i == 0) g->first_attr[c] = index;
        }
    for (uint32_t i = 0; g->s.frame_attrs && i < 3; i++) {
        uint32_t index = put_attribute(g, "profile.frame.type", frames[i]);
        if (i == 0) g->first_frame_attr = index;
    }
}

static void put_links(gen *g)
{
    static out m;
    for (uint32_t i = 0; i < g->s.n_links; i++) {
        uint64_t id[3] = {rnd(), rnd(), rnd()};
        put_len(&m, 1, id, 16);
        put_len(&m, 2, id + 2, 8);
        put_message(&g->links, 4, &m);
    }
}

static void put_sample(gen *g, uint32_t stack)
{
    static out m, values;
    uint32_t number = below_skewed(g->s.n_sets), attr[ATTR_COLUMNS], n_attrs = 0;
    uint32_t want = g->s.min_attrs + number % (ATTR_COLUMNS - g->s.min_attrs + 1);
    for (uint32_t c = 0, rest = number * 7; c < want; c++, rest /= 2)
        attr[n_attrs++] = g->first_attr[c] + rest % g->s.n_values[c];
    put_u64(&m, 1, stack + 1);
    put_packed(&m, 2, attr, n_attrs);
    if (g->s.n_links && below(100) < g->s.link_percent) put_u64(&m, 3, 1 + below(g->s.n_links));
    uint64_t ticks = 1 + (below(4) ? 0 : below_skewed(40));
    put_varint(&values, ticks * 10000000 + (g->s.jitter ? below(1000000) : 0));
    put_message(&m, 4, &values);
    put_message(&g->samples, 2, &m);
}

/* New stacks are spread over the samples; the other samples repeat a recent or a popular stack. */
static void put_samples(gen *g)
{
    uint32_t path[MAX_DEPTH];
    for (uint32_t i = 0; i < g->s.n_samples; i++) {
        uint32_t missing = g->s.n_stacks - g->stacks.n, seen = g->stacks.n, stack;
        if (!seen || below(g->s.n_samples - i) < missing) {
            size_t depth;
            do depth = walk_graph(g, path);
            while (!set_add(&g->stacks, path, depth * sizeof *path, &stack));
            put_stack(g, path, depth);
        } else {
            uint32_t window = seen < 64 ? seen : 64;
            stack = below(10) < 3 ? seen - 1 - below(window) : below_skewed(seen);
        }
        put_sample(g, stack);
    }
}

static void put_mapping(gen *g, uint64_t start, uint64_t size, const char *file)
{
    static out m;
    put_u64(&m, 1, start);
    put_u64(&m, 2, start + size);
    put_u64(&m, 4, intern(&g->strings, file));
    put_message(&g->mappings, 1, &m);
}

static void put_value_type(gen *g, out *profile, unsigned field, const char *type, const char *unit)
{
    static out m;
    put_u64(&m, 1, intern(&g->strings, type));
    put_u64(&m, 2, intern(&g->strings, unit));
    put_message(profile, field, &m);
}

static void put_resource(out *rp, const char *key, const char *value)
{
    static out m, kv, any;
    put_str(&kv, 1, key);
    put_str(&any, 1, value);
    put_message(&kv, 2, &any);
    put_message(&m, 1, &kv);
    put_message(rp, 1, &m);
}

static void generate(gen *g, out *data)
{
    static out none, profile, scope, resource, dict;
    (void)intern(&g->strings, "");
    put_message(&g->mappings, 1, &none); /* entry 0 of every table is the zero value */
    put_message(&g->locations, 2, &none);
    put_message(&g->functions, 3, &none);
    put_message(&g->links, 4, &none);
    put_message(&g->attributes, 6, &none);
    put_message(&g->stack_table, 7, &none);

    put_value_type(g, &profile, 1, "cpu", "nanoseconds");
    put_mapping(g, 0x400000, 0x2000000, "/usr/bin/acme-server");
    put_mapping(g, 0x7f0000000000, 0x200000, "/usr/lib/x86_64-linux-gnu/libc.so.6");
    put_attributes(g);
    put_links(g);
    build_graph(g);
    put_samples(g);

    put_bytes(&profile, g->samples.p, g->samples.n);
    put_fixed64(&profile, 3, UINT64_C(1700000000000000000));
    put_u64(&profile, 4, UINT64_C(60000000000));
    put_value_type(g, &profile, 5, "cpu", "nanoseconds");
    put_u64(&profile, 6, 10000000);
    put_len(&profile, 7, "\x01\x23\x45\x67\x89\xab\xcd\xef\xfe\xdc\xba\x98\x76\x54\x32\x10", 16);

    static out id;
    put_str(&id, 1, "kiln-bench");
    put_message(&scope, 1, &id);
    put_message(&scope, 2, &profile);
    put_resource(&resource, "service.name", "acme-server");
    put_message(&resource, 2, &scope);
    put_message(data, 1, &resource);

    put_bytes(&dict, g->mappings.p, g->mappings.n);
    put_bytes(&dict, g->locations.p, g->locations.n);
    put_bytes(&dict, g->functions.p, g->functions.n);
    put_bytes(&dict, g->links.p, g->links.n);
    for (uint32_t i = 0; i < g->strings.n; i++) {
        size_t at = set_start(&g->strings, i);
        put_len(&dict, 5, g->strings.bytes.p + at, g->strings.end[i] - at);
    }
    put_bytes(&dict, g->attributes.p, g->attributes.n);
    put_bytes(&dict, g->stack_table.p, g->stack_table.n);
    put_message(data, 2, &dict);
}

static void scale(shape *s, uint32_t by)
{
    uint32_t *const linear[] = {&s->n_samples,   &s->n_stacks,    &s->n_functions,
                                &s->n_roots,     &s->n_sets,      &s->n_values[0],
                                &s->n_values[1], &s->n_values[2], &s->n_links};
    for (size_t i = 0; i < sizeof linear / sizeof *linear; i++) *linear[i] *= by;
}

static int usage(void)
{
    fprintf(
        stderr,
        "usage: gen [--shape wide|deep|ruby|tenth|small] [--scale 1..1000] [--seed N] OUT.otlp\n");
    return 2;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"shape", required_argument, NULL, 's'},
        {"scale", required_argument, NULL, 'x'},
        {"seed", required_argument, NULL, 'r'},
        {0},
    };
    const shape *s = &shapes[0];
    unsigned long by = 1, seed = 42;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 's') {
            s = NULL;
            for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
                if (strcmp(shapes[i].name, optarg) == 0) s = &shapes[i];
        } else if (c == 'x')
            by = strtoul(optarg, NULL, 10);
        else if (c == 'r')
            seed = strtoul(optarg, NULL, 10);
        else
            return usage();
    }
    if (!s || by < 1 || by > 1000 || argc - optind != 1) return usage();

    static gen g;
    static out data;
    g.s = *s;
    scale(&g.s, (uint32_t)by);
    rnd_state = g.seed = seed;
    generate(&g, &data);

    FILE *f = fopen(argv[optind], "wb");
    if (!f || fwrite(data.p, 1, data.n, f) != data.n || fclose(f) != 0) {
        fprintf(stderr, "gen: %s: %s\n", argv[optind], strerror(errno));
        return 3;
    }
    fprintf(stderr,
            "%s x%lu: %zu bytes, %u samples, %u stacks, %.1f frames per stack, "
            "%u locations, %u functions, %u strings\n",
            s->name, by, data.n, g.s.n_samples, g.stacks.n, (double)g.n_frames / g.stacks.n,
            g.n_locations, g.n_functions, g.strings.n);
    return 0;
}
