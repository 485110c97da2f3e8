/* store.c - the cost of the store: bytes per sample, put, compaction and three flame graph queries,
 * compared with the same data as rows in SQLite in the same run.
 *
 *   bench/store [--samples N] [--hours H] [--dir DIR] [--json FILE] [--no-rows] [--keep]
 *
 * The data: 50 services send a profile every five minutes. Observations are a Poisson process in
 * ns, each with a stack that a Zipf law (s = 1) chooses from 100 000 (every service has its own
 * order) and one of 16 threads (thread.id, thread.name); one in a hundred has a link with random
 * ids. Stacks are 16 to 39 frames of 2 760 locations. Every value is one period, as in a CPU
 * profile. There are 20 million samples over 24 hours; --samples 100000000 is the larger run.
 *
 * For rows, there is one INSERT per sample, an index on service and time, and as many syncs as in
 * the store: 16 requests per transaction, WAL, FULL. The ids of their stacks are given; the cost of
 * finding these ids in the same requests, as the store does, is measured separately and added in a
 * second figure. Queries run several times on both sides, and the fastest counts, because the
 * machine may be busy. */
#include "base/hash.h"
#include "measure.h"
#include "model/builder.h"
#include "store/known.h"
#include "store/embedded_options.h"
#include "store/maintenance.h"
#include "wire/otlp.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SERVICES = 50, STACKS = 100000, PLACES = 2760, THREADS = 16, GROUP = 16, WINDOW_S = 300 };
#define BEGIN (UINT64_C(1789000000) / 86400 * 86400 * NS_PER_S)
#define VALUE INT64_C(10101010)

/* ---- the data ---- */

typedef struct data {
    uint64_t n_samples, hours;
    double mean_ns;     /* mean time between observations of a service */
    double *cumulative; /* cumulative distribution of the Zipf law */
    uint64_t s;
    uint64_t next[SERVICES]; /* time of the next observation */
} data;

static uint64_t rnd(data *d) { return d->s = hash_mix(d->s, 0x5851f42d4c957f2d); }
static double unit(data *d) { return ((double)(rnd(d) >> 11) + 0.5) / 9007199254740992.0; }

static uint32_t zipf(data *d)
{
    double u = unit(d) * d->cumulative[STACKS - 1];
    size_t low = 0, high = STACKS - 1;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (d->cumulative[mid] < u)
            low = mid + 1;
        else
            high = mid;
    }
    return (uint32_t)low;
}

static void data_init(data *d, uint64_t n, uint64_t hours)
{
    *d = (data){.n_samples = n, .hours = hours, .s = 42};
    d->mean_ns = (double)hours * 3600e9 * SERVICES / (double)n;
    d->cumulative = malloc(STACKS * sizeof *d->cumulative);
    double sum = 0;
    for (size_t i = 0; i < STACKS; i++) d->cumulative[i] = sum += 1.0 / (double)(i + 1);
    for (size_t i = 0; i < SERVICES; i++) d->next[i] = BEGIN;
}

/* Returns the lower bound of bytes per sample: the entropy of an exponential interval, of the Zipf
 * law, of a thread and of links. */
static double entropy_bytes(const data *d)
{
    double stack = 0, total = d->cumulative[STACKS - 1];
    for (size_t i = 0; i < STACKS; i++) {
        double p = 1.0 / (double)(i + 1) / total;
        stack -= p * log2(p);
    }
    double time = log2(exp(1) * d->mean_ns), thread = log2(THREADS), link = 0.01 * 192 + 0.0808;
    return (time + stack + thread + link) / 8;
}

typedef struct row {
    uint64_t time;
    uint32_t stack;
    uint8_t thread;
    bool linked;
    link_ids link;
} row;

/* Generates the observations of a service before `end`; returns their number. */
static size_t rows_of(data *d, size_t service, uint64_t end, row *v, size_t max)
{
    size_t n = 0;
    for (; d->next[service] < end && n < max; n++) {
        v[n] = (row){.time = d->next[service], .thread = (uint8_t)(rnd(d) % THREADS)};
        v[n].stack = (uint32_t)((zipf(d) * UINT64_C(7919) + service * 104729) % STACKS);
        if (rnd(d) % 100 == 0) {
            v[n].linked = true;
            for (size_t i = 0; i < 3; i++)
                memcpy((char *)&v[n].link + 8 * i, &(uint64_t){rnd(d)}, 8);
        }
        d->next[service] += 1 + (uint64_t)(-log(unit(d)) * d->mean_ns);
    }
    return n;
}

