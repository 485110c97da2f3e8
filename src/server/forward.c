/* A thread that reads acknowledged items from the store's journal and submits them to one exporter
 * for each signal.  It saves its position in the store, so that a restart continues there; a window
 * tracks items that complete out of order. */
#include "server/forward.h"

#include "server/window.h"
#include "format/format.h"
#include "otlp/split.h"
#include "wire/otlp.h"
#include "base/ban.h"
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

enum { SIGNALS = 2, IN_FLIGHT = 16 };
#define QUEUE (UINT64_C(64) << 20)
#define JOURNAL (UINT64_C(256) << 20)
#define SAVE_NS NS_PER_S /* how often the position is saved */
/* Pause between two reads of the journal, because items arrive in groups. */
#define REST_NS (5 * NS_PER_MS)
#define REPEAT_NS (60 * NS_PER_S)

typedef struct lane {
    forward *of;
    otlp_config config;
    exporter *exporter; /* NULL: closed */
    char *spool;
    size_t bytes; /* under the lock: bytes submitted to the exporter and not settled */
    bool outage;  /* under the lock: submitted items go to the spool */
} lane;

struct forward {
    arena arena;
    store *store;
    logger *log;
    uint64_t queue, journal; /* limits in bytes */
    lane lanes[SIGNALS];
    pthread_t thread;
    bool has_thread, left; /* left: a stuck exporter thread uses this struct: never freed */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* uses CLOCK_MONOTONIC */
    atomic_bool woken;
    bool closing, full; /* full: an item waits for space in the queue */
    window window;

    _Atomic uint64_t lost; /* number of lost items */
    /* owned by the thread */
    uint64_t seen; /* number of the last item read from the journal */
    bool urgent;   /* the journal is half full of items to forward */
    uint64_t saved_at, lost_reported, lost_reported_at;
    bool warned;
};

/* Hides the environment, because the configuration replaces it. Proxy variables stay visible, so
 * that they cause a warning. */
static const char *no_variable(void *ctx, const char *name)
{
    (void)ctx;
    return strcasestr(name, "_proxy") ? getenv(name) : NULL;
}

static bool configure(const forward_config *c, otlp_signal s, arena *a, otlp_config *out, err *e)
{
    otlp_environment none = {.get = no_variable};
    url u;
    if (!otlp_config_read(s, &none, a, out, e)) return false;
    out->set_endpoint = "forward.to: ", out->set_protocol = "forward.protocol: ",
    out->set_ca = "forward.ca: ";
    out->tls = c->tls;
    if (c->protocol && !otlp_protocol_parse(str_of(c->protocol), &out->protocol))
        return err_set(e, ERR_USAGE, "forward.protocol must be grpc or http/protobuf");
    if (c->compression && !otlp_codec_parse(str_of(c->compression), &out->codec))
        return err_set(e, ERR_USAGE, "forward.compression must be none, gzip or zstd");
    for (size_t i = 0; i < c->headers.n; i++)
        if (!otlp_config_header(out, c->headers.v[i], a))
            return err_set(e, ERR_USAGE, "forward.headers must have the form NAME=VALUE");
    if (!url_parse(str_of(c->to), &u, e)) return false;
    if (u.path.n > 1) /* each signal has its own path */
        return err_set(e, ERR_USAGE, "%s: the address to forward to must not have a path", c->to);
    return otlp_config_address(out, str_of(c->to), !c->protocol, a, e);
}

bool forward_check(const forward_config *c, err *e)
{
    arena a = {0};
    otlp_config k;
    bool ok = !c->to || configure(c, OTLP_PROFILES, &a, &k, e);
    tls_context *t = NULL;
    if (ok && c->to && k.to.tls) ok = (t = tls_context_open(false, &k.tls, "h2", e)) != NULL;
    tls_context_close(t);
    arena_free(&a);
    return ok;
}

/* ---- log ---- */

static void report(forward *f, bool warning, const char *message, otlp_signal s, uint64_t items)
{
    log_write(f->log,
              &(log_line){.event = LOG_FORWARD,
                          .warning = warning,
                          .message = message,
                          .fields = {items ? (log_field){"items", NULL, items}
                                           : (log_field){"signal", otlp_signal_name(s), 0}}});
}

/* Called in the exporter's thread. */
static void on_message(void *ctx, const char *message)
{
    const lane *l = ctx;
    report(l->of, true, message, l->config.signal, 0);
}

static uint64_t now_ns(void) { return world_now(world_system()); }

/* Logs lost requests at once, then at most once a minute with the count since the last line. */
static void report_lost(forward *f, bool now)
{
    uint64_t lost = atomic_load(&f->lost), at = now_ns();
    if (lost == f->lost_reported) return;
    if (!now && f->lost_reported && at - f->lost_reported_at < REPEAT_NS) return;
    char text[160];
    snprintf(text, sizeof text,
             "%" PRIu64 " acknowledged requests left the journal before they were forwarded: "
             "the receiver was down or slow for too long",
             lost - f->lost_reported);
    report(f, true, text, 0, lost - f->lost_reported);
    f->lost_reported = lost;
    f->lost_reported_at = at;
}

