/* Runs the recorder: waits for ^C, the time limit or the end of the processes, and shows progress on
 * a terminal. */
#include "cli/record.h"

#include "base/time.h"
#include "cli/symbols.h"
#include "draw/human.h"
#include "sys/map_guard.h"
#include "base/ban.h"
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum {
    TICK_MS = 100,
    STATUS_MS = 500,
    LIVE_BYTES = 12 << 20, /* for the index of a program, while profiles are sent */
    LIVE_DEBUG = 6 << 20,  /* larger debug information is not read: names without lines */
};

extern char **environ;

static uint64_t monotonic(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* ---- callbacks of the recorder; in its thread ---- */

static bool on_name(void *ctx, model *m, const char *root, const char *perf_map, arena *a, err *e)
{
    record_run *x = ctx;
    symbolize_opts o;
    symbolize_report report;
    if (!symbols_wanted(x->r.c, a, &o, e)) return false;
    o.modules = &x->r.modules;
    o.progress = NULL;
    o.module.dirs.root = root;
    if (x->r.live) {
        o.module.max_debug = LIVE_DEBUG;
        o.module.max_memory = LIVE_BYTES;
    }
    if (perf_map) {
        o.perf_map = perf_map;
        o.perf_map_found = true;
    }
    if (!symbolize(m, &o, a, &report, e)) return false;
    return x->r.live || run_add_symbols(&x->r, &report, false, e);
}

static void on_profile(void *ctx, uint32_t pid, buf *bytes)
{
    record_run *x = ctx;
    run_take_part(&x->r, pid, bytes);
}

static void on_note(void *ctx, const char *text) { cli_note(((record_run *)ctx)->r.c, "%s", text); }

bool record_open(record_run *x, err *e)
{
    /* Blocks of 32 KiB go back to the system when they are freed: a recorder runs for months. */
    mallopt(M_MMAP_THRESHOLD, 32 << 10);
    x->o.config = &x->r.config;
    x->o.max_frames = x->r.config.max_frames;
    x->o.name = on_name;
    x->o.profile = on_profile;
    x->o.note = on_note;
    x->o.ctx = x;
    x->recorder = recorder_open(&x->o, e);
    return x->recorder != NULL;
}

/* ---- progress ---- */

static void show(record_run *x, uint64_t since)
{
    cli *c = x->r.c;
    recorded n;
    char t[HUMAN_MAX], s[HUMAN_MAX], w[HUMAN_MAX], l[HUMAN_MAX], own[HUMAN_MAX];
    if (!c->term_err.tty || c->o.quiet || x->has_program) return;
    recorder_progress(x->recorder, &n);
    uint64_t lost = n.ring_full + n.batch_full, ran = monotonic() - since;
    if (x->o.off_cpu)
        snprintf(w, sizeof w, ", %s waits", human_count(n.waits, t));
    else
        w[0] = '\0';
    cli_status(c, "recording %s: %s samples%s, %s lost, %s own CPU; ^C ends",
               human_duration(ran, t), human_count(n.cpu_samples, s), w, human_count(lost, l),
               human_percent(n.own_cpu + n.bpf_ns, ran, own));
}

/* ---- waiting ---- */

/* A second signal during the recording must not prevent the results, so the signals stay blocked
 * until they are written; only ^C may then end kiln early, which removes the temporary files. */
static sigset_t block_stops(record_run *x)
{
    sigset_t stops;
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT), sigaddset(&stops, SIGTERM), sigaddset(&stops, SIGHUP);
    sigprocmask(SIG_BLOCK, &stops, x->stops_blocked ? NULL : &x->before);
    x->stops_blocked = true;
    return stops;
}

static void drop_pending(const sigset_t *stops)
{
    const struct timespec now = {0, 0};
    while (sigtimedwait(stops, NULL, &now) > 0) continue;
}

void record_release(record_run *x)
{
    if (!x->stops_blocked) return;
    sigset_t stops = block_stops(x);
    drop_pending(&stops);
    sigprocmask(SIG_SETMASK, &x->before, NULL);
    x->stops_blocked = false;
}

static void permit_interrupt(record_run *x)
{
    sigset_t stops = block_stops(x);
    drop_pending(&stops);
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigprocmask(SIG_UNBLOCK, &stops, NULL);
}

static bool is_stop(int sig) { return sig == SIGINT || sig == SIGTERM || sig == SIGHUP; }