/* Generates the frames of a stack, leaf first: eleven levels of a tree with three branches each, at
 * most 200 locations per level, and below them 5 to 28 frames of one of 20 libraries. A request has
 * about a thousand locations, as real ones do. */
static size_t places_of(uint32_t stack, uint32_t *out)
{
    size_t depth = 11 + 5 + hash_mix(7, stack) % 24, library = hash_mix(9, stack) % 20;
    uint32_t group = stack;
    for (size_t level = 11; level-- > 0; group /= 3)
        out[depth - 1 - level] = (uint32_t)(level * 200 + hash_mix(level, group) % 200);
    for (size_t level = 11; level < depth; level++)
        out[depth - 1 - level] = (uint32_t)(2200 + library * 28 + (level - 11));
    return depth;
}

static uint32_t location_of(builder *b, uint32_t place)
{
    char name[64], file[64];
    int n = snprintf(name, sizeof name, "module%u::Component%u::operation_%u", place % 40,
                     place % 900, place);
    int f = snprintf(file, sizeof file, "/src/module%u/component%u.cc", place % 40, place % 900);
    function x = {.name = builder_string(b, (str){name, (size_t)n}),
                  .filename = builder_string(b, (str){file, (size_t)f}),
                  .start_line = place % 1000};
    line l = {.function = builder_function(b, &x), .line = place % 1000 + 7};
    return builder_location(b, 0, 0x400000 + place * 64, &l, 1, NULL, 0);
}

typedef struct maker {
    arena a;
    uint32_t location[PLACES]; /* + 1 */
    uint32_t stack[STACKS];    /* + 1 */
    buf bytes;
    model m;
} maker;

static void make(maker *k, size_t service, uint64_t start, const row *v, size_t n)
{
    builder b;
    err e = {0};
    char name[32];
    uint32_t attrs[THREADS][2], places[64], locations[64];
    arena_reset(&k->a);
    memset(k->location, 0, sizeof k->location);
    memset(k->stack, 0, sizeof k->stack);
    if (!builder_init(&b, &k->a)) abort();
    int l = snprintf(name, sizeof name, "service-%02zu", service);
    keyvalue kv[] = {
        {.key = STR("service.name"), .value = {.kind = ANY_STRING, .n = (uint32_t)l, .s = name}},
        {.key = STR("service.version"), .value = {.kind = ANY_STRING, .n = 5, .s = "1.2.3"}}};
    builder_resource(&b, &(resource){.attrs = {kv, 2}, .present = true});
    builder_scope(&b, &(scope){.name = STR("bench"), .version = STR("1"), .present = true});
    value_type type = {builder_string(&b, STR("cpu")), builder_string(&b, STR("nanoseconds"))};
    profile *p = builder_profile(&b);
    p->sample_type = p->period_type = type;
    p->has_sample_type = true;
    p->period = VALUE;
    p->time_unix_nano = start;
    p->duration_nano = WINDOW_S * NS_PER_S;
    uint64_t id[2] = {hash_mix(service, start), hash_mix(start, service)};
    memcpy(p->profile_id, id, 16);
    for (unsigned t = 0; t < THREADS; t++) {
        char thread[16];
        int m = snprintf(thread, sizeof thread, "worker-%u", t);
        attrs[t][0] = builder_attribute_int(&b, STR("thread.id"), 1000 + t);
        attrs[t][1] = builder_attribute_str(&b, STR("thread.name"), (str){thread, (size_t)m});
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t *s = &k->stack[v[i].stack];
        if (!*s) {
            size_t depth = places_of(v[i].stack, places);
            for (size_t j = 0; j < depth; j++) {
                uint32_t *x = &k->location[places[j]];
                if (!*x) *x = location_of(&b, places[j]) + 1;
                locations[j] = *x - 1;
            }
            *s = builder_stack(&b, locations, depth) + 1;
        }
        uint32_t link = v[i].linked ? builder_link(&b, v[i].link.trace_id, v[i].link.span_id) : 0;
        builder_sample(&b, &(sample){.stack = *s - 1,
                                     .link = link,
                                     .attrs = attrs[v[i].thread],
                                     .n_attrs = 2,
                                     .values = &(int64_t){VALUE},
                                     .n_values = 1,
                                     .times = &v[i].time,
                                     .n_times = 1});
    }
    buf_reset(&k->bytes);
    if (!builder_finish(&b, &k->m, &e) || !otlp_encode(&k->m, NULL, &k->bytes, &e)) abort();
}

