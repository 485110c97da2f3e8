/* A burst at full speed into a store with history: acknowledged items are stored, history is
 * removed only as far as the limit requires, and the disk usage stays within its bound.
 *
 *   store_burst [--seconds S] [--max-store BYTES] [--dir DIR]     (2 s, 24 MiB, own directory)
 *
 * History fills half of the limit: one file of an earlier day with incompressible payloads, and
 * copies of it under the names of the days before. Then one thread puts requests of 1400 samples as
 * fast as the store accepts them, and retries rejected ones. The disk usage is sampled every 10 ms.
 * By hand: --seconds 60 with 100, 600 and 10240 MiB. */
#include "base/err.h"

#include "base/words.h"
#include "model/builder.h"
#include "store/embedded_options.h"
#include "store/maintenance.h"
#include "wire/otlp.h"

#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLES = 1400, STACKS = 600, DEPTH = 28, FUNCTIONS = 2000, VARIANTS = 16, COPIES = 4 };
#define DAY_NS (UINT64_C(86400) * NS_PER_S)
static const char mark[16] = "kiln-burst-id-00";

static uint64_t seed = 1;
static uint64_t chance(uint64_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % n;
}

static void die(const char *what, const err *e)
{
    printf("not ok 1 - %s: %s\n", what, e ? e->msg : "");
    exit(1);
}

static uint64_t mono(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* ---- requests ---- */

static profile *new_profile(builder *b, size_t variant, uint64_t time)
{
    char name[32];
    int n = snprintf(name, sizeof name, "shop-%zu", variant);
    keyvalue kv = {.key = STR("service.name"),
                   .value = {.kind = ANY_STRING, .n = (uint32_t)n, .s = name}};
    builder_resource(b, &(resource){.attrs = {&kv, 1}, .present = true});
    builder_scope(b, NULL);
    value_type type = {builder_string(b, STR("cpu")), builder_string(b, STR("nanoseconds"))};
    profile *p = builder_profile(b);
    p->sample_type = type;
    p->has_sample_type = true;
    p->time_unix_nano = time;
    p->duration_nano = 10 * NS_PER_S;
    memcpy(p->profile_id, mark, 16);
    return p;
}

static void add_samples(builder *b, uint64_t time)
{
    uint32_t at[FUNCTIONS], stack[STACKS];
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        char name[64];
        int n = snprintf(name, sizeof name, "shop/internal/cache.(*Component%u).operation%05u",
                         i % 97, i);
        function f = {.name = builder_string(b, (str){name, (size_t)n})};
        line l = {.function = builder_function(b, &f), .line = i % 700};
        at[i] = builder_location(b, 0, 0x400000 + i * 64, &l, 1, NULL, 0);
    }
    for (size_t i = 0; i < STACKS; i++) {
        uint32_t frames[DEPTH];
        for (size_t k = 0; k < DEPTH; k++) frames[k] = at[chance(k < 8 ? FUNCTIONS : 20 * (k + 1))];
        stack[i] = builder_stack(b, frames, DEPTH);
    }
    for (size_t i = 0; i < SAMPLES; i++) {
        time += chance(10 * NS_PER_S / SAMPLES * 2);
        builder_sample(b, &(sample){.stack = stack[chance(STACKS)],
                                    .values = &(int64_t){10101010},
                                    .n_values = 1,
                                    .times = &time,
                                    .n_times = 1});
    }
}

typedef struct request {
    buf bytes;
    size_t id_at;
} request;

static void make_request(request *r, size_t variant, uint64_t time)
{
    arena a = {0};
    builder b;
    model m;
    err e = {0};
    if (!builder_init(&b, &a)) die("memory", NULL);
    (void)new_profile(&b, variant, time);
    add_samples(&b, time);
    if (!builder_finish(&b, &m, &e) ||
        !otlp_encode(&m, &(otlp_encode_opts){.layout = LAYOUT_CURRENT}, &r->bytes, &e))
        die("encode", &e);
    const char *found = memmem(r->bytes.p, r->bytes.n, mark, sizeof mark);
    if (!found) die("the id is not in the message", NULL);
    r->id_at = (size_t)(found - r->bytes.p);
    arena_free(&a);
}

/* ---- the directory ---- */

typedef struct usage {
    uint64_t bytes, burst_samples, history_samples, history_files, day_bytes;
} usage;

static uint64_t disk(const char *dir)
{
    DIR *d = opendir(dir);
    uint64_t n = 0;
    for (struct dirent *f; d && (f = readdir(d));) {
        struct stat st;
        if (fstatat(dirfd(d), f->d_name, &st, 0) != 0 || !S_ISREG(st.st_mode)) continue;
        uint64_t blocks = (uint64_t)st.st_blocks * 512, size = (uint64_t)st.st_size;
        n += blocks > size ? blocks : size;
    }
    if (d) closedir(d);
    return n;
}