static void wait_for_end(record_run *x, const sigset_t *stops, uint64_t since)
{
    const struct timespec tick = {0, TICK_MS * (long)NS_PER_MS};
    uint64_t shown = 0;
    for (;;) {
        int sig = sigtimedwait(stops, NULL, &tick);
        x->interrupted = is_stop(sig);
        uint64_t now = monotonic();
        bool over = x->duration_ns && now - since >= x->duration_ns;
        if (x->interrupted || over || recorder_is_done(x->recorder)) return;
        if (now - shown < STATUS_MS * NS_PER_MS) continue;
        show(x, since);
        shown = now;
    }
}

bool record_wait(record_run *x, err *e)
{
    sigset_t stops = block_stops(x);
    bool ok = recorder_start(x->recorder, e);
    if (ok) {
        wait_for_end(x, &stops, monotonic());
        cli_status(x->r.c, "%s", "");
        recorder_stop(x->recorder, &x->all);
        x->ran_ns = x->all.ran_ns;
    }
    permit_interrupt(x);
    return ok;
}

/* ---- a program ---- */

/* Attaches to the program while it waits before its exec. */
typedef struct gatekeeper {
    record_run *x;
    int announce, gate;
    bool ok;
    err e;
} gatekeeper;

static void *keep_gate(void *ctx)
{
    gatekeeper *g = ctx;
    bool started = false;
    /* A file that is not a program is started a second time, by a shell. */
    for (int pid = 0; read(g->announce, &pid, sizeof pid) == (ssize_t)sizeof pid;) {
        char refused = 1;
        g->ok = recorder_attach(g->x->recorder, (uint32_t)pid, &g->e) &&
                (started || recorder_start(g->x->recorder, &g->e));
        started = g->ok;
        if (g->ok) refused = 0;
        (void)!write(g->gate, &refused, 1);
    }
    return NULL;
}

/* The recording ends by its duration.  The program goes on, as it would without kiln. */
static void end_before_program(void *ctx)
{
    record_run *x = ctx;
    recorder_stop(x->recorder, &x->all);
    x->ran_ns = x->all.ran_ns;
    x->runs_on = true;
    recorder_close(x->recorder);
    x->recorder = NULL;
    x->deliver(x);
}

static bool run_gated(record_run *x, int announce[2], int gate[2], err *e)
{
    cli *c = x->r.c;
    pthread_t thread;
    gatekeeper g = {.x = x, .announce = announce[0], .gate = gate[1]};
    const char **argv = arena_new(&x->r.arena, const char *, c->n_args + 1);
    if (!argv) return err_memory(e);
    for (size_t i = 0; i < c->n_args; i++) argv[i] = c->args[i];
    child_opts o = {.path = x->r.path,
                    .argv = argv,
                    .envp = (const char *const *)environ,
                    .settings = c->settings,
                    .gated = true,
                    .announce = announce[1],
                    .gate = gate[0],
                    .due = x->duration_ns ? end_before_program : NULL,
                    .ctx = x,
                    .due_ns = x->duration_ns};
    /* The thread must not take the SIGCHLD that child_run() waits for. */
    sigset_t before;
    map_guard_block_signals(&before);
    int why = pthread_create(&thread, NULL, keep_gate, &g);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (why) return err_sys(e, why, "cannot start a thread");
    bool ran = child_run(&o, &x->r.end, e);
    close(announce[1]); /* ends the thread if there was no child */
    announce[1] = -1;
    pthread_join(thread, NULL);
    if (x->runs_on) return true;
    x->ran_ns = x->r.end.run_ns;
    (void)block_stops(x);
    recorder_stop(x->recorder, &x->all);
    permit_interrupt(x);
    if (g.e.code) { /* the program was not started */
        x->r.end.start_ns = 0;
        *e = g.e;
        return false;
    }
    return ran || err_in(e, "%s", x->r.path);
}

bool record_program(record_run *x, err *e)
{
    int announce[2] = {-1, -1}, gate[2] = {-1, -1};
    bool ok = (pipe2(announce, O_CLOEXEC) == 0 && pipe2(gate, O_CLOEXEC) == 0) ||
              err_sys(e, errno, "cannot create a pipe");
    ok = ok && run_gated(x, announce, gate, e);
    for (int i = 0; i < 2; i++) {
        if (announce[i] >= 0) close(announce[i]);
        if (gate[i] >= 0) close(gate[i]);
    }
    return ok;
}