/* ---- measuring ---- */

static uint64_t tree_bytes(const char *dir)
{
    uint64_t n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *f; d && (f = readdir(d));) {
        char path[4096];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", dir, f->d_name);
        if (stat(path, &st) == 0 && S_ISREG(st.st_mode)) n += (uint64_t)st.st_size;
    }
    if (d) closedir(d);
    return n;
}

static void clear(const char *dir)
{
    DIR *d = opendir(dir);
    for (struct dirent *f; d && (f = readdir(d));) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", dir, f->d_name);
        if (f->d_name[0] != '.') unlink(path);
    }
    if (d) closedir(d);
    rmdir(dir);
}

static size_t peak_rss(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (size_t)u.ru_maxrss * 1024;
}

typedef struct clock_world {
    world w;
    uint64_t wall;
} clock_world;

static uint64_t given_wall(void *ctx) { return ((clock_world *)ctx)->wall; }
static uint64_t real_now(void *ctx)
{
    (void)ctx;
    return (uint64_t)(wall_seconds() * 1e9);
}

typedef struct query {
    const char *name;
    int service; /* 7, or -1: all */
    uint64_t hours;
    double kiln_ms, rows_ms;
    uint64_t n_stacks, n_rows; /* in the results */
    int64_t sum, rows_sum;
} query;

typedef struct results {
    uint64_t samples, requests, otlp_bytes, store_bytes, rows_bytes;
    double put_s, compact_s, rows_s, number_s, entropy;
    size_t peak;
} results;

/* Compaction of a backlog: CPU time per sample, of all threads, and samples per second of wall
 * time. */
typedef struct behind {
    unsigned threads;
    double ns, rate;
} behind;

static void fail(const char *what, const err *e)
{
    char text[512];
    fprintf(stderr, "store: %s: %s\n", what, e ? err_text(e, text, sizeof text) : "");
    exit(3);
}

/* ---- kiln ---- */

static void on_log(void *ctx, store_event what, const char *text)
{
    (void)ctx;
    if (what) fprintf(stderr, "%s\n", text);
}

static store *open_store(const char *dir, clock_world *w, unsigned threads)
{
    err e = {0};
    store *s = embedded_open(dir,
                             &(embedded_opts){.no_threads = true,
                                              .threads = threads,
                                              .store.world = &w->w,
                                              .store.log = on_log,
                                              .store.max_bytes = UINT64_MAX},
                             &e);
    if (!s) fail("open", &e);
    return s;
}

/* compact: the store compacts during the puts, and the rest at the end. */
static void fill(store *s, data *d, clock_world *w, results *r, bool compact)
{
    maker *k = calloc(1, sizeof *k);
    size_t max = 1 << 22, waiting = 0;
    row *v = malloc(max * sizeof *v);
    err e = {0};
    bool more;
    for (uint64_t at = 0; at < d->hours * 3600; at += WINDOW_S)
        for (size_t i = 0; i < SERVICES; i++) {
            uint64_t start = BEGIN + at * NS_PER_S, end = start + WINDOW_S * NS_PER_S;
            size_t n = rows_of(d, i, end, v, max);
            if (!n) continue;
            make(k, i, start, v, n);
            w->wall = end;
            double t = cpu_seconds();
            store_item item = {.bytes = buf_view(&k->bytes),
                               .layout = LAYOUT_CURRENT,
                               .model = &k->m,
                               .n_bytes = k->bytes.n,
                               .sender = STR("127.0.0.1 bench"),
                               .recognised = STR("otlp 1.10")};
            if (!store_put(s, &item, &e)) fail("put", &e);
            if (++waiting == GROUP && !(waiting = 0, store_commit(s, &e))) fail("commit", &e);
            double u = cpu_seconds();
            r->put_s += u - t;
            more = compact;
            while (more)
                if (!embedded_work(s, &more, &e)) fail("compaction", &e);
            r->compact_s += cpu_seconds() - u;
            r->samples += n;
            r->requests++;
            r->otlp_bytes += k->bytes.n;
        }
    double t = cpu_seconds();
    if (!(compact ? store_compact(s, &e) : store_commit(s, &e))) fail("compaction", &e);
    r->compact_s += cpu_seconds() - t;
    free(v);
    arena_free(&k->a);
    buf_free(&k->bytes);
    free(k);
}