static usage measure(store *s, const char *dir, const char *today)
{
    arena a = {0};
    store_stats x;
    err e = {0};
    usage u = {.bytes = disk(dir)};
    if (!store_get_stats(store_own_reader(s), &a, &x, &e)) die("stats", &e);
    for (size_t i = 0; i < x.files.n; i++) {
        const store_file *f = &x.files.v[i];
        bool burst = strncmp(f->name.p, today, 10) >= 0;
        u.day_bytes += f->bytes;
        u.history_files += !burst;
        *(burst ? &u.burst_samples : &u.history_samples) += f->n_samples;
    }
    arena_free(&a);
    return u;
}

static void day_text(uint64_t wall, char out[16])
{
    time_t t = (time_t)(wall / NS_PER_S);
    struct tm tm;
    gmtime_r(&t, &tm);
    strftime(out, 16, "%Y-%m-%d", &tm);
}

static void copy_file(const char *from, const char *to)
{
    char command[2200];
    snprintf(command, sizeof command, "cp --reflink=auto '%s' '%s'", from, to);
    if (system(command) != 0) die("cp", NULL);
}

/* ---- history ---- */

static uint64_t past_wall;
static uint64_t past(void *ctx) { return (void)ctx, past_wall; }

static void fill_history(const char *dir, uint64_t bytes, uint64_t now)
{
    enum { PAYLOAD = 1 << 20 };
    world w = *world_system();
    w.wall = past;
    past_wall = now - 2 * DAY_NS;
    err e = {0};
    embedded_opts o = {.store.max_age = UINT64_MAX,
                       .store.max_bytes = UINT64_MAX,
                       .store.max_backlog = UINT64_MAX,
                       .store.world = &w,
                       .no_sync = true,
                       .no_threads = true};
    store *s = embedded_open(dir, &o, &e);
    char *payload = malloc(PAYLOAD), from[1100], to[1100], day[16];
    if (!s || !payload) die("open", &e);
    bool more;
    size_t n = bytes / COPIES < PAYLOAD ? (size_t)(bytes / COPIES) : PAYLOAD;
    for (uint64_t done = 0; done < bytes / COPIES; done += n) {
        arena a = {0};
        builder b;
        model m;
        if (!builder_init(&b, &a)) die("memory", NULL);
        profile *p = new_profile(&b, 99, past_wall + done);
        for (size_t i = 0; i < n / 8; i++)
            memcpy(payload + 8 * i, &(uint64_t){chance(UINT32_MAX) << 32 | chance(UINT32_MAX)}, 8);
        p->original_payload = (str){payload, n};
        memcpy(p->profile_id, &(uint64_t[2]){done + 1, 7}, 16);
        uint64_t was = seed;
        seed = 7; /* the same stacks, so that all payloads fit one file */
        add_samples(&b, past_wall);
        seed = was;
        if (!builder_finish(&b, &m, &e) || !store_put(s, &(store_item){.model = &m}, &e) ||
            !store_commit(s, &e) || !embedded_work(s, &more, &e))
            die("history", &e);
        arena_free(&a);
    }
    if (!store_compact(s, &e)) die("history", &e);
    store_close(s);
    free(payload);
    day_text(past_wall, day);
    snprintf(from, sizeof from, "%s/%s.0.db", dir, day);
    for (uint64_t i = 1; i < COPIES; i++) {
        day_text(past_wall - i * DAY_NS, day);
        snprintf(to, sizeof to, "%s/%s.0.db", dir, day);
        copy_file(from, to);
    }
}

/* ---- the burst ---- */

typedef struct watch {
    const char *dir;
    _Atomic uint64_t most;
    _Atomic bool over;
} watch;

static void *watch_disk(void *ctx)
{
    watch *w = ctx;
    while (!w->over) {
        uint64_t n = disk(w->dir);
        if (n > w->most) w->most = n;
        usleep(10000);
    }
    return NULL;
}

static _Atomic uint64_t acknowledged, refused;

static void on_done(void *cookie, const store_put_result *r)
{
    (void)cookie;
    if (r->refused)
        refused++;
    else
        acknowledged += r->n_stored;
}

typedef struct outcome {
    uint64_t put, rejected;
    char why[2][160]; /* the first rejection for the backlog, and for young data */
} outcome;

