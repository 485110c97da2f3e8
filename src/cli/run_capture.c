/* Configures the collector of `kiln run` and receives its profiles. */
#include "cli/run.h"

#include "cli/symbols.h"
#include "otlp/config.h"
#include "otlp/split.h"
#include "sys/file.h"
#include "sys/temp.h"
#include "base/ban.h"
#include <unistd.h>

enum {
    PARTS_BYTES = 64 << 20, /* limit of profiles in memory; more are written to files in TMPDIR */
    CLOSE_MS = 5000,        /* timeout of the exporter at the end */
    QUEUE_BYTES = 16 << 20, /* limit of profiles that wait for the receiver */
};

/* ---- environment ---- */

/* Returns a variable of the agent (docs/agent.md), but not those for the destination of
 * profiles. */
static const char *get_variable(void *ctx, const char *name)
{
    const run *r = ctx;
    if (!strcmp(name, "KILN_PROFILE")) return r->c->o.heap ? "cpu,wall,heap" : "cpu,wall";
    if (!strcmp(name, "KILN_EXPORT")) return "otlp";
    if (!strncmp(name, "SPLUNK_", 7) || !strcmp(name, "KILN_CPU_HZ")) return NULL;
    return getenv(name);
}

static void warn(void *ctx, const char *text) { cli_note(((run *)ctx)->c, "%s", text); }

/* Reads only the variables for profiles, because the program may export other signals to another
 * receiver. */
static bool read_receiver(run *r, err *e)
{
    const char *wish = r->c->o.protocol;
    otlp_environment from = {.get = get_variable, .ctx = r};
    bool explicit = wish || getenv("OTEL_EXPORTER_OTLP_PROTOCOL") ||
                    getenv("OTEL_EXPORTER_OTLP_PROFILES_PROTOCOL");
    if (!otlp_config_read(OTLP_PROFILES, &from, &r->arena, &r->net, e)) return false;
    r->net.set_endpoint = "--to ";
    if (wish && !otlp_protocol_parse(str_of(wish), &r->net.protocol))
        return err_set(e, ERR_USAGE, "unknown --protocol `%s`", wish);
    return otlp_config_address(&r->net, str_of(r->c->o.address), !explicit, &r->arena, e);
}

bool run_open_exporter(run *r, err *e)
{
    if (!r->live) return true;
    if (!read_receiver(r, e)) return false;
    exporter_opts o = {
        .sender = {.config = &r->net, .agent = "kiln-run/" KILN_VERSION, .say = warn, .ctx = r},
        .max_queue = QUEUE_BYTES};
    r->exporter = exporter_open(&o, e);
    return r->exporter != NULL;
}

/* ---- callbacks of the collector; in its thread, while the main thread waits for the program ---- */

/* Keeps a part in memory. Above PARTS_BYTES, writes it to a file if the disk permits. */
static void keep_part(run *r, uint32_t pid, buf *bytes)
{
    run_part *p = vec_push(&r->arena, &r->parts);
    err e = {0};
    if (!p) {
        r->parts_lost++;
        buf_free(bytes);
        return;
    }
    *p = (run_part){.pid = pid};
    char path[4352];
    snprintf(path, sizeof path, "%s/%d-%zu.otlp", r->tmp, getpid(),
             r->parts.n); /* a follower writes to the same directory */
    char *name = r->part_bytes > PARTS_BYTES ? arena_alloc(&r->arena, strlen(path) + 1) : NULL;
    if (name && file_write(path, buf_view(bytes), &e)) {
        p->file = memcpy(name, path, strlen(path) + 1);
        buf_free(bytes);
        return;
    }
    r->part_bytes += bytes->n;
    p->bytes = *bytes;
    *bytes = (buf){0};
}

/* Adds names before sending, because a receiver cannot read the files of this machine. */
static bool on_name(void *ctx, model *m, arena *a, err *e)
{
    run *r = ctx;
    symbolize_opts o;
    symbolize_report report;
    if (!symbols_wanted(r->c, a, &o, e)) return false;
    o.modules = &r->modules;
    o.progress = NULL;
    return symbolize(m, &o, a, &report, e);
}

void run_take_part(run *r, uint32_t pid, buf *bytes)
{
    if (!r->exporter) return keep_part(r, pid, bytes);
    size_t items = otlp_count_items(buf_view(bytes));
    (void)!exporter_submit(r->exporter, bytes, items, 1); /* the exporter counts what it rejects */
    buf_free(bytes);
}

static void on_profile(void *ctx, uint32_t pid, buf *bytes) { run_take_part(ctx, pid, bytes); }

static void on_process(void *ctx, uint32_t pid, bool whole)
{
    run *r = ctx;
    for (size_t i = r->processes.n; i-- > 0;)
        if (r->processes.v[i].pid == pid) {
            r->processes.v[i].reported = whole;
            return;
        }
    run_process *p = vec_push(&r->arena, &r->processes);
    if (p) *p = (run_process){pid, whole};
}

/* ---- open and close ---- */

bool run_config(run *r, err *e)
{
    otlp_environment from = {.get = get_variable, .warn = warn, .ctx = r};
    return agent_config_read(&from, &r->arena, &r->config, e);
}

bool run_capture_open(run *r, err *e)
{
    if (!run_config(r, e) || !run_open_exporter(r, e)) return false;
    collector_opts o = {.size = sizeof o,
                        .cpu_hz = r->hz,
                        .max_frames = r->config.max_frames ? r->config.max_frames : CAPTURE_FRAMES,
                        .source = r->config.source,
                        .wall_ns = r->wall_ns,
                        .heap = r->c->o.heap,
                        .follow_fork = r->config.follow_fork,
                        .heap_bytes = r->config.heap_bytes,
                        .flush_ns = r->live ? r->config.flush_ns : 0,
                        .exclude = r->config.exclude,
                        .config = &r->config,
                        .name = r->live ? on_name : NULL,
                        .profile = on_profile,
                        .process = on_process,
                        .ctx = r};
    r->collector = collector_open(&o, e);
    if (!r->collector) return false;
    temp_also(collector_path(r->collector), collector_dir(r->collector));
    return collector_start(r->collector, e);
}

void run_close_exporter(run *r)
{
    if (r->exporter) exporter_close(r->exporter, CLOSE_MS * UINT64_C(1000000), &r->sent);
    r->exporter = NULL;
}

void run_capture_close(run *r)
{
    if (r->collector && r->follower)
        collector_hand_over(r->collector, &r->all);
    else if (r->collector)
        collector_stop(r->collector, &r->all);
    run_close_exporter(r);
    module_cache_close(&r->modules);
}