/* Measures compaction with a backlog: all requests are in the journal when it begins. */
static behind catch_up(const char *dir, uint64_t samples, uint64_t hours, unsigned threads)
{
    char path[4096];
    err e = {0};
    data d;
    results r = {0};
    clock_world w = {.w = *world_system(), .wall = BEGIN};
    w.w.ctx = &w;
    w.w.wall = given_wall;
    w.w.now = real_now;
    snprintf(path, sizeof path, "%s-behind", dir);
    clear(path);
    data_init(&d, samples, hours);
    store *s = open_store(path, &w, threads);
    fill(s, &d, &w, &r, false);
    double wall = wall_seconds(), cpu = cpu_seconds();
    if (!store_compact(s, &e)) fail("compaction", &e);
    behind b = {.threads = threads,
                .ns = (cpu_seconds() - cpu) / (double)r.samples * 1e9,
                .rate = (double)r.samples / (wall_seconds() - wall)};
    store_close(s);
    clear(path);
    free(d.cumulative);
    return b;
}

static void ask(store *s, query *q, size_t rounds)
{
    arena a = {0};
    q->kiln_ms = INFINITY;
    for (size_t i = 0; i < rounds; i++) {
        err e = {0};
        char text[64];
        store_selector x;
        model m;
        store_read_result result;
        double t = cpu_seconds();
        snprintf(text, sizeof text, q->service < 0 ? "cpu" : "cpu{service.name=\"service-%02d\"}",
                 q->service);
        if (!store_selector_parse(str_of(text), &a, &x, &e)) fail("selector", &e);
        x.start = BEGIN;
        if (q->hours == 1) x.start += 3600 * NS_PER_S / 2 + 17 * NS_PER_S;
        x.end = x.start + q->hours * 3600 * NS_PER_S;
        if (!store_read_sums(store_own_reader(s), &x, NULL, &a, &m, &result, &e))
            fail("question", &e);
        q->kiln_ms = fmin(q->kiln_ms, (cpu_seconds() - t) * 1e3);
        q->n_stacks = m.values.n;
        q->n_rows = result.n_samples;
        q->sum = 0;
        for (size_t k = 0; k < m.values.n; k++) q->sum += m.values.v[k];
        arena_reset(&a);
    }
    arena_free(&a);
}

/* ---- rows ---- */

static void sql(sqlite3 *db, const char *text)
{
    char *why = NULL;
    if (sqlite3_exec(db, text, NULL, NULL, &why) != SQLITE_OK) {
        fprintf(stderr, "store: rows: %s: %s\n", text, why);
        exit(3);
    }
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *text)
{
    sqlite3_stmt *s;
    if (sqlite3_prepare_v2(db, text, -1, &s, NULL) != SQLITE_OK) {
        fprintf(stderr, "store: rows: %s: %s\n", text, sqlite3_errmsg(db));
        exit(3);
    }
    return s;
}

/* State of the search for the ids of stacks, which rows would need. */
typedef struct numbering {
    arena a, item;
    builder b;
    known k;
    uint64_t sum; /* keeps the work from being optimized away */
} numbering;

static void number(numbering *n, const model *m, results *r)
{
    double t = cpu_seconds();
    arena_reset(&n->item);
    if (!n->b.a && !builder_init(&n->b, &n->a)) abort();
    const known_hashes *h = known_hash(n->k.seed, m, &n->item);
    if (!h || !known_begin(&n->k, &n->b, m, h, &n->item)) abort();
    const profile *p = &m->profiles.v[0];
    for (size_t i = 0; i < p->n_samples; i++) n->sum += known_stack(&n->k, p->stack[i]);
    r->number_s += cpu_seconds() - t;
}

