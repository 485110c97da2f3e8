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
#define SAVE_NS NS_PER_S        /* how far it came is written this often */
#define REST_NS (5 * NS_PER_MS) /* between two looks at the journal: items come in groups */
#define SAY_AGAIN_NS (60 * NS_PER_S)

typedef struct lane {
    forward *of;
    otlp_config config;
    exporter *exporter; /* NULL: ended */
    char *spool;
    size_t bytes; /* under the lock: handed to the exporter and not settled */
    bool outage;  /* under the lock: what is handed in goes onto the spool */
} lane;

struct forward {
    arena arena;
    store *store;
    logger *log;
    uint64_t queue, journal; /* most bytes */
    lane lanes[SIGNALS];
    pthread_t thread;
    bool has_thread,
        left; /* left: an exporter's thread is stuck, and looks at us when it comes back */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* on CLOCK_MONOTONIC */
    atomic_bool woken;
    bool closing, full; /* full: there is more, and no room for it */
    window window;

    _Atomic uint64_t lost; /* items */
    /* the thread's */
    uint64_t seen; /* of the journal */
    bool pressed;  /* the journal is half full of what waits for us */
    uint64_t saved_at, lost_said, lost_said_at;
    bool complained;
};

/* The configuration says it all, but for the proxies that others would take. */
static const char *no_variable(void *who, const char *name)
{
    (void)who;
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
        return err_set(e, ERR_USAGE, "forward.protocol: kiln speaks grpc and http/protobuf");
    if (c->compression && !otlp_codec_parse(str_of(c->compression), &out->codec))
        return err_set(e, ERR_USAGE, "forward.compression: kiln knows none, gzip and zstd");
    for (size_t i = 0; i < c->headers.n; i++)
        if (!otlp_config_header(out, c->headers.v[i], a))
            return err_set(e, ERR_USAGE, "forward.headers wants NAME=VALUE");
    if (!url_parse(str_of(c->to), &u, e)) return false;
    if (u.path.n > 1) /* profiles and logs have one each */
        return err_set(e, ERR_USAGE, "%s: forward wants an address without a path", c->to);
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

/* ---- what is logged ---- */

static void tell(forward *f, bool trouble, const char *sentence, otlp_signal s, uint64_t items)
{
    log_write(f->log, &(log_line){.event = LOG_FORWARD,
                                  .trouble = trouble,
                                  .sentence = sentence,
                                  .facts = {items ? (log_fact){"items", NULL, items}
                                                  : (log_fact){"signal", otlp_signal_name(s), 0}}});
}

/* In the exporter's thread. */
static void on_say(void *who, const char *sentence)
{
    const lane *l = who;
    tell(l->of, true, sentence, l->config.signal, 0);
}

static uint64_t now_ns(void) { return world_now(world_system()); }

/* At once, then once a minute with the number since. */
static void tell_lost(forward *f, bool now)
{
    uint64_t lost = atomic_load(&f->lost), at = now_ns();
    if (lost == f->lost_said) return;
    if (!now && f->lost_said && at - f->lost_said_at < SAY_AGAIN_NS) return;
    char text[160];
    snprintf(text, sizeof text,
             "%" PRIu64 " acknowledged requests left the journal before they were forwarded: "
             "the receiver was down or slow for too long",
             lost - f->lost_said);
    tell(f, true, text, 0, lost - f->lost_said);
    f->lost_said = lost;
    f->lost_said_at = at;
}

/* ---- what was settled ---- */

static void wake(forward *f)
{
    if (atomic_exchange(&f->woken, true)) return;
    pthread_mutex_lock(&f->lock);
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

/* In the exporter's thread. */
static void on_settled(void *who, const settled *s)
{
    lane *l = who;
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

/* Memory first.  With a spool half of it, so that nothing is written to disk twice, until the journal fills up; an outage is
 * sat out in the journal, too. */
static bool has_room(const forward *f, const lane *l, size_t n)
{
    uint64_t limit = l->spool && !f->pressed ? f->queue / 2 : f->queue;
    return (!l->outage || f->pressed) && (!l->bytes || l->bytes + n <= limit);
}

/* Logs were stored as profiles. */
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

static bool hand_on(forward *f, lane *l, uint64_t number, buf *bytes)
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

static bool on_item(void *who, const store_follow_item *i)
{
    forward *f = who;
    bool logs = str_starts(i->recognised, str_of(format_splunk_logs.name));
    lane *l = &f->lanes[logs ? OTLP_LOGS : OTLP_PROFILES];
    pthread_mutex_lock(&f->lock);
    f->full = !has_room(f, l, i->bytes.n);
    bool full = f->full;
    pthread_mutex_unlock(&f->lock);
    if (full) return false;
    buf bytes = {0};
    if (logs && !put_logs(i, &bytes)) { /* no memory, or nothing that logs can say */
        buf_free(&bytes);
        atomic_fetch_add(&f->lost, 1);
        return true;
    }
    if (!logs) buf_str(&bytes, i->bytes);
    bool ok = !bytes.failed && hand_on(f, l, i->number, &bytes);
    buf_free(&bytes);
    return ok;
}

static void feed(forward *f)
{
    err e = {0};
    char text[400];
    uint64_t lost = 0;
    f->pressed = store_lag_of(f->store).bytes > f->journal / 2;
    bool ok = store_follow_read(f->store, &f->seen, on_item, f, &lost, &e);
    if (lost) atomic_fetch_add(&f->lost, lost);
    if (!ok && !f->complained) tell(f, true, err_text(&e, text, sizeof text), 0, 0);
    f->complained = !ok;
    tell_lost(f, false);
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
    if (!f->complained) tell(f, true, err_text(&e, text, sizeof text), 0, 0);
    f->complained = true;
}

/* false: the end. */
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

static void *follow(void *who)
{
    forward *f = who;
    do {
        feed(f);
        save(f, false);
    } while (wait_for_more(f));
    feed(f); /* what was acknowledged last */
    return NULL;
}

void forward_wake(forward *f) { wake(f); }

/* ---- life ---- */

static bool make_spool(lane *l, const char *dir, err *e)
{
    if (!dir) return true;
    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        return err_sys(e, errno, "cannot make the spool %s", dir);
    if (asprintf(&l->spool, "%s/%s", dir, otlp_signal_name(l->config.signal)) >= 0) return true;
    l->spool = NULL;
    return err_set(e, ERR_LIMIT, "out of memory");
}

static bool open_lane(forward *f, const forward_config *c, otlp_signal s, err *e)
{
    lane *l = &f->lanes[s];
    l->of = f;
    if (!configure(c, s, &f->arena, &l->config, e) || !make_spool(l, c->spool, e)) return false;
    exporter_opts x = {.sender = {.config = &l->config,
                                  .agent = "kiln/" KILN_VERSION,
                                  .max_age = SENDER_FOREVER, /* the journal has it */
                                  .in_flight = IN_FLIGHT,
                                  .settled = on_settled,
                                  .say = on_say,
                                  .who = l},
                       .spool_dir = l->spool,
                       .spool_max = c->spool_max,
                       .spill_at = f->queue / 2,
                       .max_queue = SIZE_MAX / 2}; /* we hold it to our own limit */
    l->exporter = exporter_open(&x, e);
    return l->exporter != NULL;
}

static bool start_thread(forward *f, err *e)
{
    int r = pthread_create(&f->thread, NULL, follow, f);
    f->has_thread = r == 0;
    if (f->has_thread) pthread_setname_np(f->thread, "kiln-forward");
    return f->has_thread || err_sys(e, r, "no thread to forward with");
}

static void tell_proxy(forward *f)
{
    const char *name = otlp_ignored_proxy(&f->lanes[OTLP_PROFILES].config);
    char text[160];
    snprintf(text, sizeof text, "%s is set: kiln uses no proxy, and forwards directly",
             name ? name : "");
    if (name) tell(f, true, text, OTLP_PROFILES, 0);
}

static bool start(forward *f, const forward_config *c, err *e)
{
    if (!open_lane(f, c, OTLP_PROFILES, e) || !open_lane(f, c, OTLP_LOGS, e) ||
        !store_follow(f->store, f->journal, &f->seen, e))
        return false;
    tell_proxy(f);
    uint64_t waiting = store_lag_of(f->store).items;
    if (waiting) tell(f, false, "forwarding goes on where it ended", 0, waiting);
    return start_thread(f, e);
}

forward *forward_open(const forward_config *c, store *s, logger *log, err *e)
{
    forward *f = calloc(1, sizeof *f);
    if (!f) return err_set(e, ERR_LIMIT, "out of memory"), NULL;
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
    tell_lost(f, true);
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