static void put_all(store *s, request *v, uint64_t seconds, outcome *o)
{
    uint64_t end = mono() + seconds * NS_PER_S, last = end + 60 * NS_PER_S, now;
    uint64_t id[2] = {mono(), 0};
    /* On a busy machine the burst continues until something was rejected. */
    while ((now = mono()) < end || (!o->rejected && now < last)) {
        request *r = &v[id[1] % VARIANTS];
        memcpy(r->bytes.p + r->id_at, id, sizeof id);
        err e = {0};
        store_item i = {.bytes = buf_view(&r->bytes),
                        .layout = LAYOUT_CURRENT,
                        .done = on_done,
                        .n_bytes = r->bytes.n};
        if (store_put(s, &i, &e)) {
            o->put++;
            id[1]++;
            continue;
        }
        if (!err_exhausted(&e)) die("put", &e);
        o->rejected++;
        char *why = o->why[strstr(e.msg, "min-age") != NULL];
        if (!*why) snprintf(why, sizeof o->why[0], "%.*s", (int)sizeof o->why[0] - 1, e.msg);
        usleep(1000);
    }
}

static void need(bool ok, size_t *n, const char *what)
{
    printf("%s %zu - %s\n", ok ? "ok" : "not ok", ++*n, what);
}

static void report(const usage *before, const usage *after, const outcome *o, const watch *w,
                   uint64_t max, uint64_t bound, uint64_t seconds)
{
    double mib = 1 << 20;
    printf("# limit %.0f MiB, backlog %.1f MiB, %" PRIu64 " s\n", (double)max / mib,
           (double)bound / mib, seconds);
    printf("# history: %" PRIu64 " samples in %" PRIu64 " files before, %" PRIu64 " in %" PRIu64
           " after\n",
           before->history_samples, before->history_files, after->history_samples,
           after->history_files);
    printf("# burst: %" PRIu64 " requests acknowledged (%" PRIu64 " samples), %" PRIu64
           " samples stored, %" PRIu64 " puts rejected\n",
           (uint64_t)acknowledged, (uint64_t)acknowledged * SAMPLES, after->burst_samples,
           o->rejected);
    printf("# disk: %.1f MiB before, %.1f MiB at most, %.1f MiB after\n",
           (double)before->bytes / mib, (double)w->most / mib, (double)after->bytes / mib);
    for (size_t i = 0; i < 2; i++)
        if (*o->why[i]) printf("# rejected: %s\n", o->why[i]);
}

static int burst(const char *dir, uint64_t max, uint64_t seconds)
{
    uint64_t now = world_system()->wall(NULL);
    char today[16];
    err e = {0};
    outcome o = {0};
    request *v = calloc(VARIANTS, sizeof *v);
    day_text(now, today);
    for (size_t i = 0; i < VARIANTS; i++) make_request(&v[i], i, now);
    fill_history(dir, max / 2, now);
    store *s = embedded_open(
        dir, &(embedded_opts){.store.max_bytes = max, .store.max_age = UINT64_MAX}, &e);
    if (!s) die("open", &e);
    usage before = measure(s, dir, today);
    uint64_t bound = store_gauged(s).backlog_limit_bytes;
    watch w = {.dir = dir, .most = disk(dir)};
    pthread_t t;
    pthread_create(&t, NULL, watch_disk, &w);
    put_all(s, v, seconds, &o);
    if (!store_compact(s, &e)) die("compact", &e);
    w.over = true;
    pthread_join(t, NULL);
    usage after = measure(s, dir, today);
    uint64_t dropped = store_counted(s).dropped_files;
    store_close(s);
    report(&before, &after, &o, &w, max, bound, seconds);
    size_t n = 0;
    need(!refused && after.burst_samples == acknowledged * SAMPLES, &n,
         "everything acknowledged is stored once");
    need(o.rejected > 0, &n, "a sender that is faster than compaction is rejected");
    need(w.most <= max + 3 * bound + v[0].bytes.n, &n,
         "the disk stays below the limit and three times the backlog");
    need(before.history_files >= COPIES && (!dropped || after.day_bytes > max / 2), &n,
         "history is removed only as far as the limit requires");
    need(after.history_files + dropped == before.history_files, &n, "each removed file is counted");
    printf("1..%zu\n", n);
    for (size_t i = 0; i < VARIANTS; i++) buf_free(&v[i].bytes);
    free(v);
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t seconds = 2, max = 24 << 20;
    const char *dir = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--seconds")) seconds = strtoull(argv[i + 1], NULL, 10);
        if (!strcmp(argv[i], "--max-store") && !size_parse(str_of(argv[i + 1]), &max)) return 2;
        if (!strcmp(argv[i], "--dir")) dir = argv[i + 1];
    }
    char own[] = "/tmp/kiln-burst-XXXXXX", command[1200];
    if (!dir && !(dir = mkdtemp(own))) return 2;
    int code = burst(dir, max, seconds);
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return dir == own ? system(command) != 0 || code : code;
}