static void fill_rows(sqlite3 *db, data *d, results *r)
{
    numbering numbers = {0};
    maker *m = calloc(1, sizeof *m);
    sql(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -65536;"
            "CREATE TABLE sample(service INTEGER, time INTEGER, stack INTEGER, thread INTEGER, "
            "link INTEGER, value INTEGER);"
            "CREATE INDEX by_service ON sample(service, time);"
            "CREATE TABLE stack(id INTEGER PRIMARY KEY, frames BLOB);"
            "CREATE TABLE link(id INTEGER PRIMARY KEY, trace BLOB, span BLOB);");
    sqlite3_stmt *put = prepare(db, "INSERT INTO sample VALUES(?, ?, ?, ?, ?, ?)"),
                 *put_stack = prepare(db, "INSERT INTO stack VALUES(?, ?)"),
                 *put_link = prepare(db, "INSERT INTO link(trace, span) VALUES(?, ?)");
    bool *seen = calloc(STACKS, sizeof *seen);
    size_t max = 1 << 22, waiting = 0;
    row *v = malloc(max * sizeof *v);
    sql(db, "BEGIN");
    for (uint64_t at = 0; at < d->hours * 3600; at += WINDOW_S)
        for (size_t i = 0; i < SERVICES; i++) {
            size_t n = rows_of(d, i, BEGIN + (at + WINDOW_S) * NS_PER_S, v, max);
            make(m, i, BEGIN + at * NS_PER_S, v, n);
            number(&numbers, &m->m, r);
            double t = cpu_seconds();
            for (size_t k = 0; k < n; k++) {
                if (!seen[v[k].stack]) {
                    uint32_t places[64];
                    size_t depth = places_of(v[k].stack, places);
                    sqlite3_bind_int64(put_stack, 1, v[k].stack);
                    sqlite3_bind_blob(put_stack, 2, places, (int)(depth * 4), SQLITE_TRANSIENT);
                    sqlite3_step(put_stack);
                    sqlite3_reset(put_stack);
                    seen[v[k].stack] = true;
                }
                sqlite3_int64 link = 0;
                if (v[k].linked) {
                    sqlite3_bind_blob(put_link, 1, v[k].link.trace_id, 16, SQLITE_STATIC);
                    sqlite3_bind_blob(put_link, 2, v[k].link.span_id, 8, SQLITE_STATIC);
                    sqlite3_step(put_link);
                    sqlite3_reset(put_link);
                    link = sqlite3_last_insert_rowid(db);
                }
                sqlite3_bind_int64(put, 1, (sqlite3_int64)i);
                sqlite3_bind_int64(put, 2, (sqlite3_int64)v[k].time);
                sqlite3_bind_int64(put, 3, v[k].stack);
                sqlite3_bind_int64(put, 4, v[k].thread);
                sqlite3_bind_int64(put, 5, link);
                sqlite3_bind_int64(put, 6, VALUE);
                if (sqlite3_step(put) != SQLITE_DONE) fail(sqlite3_errmsg(db), NULL);
                sqlite3_reset(put);
            }
            if (++waiting == GROUP) waiting = 0, sql(db, "COMMIT; BEGIN");
            r->rows_s += cpu_seconds() - t;
        }
    double t = cpu_seconds();
    sql(db, "COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
    r->rows_s += cpu_seconds() - t;
    sqlite3_finalize(put);
    sqlite3_finalize(put_stack);
    sqlite3_finalize(put_link);
    free(seen);
    free(v);
    known_free(&numbers.k);
    arena_free(&numbers.a);
    arena_free(&numbers.item);
    arena_free(&m->a);
    buf_free(&m->bytes);
    free(m);
}

static void ask_rows(sqlite3 *db, query *q, size_t rounds)
{
    char text[512];
    uint64_t start = BEGIN;
    if (q->hours == 1) start += 3600 * NS_PER_S / 2 + 17 * NS_PER_S;
    snprintf(text, sizeof text,
             "SELECT s.frames, t.v FROM (SELECT stack, SUM(value) AS v FROM sample WHERE %s time "
             ">= %" PRIu64 " AND time < %" PRIu64
             " GROUP BY stack) t JOIN stack s ON s.id = t.stack",
             q->service < 0 ? "" : "service = 7 AND", start, start + q->hours * 3600 * NS_PER_S);
    q->rows_ms = INFINITY;
    for (size_t i = 0; i < rounds; i++) {
        double t = cpu_seconds();
        sqlite3_stmt *s = prepare(db, text);
        q->rows_sum = 0;
        while (sqlite3_step(s) == SQLITE_ROW) {
            if (!sqlite3_column_blob(s, 0)) abort();
            q->rows_sum += sqlite3_column_int64(s, 1);
        }
        sqlite3_finalize(s);
        q->rows_ms = fmin(q->rows_ms, (cpu_seconds() - t) * 1e3);
    }
}

/* ---- the report ---- */

static void print_behind(const behind *b, FILE *json)
{
    for (size_t i = 0; i < 2; i++) {
        printf("  behind, %2u threads %8.0f ns CPU per sample, %.0f k samples per second of wall "
               "time\n",
               b[i].threads, b[i].ns, b[i].rate / 1e3);
        if (json)
            fprintf(json,
                    "%s{\"threads\": %u, \"compact_ns_per_sample\": %.1f, \"samples_per_s\": "
                    "%.0f}%s",
                    i ? ", " : "\"behind\": [", b[i].threads, b[i].ns, b[i].rate, i ? "], " : "");
    }
}

static void print(const results *r, const behind *b, const query *q, size_t n, bool rows,
                  FILE *json)
{
    double per = (double)r->store_bytes / (double)r->samples,
           rate = (double)r->samples / (r->put_s + r->compact_s);
    printf("store: %" PRIu64 " samples in %" PRIu64 " requests of %.1f KB\n", r->samples,
           r->requests, (double)r->otlp_bytes / 1e3 / (double)r->requests);
    printf("  bytes per sample   %8.2f   (at most 8; entropy of the data %.2f%s", per, r->entropy,
           rows ? "" : ")\n");
    if (rows) printf("; rows %.1f)\n", (double)r->rows_bytes / (double)r->samples);
    printf("  acknowledge        %8.2f us CPU per request, %.0f ns per sample\n",
           r->put_s / (double)r->requests * 1e6, r->put_s / (double)r->samples * 1e9);
    printf("  compact            %8.0f ns CPU per sample\n",
           r->compact_s / (double)r->samples * 1e9);
    printf("  samples per second %8.0f k", rate / 1e3);
    if (rows)
        printf("   rows %.0f k: %.1fx (at least 5x); rows from the same requests %.0f k: %.1fx",
               (double)r->samples / r->rows_s / 1e3, rate * r->rows_s / (double)r->samples,
               (double)r->samples / (r->rows_s + r->number_s) / 1e3,
               rate * (r->rows_s + r->number_s) / (double)r->samples);
    printf("\n  peak memory        %8.0f MB\n", (double)r->peak / 1e6);
    for (size_t i = 0; i < n; i++) {
        printf("  %-18s %8.2f ms  %" PRIu64 " samples, %" PRIu64 " stacks", q[i].name, q[i].kiln_ms,
               q[i].n_rows, q[i].n_stacks);
        if (rows)
            printf("; rows %.1f ms: %.1fx%s", q[i].rows_ms, q[i].rows_ms / q[i].kiln_ms,
                   q[i].sum == q[i].rows_sum ? "" : "  SUMS DIFFER");
        printf("\n");
    }
    if (!json) {
        print_behind(b, NULL);
        return;
    }
    fprintf(
        json,
        "{\"samples\": %" PRIu64 ", \"requests\": %" PRIu64
        ", \"bytes_per_sample\": %.3f, \"entropy_bytes\": %.3f, \"rows_bytes_per_sample\": %.2f, ",
        r->samples, r->requests, per, r->entropy, (double)r->rows_bytes / (double)r->samples);
    fprintf(json,
            "\"put_us_per_request\": %.2f, \"compact_ns_per_sample\": %.1f, \"samples_per_s\": "
            "%.0f, \"rows_per_s\": %.0f, \"rows_from_requests_per_s\": %.0f, \"peak_bytes\": %zu, ",
            r->put_s / (double)r->requests * 1e6, r->compact_s / (double)r->samples * 1e9, rate,
            rows ? (double)r->samples / r->rows_s : 0,
            rows ? (double)r->samples / (r->rows_s + r->number_s) : 0, r->peak);
    print_behind(b, json);
    fprintf(json, "\"questions\": {");
    for (size_t i = 0; i < n; i++)
        fprintf(json, "%s\"%s\": {\"kiln_ms\": %.3f, \"rows_ms\": %.3f}", i ? ", " : "", q[i].name,
                q[i].kiln_ms, q[i].rows_ms);
    fprintf(json, "}}\n");
}

int main(int argc, char **argv)
{
    uint64_t samples = 20000000, hours = 24;
    const char *dir = "/tmp/kiln-bench-store", *json = NULL;
    bool rows = true, keep = false;
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (more && !strcmp(argv[i], "--samples"))
            samples = strtoull(argv[++i], NULL, 10);
        else if (more && !strcmp(argv[i], "--hours"))
            hours = strtoull(argv[++i], NULL, 10);
        else if (more && !strcmp(argv[i], "--dir"))
            dir = argv[++i];
        else if (more && !strcmp(argv[i], "--json"))
            json = argv[++i];
        else if (!strcmp(argv[i], "--no-rows"))
            rows = false;
        else if (!strcmp(argv[i], "--keep"))
            keep = true;
        else
            return fprintf(stderr, "usage: store [--samples N] [--hours H] [--dir DIR] [--json "
                                   "FILE] [--no-rows] [--keep]\n"),
                   2;
    }
    query q[] = {{.name = "service, 1 h", .service = 7, .hours = 1},
                 {.name = "service, all", .service = 7, .hours = hours},
                 {.name = "everything", .service = -1, .hours = hours}};
    results r = {0};
    clock_world w = {.w = *world_system(), .wall = BEGIN};
    w.w.ctx = &w;
    w.w.wall = given_wall;
    w.w.now = real_now;
    data d;
    data_init(&d, samples, hours);
    r.entropy = entropy_bytes(&d);
    clear(dir);
    store *s = open_store(dir, &w, 1);
    fill(s, &d, &w, &r, true);
    store_close(s);
    r.store_bytes = tree_bytes(dir);
    s = open_store(dir, &w, 1);
    for (size_t i = 0; i < 3; i++) ask(s, &q[i], i == 0 ? 200 : i == 1 ? 40 : 7);
    store_close(s);
    r.peak = peak_rss();
    free(d.cumulative);
    if (!keep) clear(dir);
    if (rows) {
        char path[4096];
        sqlite3 *db;
        snprintf(path, sizeof path, "%s-rows.db", dir);
        unlink(path);
        data_init(&d, samples, hours);
        if (sqlite3_open(path, &db) != SQLITE_OK) fail(path, NULL);
        fill_rows(db, &d, &r);
        for (size_t i = 0; i < 3; i++) ask_rows(db, &q[i], i == 0 ? 50 : i == 1 ? 9 : 2);
        sqlite3_close(db);
        struct stat st;
        if (stat(path, &st) == 0) r.rows_bytes = (uint64_t)st.st_size;
        unlink(path);
        free(d.cumulative);
    }
    /* As many samples per request, a tenth of the time, and at least two threads. */
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t part = hours >= 10 ? 10 : 1;
    behind b[2];
    for (size_t i = 0; i < 2; i++)
        b[i] = catch_up(dir, samples / hours * (hours / part), hours / part,
                        !i          ? 1
                        : cores > 1 ? (unsigned)cores
                                    : 2);
    FILE *out = json ? fopen(json, "w") : NULL;
    print(&r, b, q, 3, rows, out);
    if (out) fclose(out);
    bool good = (double)r.store_bytes <= 8 * (double)r.samples;
    if (rows) good &= r.rows_s >= 5 * (r.put_s + r.compact_s);
    for (size_t i = 0; rows && i < 3; i++)
        good &= q[i].rows_ms >= 10 * q[i].kiln_ms && q[i].sum == q[i].rows_sum;
    return good ? 0 : 4;
}
