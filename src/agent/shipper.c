/* Delivers batches: builds the model, adds names, encodes it, and passes it to the exporter or to
 * files. */
#include "agent/shipper.h"

#include "agent/descriptors.h"
#include "agent/profiles.h"
#include "ctx/process_context.h"
#include "format/splunk.h"
#include "model/executable.h"
#include "otlp/split.h"
#include "sys/process.h"
#include "wire/otlp.h"
#include "base/ban.h"
#include <time.h>
#include <unistd.h>

static uint64_t now_of(clockid_t clock)
{
    struct timespec t = {0};
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void warn_err(shipper *s, const char *what, const err *e)
{
    char text[512], why[384];
    snprintf(text, sizeof text, "%s: %s", what, err_text(e, why, sizeof why));
    s->warn(s->ctx, text);
}

/* ---- opening ---- */

/* The receiver of log records: SPLUNK_PROFILER_LOGS_ENDPOINT, then OpenTelemetry's variables, then
 * the default of the conventions (S-24 to S-26); always gRPC (S-23). */
typedef struct logs_environment {
    const otlp_environment *env;
    const char *endpoint;
} logs_environment;

static const char *get_logs(void *ctx, const char *name)
{
    const logs_environment *l = ctx;
    const char *v = l->env->get(l->env->ctx, name);
    bool endpoint = !strcmp(name, "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT");
    if (!strcmp(name, "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL")) return "grpc";
    if (endpoint && l->endpoint) return l->endpoint;
    if (!strcmp(name, "OTEL_EXPORTER_OTLP_ENDPOINT") && !(v && *v)) return "https://localhost:4317";
    return v;
}

static void warn_logs(void *ctx, const char *text)
{
    const logs_environment *l = ctx;
    if (l->env->warn) l->env->warn(l->env->ctx, text);
}

static bool read_logs(shipper *s, const otlp_environment *env, err *e)
{
    logs_environment l = {env, s->c->logs_endpoint};
    otlp_environment through = {get_logs, warn_logs, &l};
    if (!otlp_config_read(OTLP_LOGS, &through, &s->settings, &s->net, e)) return false;
    if (l.endpoint) s->net.set_endpoint = "SPLUNK_PROFILER_LOGS_ENDPOINT=";
    return true;
}

bool shipper_open(shipper *s, const agent_config *c, const otlp_environment *env, err *e)
{
    s->c = c;
    if (!resource_facts_read(&s->settings, &s->facts))
        return err_set(e, ERR_MEMORY, "not enough memory for the resource");
    if (c->report) s->report_number = files_free_number(c->report, s->facts.pid);
    if (c->to == EXPORT_FILE)
        return files_open(&s->files, c->file, c->file_keep, s->facts.pid), true;
    if (!s->has_net)
        s->has_net = c->to == EXPORT_SPLUNK
                         ? read_logs(s, env, e)
                         : otlp_config_read(OTLP_PROFILES, env, &s->settings, &s->net, e);
    return s->has_net;
}

/* ---- delivery ---- */

static bool open_exporter(shipper *s, err *e)
{
    if (s->exporter) return true;
    exporter_opts o = {
        .sender = {.config = &s->net,
                   .max_request = s->c->to == EXPORT_SPLUNK ? SHIPPER_REQUEST_BYTES : 0,
                   .agent = "kiln-agent/" KILN_VERSION,
                   .say = s->warn,
                   .ctx = s->ctx},
        .spool_dir = s->c->spool,
        .max_queue = SHIPPER_QUEUE_BYTES,
        .thread = s->own_thread,
    };
    s->exporter = exporter_open(&o, e);
    if (s->exporter || !o.spool_dir) return s->exporter != NULL;
    /* Another process uses the spool, or the disk fails: continues without a spool. */
    warn_err(s, "no spool", e);
    o.spool_dir = NULL;
    *e = (err){0};
    s->exporter = exporter_open(&o, e);
    return s->exporter != NULL;
}

static bool send_bytes(shipper *s, buf *bytes, err *e)
{
    size_t items = otlp_count_items(buf_view(bytes));
    bool ok = open_exporter(s, e);
    if (ok && !exporter_submit(s->exporter, bytes, items, 1))
        ok = true; /* counted; the exporter prints one message */
    buf_free(bytes);
    return ok;
}

static bool call_program(shipper *s, const model *m, err *e)
{
    buf bytes = {0};
    if (s->c->to == EXPORT_FILE) return files_put(&s->files, m, e);
    bool ok = s->c->to == EXPORT_SPLUNK ? splunk_write_logs(m, &(write_opts){0}, &bytes, e)
                                        : otlp_encode(m, &(otlp_encode_opts){0}, &bytes, e);
    if (!ok) return buf_free(&bytes), false;
    return send_bytes(s, &bytes, e);
}

/* ---- one flush ---- */

static bool read_own(const memory *m, uint64_t at, void *p, size_t n)
{
    return process_read(m->pid, at, p, n);
}

/* Reads the published process context: names of context attributes, resource. */
static bool read_published(shipper *s, arena *a, process_context *out)
{
    memory m = {.read = read_own, .pid = (int)s->facts.pid};
    str maps;
    bool found = false;
    return s->images.published && process_maps(m.pid, a, &maps, NULL) &&
           process_context_read(&m, maps, a, out, &found, NULL) && found;
}

static bool name_locations(shipper *s, model *m, arena *a, err *e)
{
    symbolize_opts o = {
        .module = {.max_memory = SHIPPER_INDEX_BYTES, .max_debug = SHIPPER_DEBUG_BYTES},
        .modules = &s->modules,
        .inside = true,
        .demangle = DEMANGLE_SHORT}; /* the same for all receivers */
    symbolize_report r;
    if (!s->c->symbolize) return true;
    if (!symbolize(m, &o, a, &r, e)) return false;
    s->n_locations += r.n_locations;
    s->n_found += r.n_found;
    return true;
}

static bool ship_model(shipper *s, const profiles_in *in, bool *empty, err *e)
{
    arena a = {.budget = SHIPPER_FLUSH_BYTES};
    model m;
    bool ok = profiles_make(in, &a, &m, e);
    *empty = ok && !m.profiles.n;
    if (ok) model_executables_first(&m);
    if (ok && !*empty) ok = name_locations(s, &m, &a, e) && call_program(s, &m, e);
    size_t all = a.peak + in->batch->mem.peak + s->images.a.used;
    if (all > s->peak) s->peak = all;
    arena_free(&a);
    return ok;
}

static size_t wall_samples(const batch *b)
{
    size_t n = 0;
    for (size_t i = 0; i < b->samples.n; i++) n += b->samples.v[i].kind == SAMPLE_WALL;
    return n;
}

/* Log records are split into requests of limited size; everything else is one request. */
static bool ship_all(shipper *s, profiles_in *in, err *e)
{
    bool logs = s->c->to == EXPORT_SPLUNK, empty = false, ok = true;
    size_t n = logs ? wall_samples(in->batch) : 0;
    in->limit = logs ? SHIPPER_RECORDS : SIZE_MAX;
    do {
        ok = ship_model(s, in, &empty, e);
        in->first += SHIPPER_RECORDS;
    } while (ok && in->first < n);
    return ok;
}

static bool ship_batch(shipper *s, const batch *b, arena *a, err *e)
{
    process_context published = {0};
    bool has = read_published(s, a, &published);
    heap_rows heap;
    profiles_in in = {.batch = b,
                      .images = &s->images,
                      .keys = published.keys,
                      .n_keys = published.n_keys,
                      .cpu_hz = s->c->cpu_hz,
                      .wall_ns = s->c->wall_ns,
                      .now = now_of(CLOCK_REALTIME),
                      .ticks = (uint64_t)sysconf(_SC_CLK_TCK)};
    in.boot = in.now - now_of(CLOCK_BOOTTIME);
    if (s->c->to == EXPORT_SPLUNK) in.style = s->c->splunk_pprof ? PROFILES_PPROF : PROFILES_TEXT;
    if (!resource_make(s->c, &s->facts, has ? &published.resource : NULL, a, &in.resource))
        return err_set(e, ERR_MEMORY, "not enough memory for the resource");
    if (s->heap && heap_take(&s->heap_past, s->heap, a, &heap)) in.heap = &heap;
    return ship_all(s, &in, e);
}

void shipper_read_mappings(shipper *s)
{
    if (!images_refresh(&s->images, now_of(CLOCK_REALTIME), NULL)) s->n_failed++;
}

void shipper_flush(shipper *s, bool final)
{
    arena a = {.budget = SHIPPER_FLUSH_BYTES};
    err e = {0};
    shipper_read_mappings(s);
    batch *b = capture_take(final);
    if (!b) {
        s->n_failed++;
        return;
    }
    bool ok = ship_batch(s, b, &a, &e);
    s->n_flushes++;
    s->n_failed += !ok;
    if (!ok) warn_err(s, "profiles are lost", &e);
    images_forget(&s->images, b->start, !s->heap);
    batch_close(b);
    arena_free(&a);
}

/* ---- exit ---- */

void shipper_wait(shipper *s, uint64_t timeout_ns)
{
    if (s->exporter) (void)exporter_flush(s->exporter, timeout_ns);
}

otlp_counts shipper_counts(const shipper *s)
{
    return s->exporter ? exporter_counts(s->exporter) : s->counts;
}

/* Warns about losses that the exporter reports only at its end. */
static void warn_lost(shipper *s)
{
    uint64_t lost = otlp_items_lost(&s->counts),
             all = s->counts.items_submitted + s->counts.items_queue_full;
    char text[160];
    if (!lost) return;
    snprintf(text, sizeof text, "%llu of %llu %s were not delivered", (unsigned long long)lost,
             (unsigned long long)all, s->c->to == EXPORT_SPLUNK ? "log records" : "profiles");
    s->warn(s->ctx, text);
}

void shipper_close(shipper *s, uint64_t timeout_ns)
{
    exporter *x = s->exporter;
    s->exporter = NULL; /* first: a concurrent fork must not see memory that is being freed */
    if (x) {
        exporter_close(x, timeout_ns, &s->counts);
        warn_lost(s);
    }
    images_close(&s->images);
    module_cache_close(&s->modules);
    heap_forget(&s->heap_past);
}

void shipper_forked(shipper *s)
{
    if (!descriptors_apart()) exporter_forked(s->exporter);
    s->exporter = NULL;
}