/* ---- settled items ---- */

static void wake(forward *f)
{
    if (atomic_exchange(&f->woken, true)) return;
    pthread_mutex_lock(&f->lock);
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

/* Called in the exporter's thread. */
static void on_settled(void *ctx, const settled *s)
{
    lane *l = ctx;
    forward *f = l->of;
    bool failed = s->outcome == OUTCOME_UNSENT, spooled = s->outcome == OUTCOME_SPOOLED;
    pthread_mutex_lock(&f->lock);
    if (s->cookie && (s->last || failed)) l->bytes -= window_settle(&f->window, s->cookie, failed);
    bool room = f->full && (l->bytes <= f->queue / 4 || (l->outage && !spooled));
    l->outage = spooled;
    pthread_mutex_unlock(&f->lock);
    if (room) wake(f);
}

/* ---- following the store ---- */

/* Returns whether an item may be submitted now. With a spool only half of the queue is used until
 * the journal fills up, so that nothing is written to disk twice. During an outage items wait in
 * the journal. */
static bool has_room(const forward *f, const lane *l, size_t n)
{
    uint64_t limit = l->spool && !f->urgent ? f->queue / 2 : f->queue;
    return (!l->outage || f->urgent) && (!l->bytes || l->bytes + n <= limit);
}

/* Converts profiles that were received as logs back to logs. */
static bool put_logs(const store_follow_item *i, buf *out)
{
    arena a = {0};
    model m;
    bool ok = otlp_decode(i->bytes.p, i->bytes.n, &(otlp_decode_opts){.layout = i->layout}, &a, &m,
                          NULL) &&
              format_splunk_logs.write(&format_splunk_logs, &m, &(write_opts){0}, out, NULL);
    arena_free(&a);
    return ok;
}

static bool submit(forward *f, lane *l, uint64_t number, buf *bytes)
{
    size_t n = bytes->n;
    pthread_mutex_lock(&f->lock);
    bool ok = window_add(&f->window, number, n);
    if (ok) l->bytes += n;
    pthread_mutex_unlock(&f->lock);
    if (!ok) return false;
    if (exporter_submit(l->exporter, bytes, otlp_count_items(buf_view(bytes)), number)) return true;
    pthread_mutex_lock(&f->lock);
    window_take_back(&f->window);
    l->bytes -= n;
    pthread_mutex_unlock(&f->lock);
    return false;
}

static bool on_item(void *ctx, const store_follow_item *i)
{
    forward *f = ctx;
    bool logs = str_starts(i->recognised, str_of(format_splunk_logs.name));
    lane *l = &f->lanes[logs ? OTLP_LOGS : OTLP_PROFILES];
    pthread_mutex_lock(&f->lock);
    f->full = !has_room(f, l, i->bytes.n);
    bool full = f->full;
    pthread_mutex_unlock(&f->lock);
    if (full) return false;
    buf bytes = {0};
    if (logs && !put_logs(i, &bytes)) { /* out of memory, or not expressible as logs */
        buf_free(&bytes);
        atomic_fetch_add(&f->lost, 1);
        return true;
    }
    if (!logs) buf_str(&bytes, i->bytes);
    bool ok = !bytes.failed && submit(f, l, i->number, &bytes);
    buf_free(&bytes);
    return ok;
}

static void feed(forward *f)
{
    err e = {0};
    char text[400];
    uint64_t lost = 0;
    f->urgent = store_lag_of(f->store).bytes > f->journal / 2;
    bool ok = store_follow_read(f->store, &f->seen, on_item, f, &lost, &e);
    if (lost) atomic_fetch_add(&f->lost, lost);
    if (!ok && !f->warned) report(f, true, err_text(&e, text, sizeof text), 0, 0);
    f->warned = !ok;
    report_lost(f, false);
}

static void save(forward *f, bool now)
{
    err e = {0};
    char text[400];
    uint64_t at = now_ns();
    if (!now && at - f->saved_at < SAVE_NS) return;
    pthread_mutex_lock(&f->lock);
    uint64_t through = window_through(&f->window, f->seen);
    pthread_mutex_unlock(&f->lock);
    f->saved_at = at;
    if (store_followed(f->store, through, &e)) return;
    if (!f->warned) report(f, true, err_text(&e, text, sizeof text), 0, 0);
    f->warned = true;
}

/* Waits for new items. Returns false when the forwarder is closing. */
static bool wait_for_more(forward *f)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (time_t)(SAVE_NS / NS_PER_S);
    pthread_mutex_lock(&f->lock);
    while (!atomic_load(&f->woken) && !f->closing)
        if (pthread_cond_timedwait(&f->changed, &f->lock, &t) == ETIMEDOUT) break;
    bool closing = f->closing;
    pthread_mutex_unlock(&f->lock);
    if (!closing) nanosleep(&(struct timespec){.tv_nsec = REST_NS}, NULL);
    atomic_store(&f->woken, false);
    return !closing;
}

static void *follow(void *ctx)
{
    forward *f = ctx;
    do {
        feed(f);
        save(f, false);
    } while (wait_for_more(f));
    feed(f); /* the last acknowledged items */
    return NULL;
}

void forward_wake(forward *f) { wake(f); }

/* ---- open and close ---- */

static bool make_spool(lane *l, const char *dir, err *e)
{
    if (!dir) return true;
    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        return err_sys(e, errno, "cannot create the spool %s", dir);
    if (asprintf(&l->spool, "%s/%s", dir, otlp_signal_name(l->config.signal)) >= 0) return true;
    l->spool = NULL;
    return err_memory(e);
}

static bool open_lane(forward *f, const forward_config *c, otlp_signal s, err *e)
{
    lane *l = &f->lanes[s];
    l->of = f;
    if (!configure(c, s, &f->arena, &l->config, e) || !make_spool(l, c->spool, e)) return false;
    exporter_opts x = {.sender = {.config = &l->config,
                                  .agent = "kiln/" KILN_VERSION,
                                  .max_age = SENDER_FOREVER, /* the journal has the item */
                                  .in_flight = IN_FLIGHT,
                                  .settled = on_settled,
                                  .say = on_message,
                                  .ctx = l},
                       .spool_dir = l->spool,
                       .spool_max = c->spool_max,
                       .spill_at = f->queue / 2,
                       .max_queue = SIZE_MAX / 2}; /* has_room enforces forward.queue */
    l->exporter = exporter_open(&x, e);
    return l->exporter != NULL;
}

static bool start_thread(forward *f, err *e)
{
    int r = pthread_create(&f->thread, NULL, follow, f);
    f->has_thread = r == 0;
    if (f->has_thread) pthread_setname_np(f->thread, "kiln-forward");
    return f->has_thread || err_sys(e, r, "cannot start the forwarding thread");
}

static void report_proxy(forward *f)
{
    const char *name = otlp_ignored_proxy(&f->lanes[OTLP_PROFILES].config);
    char text[160];
    snprintf(text, sizeof text, "%s is set, but kiln does not use proxies: it forwards directly",
             name ? name : "");
    if (name) report(f, true, text, OTLP_PROFILES, 0);
}

static bool start(forward *f, const forward_config *c, err *e)
{
    if (!open_lane(f, c, OTLP_PROFILES, e) || !open_lane(f, c, OTLP_LOGS, e) ||
        !store_follow(f->store, f->journal, &f->seen, e))
        return false;
    report_proxy(f);
    uint64_t waiting = store_lag_of(f->store).items;
    if (waiting) report(f, false, "forwarding continues where it stopped", 0, waiting);
    return start_thread(f, e);
}

forward *forward_open(const forward_config *c, store *s, logger *log, err *e)
{
    forward *f = calloc(1, sizeof *f);
    if (!f) return err_memory(e), NULL;
    f->store = s, f->log = log;
    f->queue = c->queue ? c->queue : QUEUE;
    f->journal = c->journal ? c->journal : JOURNAL;
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, &attr);
    pthread_condattr_destroy(&attr);
    if (start(f, c, e)) return f;
    forward_stop(f, 0);
    forward_close(f);
    return NULL;
}

void forward_stop(forward *f, uint64_t timeout_ns)
{
    if (!f) return;
    pthread_mutex_lock(&f->lock);
    f->closing = true;
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
    if (f->has_thread) pthread_join(f->thread, NULL);
    for (int i = 0; i < SIGNALS; i++) {
        if (!exporter_close(f->lanes[i].exporter, timeout_ns, NULL)) f->left = true;
        f->lanes[i].exporter = NULL;
    }
    if (!f->has_thread) return;
    save(f, true);
    report_lost(f, true);
}

void forward_close(forward *f)
{
    if (!f || f->left) return;
    for (int i = 0; i < SIGNALS; i++) free(f->lanes[i].spool);
    window_free(&f->window);
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->lock);
    arena_free(&f->arena);
    free(f);
}

otlp_counts forward_counted(const forward *f, otlp_signal s)
{
    return exporter_counts(f->lanes[s].exporter);
}

forward_state forward_state_of(const forward *f)
{
    store_lag lag = store_lag_of(f->store);
    return (forward_state){.waiting_requests = lag.items,
                           .journal_bytes = lag.bytes,
                           .lost_requests = atomic_load(&f->lost)};
}
