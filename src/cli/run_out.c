/* Prints the summary of `kiln run` as text. */
#include "cli/run.h"

#include "cli/top_out.h"
#include "draw/text.h"
#include "base/ban.h"
#include <signal.h>
#include <sys/wait.h>

enum {
    LABEL = 12,
    WIDTH = 80,
    ROWS = 10,
    MORE_ROWS = 5,
    SYMBOL_LINES = 3,
    SLOWEST_TICK = 100,
    UNSEEN_SHARE = 100, /* shares below 1 in 100 are not shown */
};

void run_tail(buf *b, const char *fmt, ...)
{
    char piece[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(piece, sizeof piece, fmt, ap);
    va_end(ap);
    if (b->n) buf_z(b, ", ");
    buf_z(b, piece);
}

static size_t width_of(const run *r)
{
    size_t w = cli_width(r->c);
    return w == SIZE_MAX ? WIDTH : w;
}

void run_item(run *r, paint p, const char *label, buf *text)
{
    buf *out = &r->c->out;
    buf prose = {0}, clean = {0}; /* paths and messages may contain control characters */
    bool color = r->c->term.color;
    text_clipped(&clean, buf_view(text), SIZE_MAX);
    buf_putc(&clean, '\0');
    if (text->failed || clean.failed) out->failed = true;
    if (text->n && !clean.failed) {
        wrap_text(&prose, clean.p, LABEL, (unsigned)width_of(r));
        buf_printf(out, "  %s%-*s%s", paint_on(color, p), LABEL - 2, label,
                   paint_on(color, PAINT_OFF));
        buf_put(out, prose.p + LABEL, prose.n - LABEL);
    }
    buf_free(&prose);
    buf_free(&clean);
    buf_reset(text);
}

/* ---- lines ---- */

void run_ending(buf *b, int status)
{
    if (WIFEXITED(status)) {
        buf_printf(b, "exited with status %d", WEXITSTATUS(status));
        return;
    }
    const char *name = sigabbrev_np(WTERMSIG(status));
    buf_printf(b, "was killed by signal %d", WTERMSIG(status));
    if (name) buf_printf(b, " (SIG%s)", name);
}

static void put_head(run *r)
{
    char t[HUMAN_MAX];
    buf *b = &r->c->out;
    bool color = r->c->term.color;
    buf_printf(b, "%skiln:%s ", paint_on(color, PAINT_BOLD), paint_on(color, PAINT_OFF));
    text_clipped(b, str_of(r->c->args[0]), width_of(r));
    buf_printf(b, " ran for %s", human_duration(r->end.run_ns, t));
    if (r->end.status) {
        buf_printf(b, " and %s", paint_on(color, PAINT_YELLOW));
        run_ending(b, r->end.status);
        buf_z(b, paint_on(color, PAINT_OFF));
    }
    buf_putc(b, '\n');
}

static const char *plural(uint64_t n) { return n == 1 ? "" : "s"; }

/* Returns the larger number: the counters lack processes that ended abruptly, and the profile lacks
 * samples that were sent. */
static uint64_t most(uint64_t counted, uint64_t found) { return counted > found ? counted : found; }

static void put_captured(run *r, buf *t)
{
    const collected *p = &r->all;
    char n[HUMAN_MAX], d[HUMAN_MAX];
    const char *by = p->perf && !p->timer   ? " (perf events)"
                     : p->timer && !p->perf ? " (timers)"
                                            : "";
    run_tail(t, "%s CPU observations at %u Hz%s",
             human_count(most(p->capture.cpu_samples, r->n_cpu), n), r->hz, by);
    if (r->wall_ns)
        run_tail(t, "%s wall-clock observations every %s",
                 human_count(most(p->capture.wall_samples, r->n_wall), n),
                 human_duration(r->wall_ns, d));
    if (r->c->o.heap) run_tail(t, "%s sampled allocations", human_count(p->heap_samples, n));
    if (r->n_threads)
        run_tail(t, "%s thread%s", human_count(r->n_threads, n), plural(r->n_threads));
    if (r->processes.n)
        run_tail(t, "%s process%s", human_count(r->processes.n, n),
                 r->processes.n == 1 ? "" : "es");
    run_item(r, PAINT_BOLD, "captured", t);
}

void run_put_sent(run *r, buf *t)
{
    char n[HUMAN_MAX], b[HUMAN_MAX], k[HUMAN_MAX];
    const otlp_counts *s = &r->sent;
    if (!r->live) return;
    buf_printf(t, "%s profile%s to %s, %s in %s request%s", human_count(s->items_accepted, n),
               plural(s->items_accepted), r->c->o.address, human_bytes(s->bytes_sent, b),
               human_count(s->attempts, k), plural(s->attempts));
    run_item(r, PAINT_BOLD, "sent", t);
}

static void put_lost(run *r, buf *t)
{
    run_loss v[RUN_LOSSES];
    char n[HUMAN_MAX];
    size_t k = run_losses(r, v);
    for (size_t i = 0; i < k; i++) {
        buf_printf(t, "%s %s", human_count(v[i].n, n), v[i].what);
        run_item(r, PAINT_YELLOW, i ? "" : "lost", t);
    }
    if (!k && r->all.processes) buf_z(t, "nothing");
    run_item(r, PAINT_BOLD, "lost", t);
}

/* Prints how much of the CPU time that the kernel counted is sampled, and where the rest went. */
static void put_account(run *r, buf *t)
{
    run_account a = run_account_of(r);
    char used[HUMAN_MAX], some[HUMAN_MAX], n[HUMAN_MAX];
    if (!r->all.processes || !a.used) return;
    buf_printf(t, "%s of %s sampled", human_duration(a.sampled, some),
               human_duration(a.used, used));
    if (a.startup)
        run_tail(t, "%s during program start (exec, loader)", human_duration(a.startup, some));
    if (a.unsampled)
        run_tail(t, "%s in %s thread%s that ended before their first sample",
                 human_duration(a.unsampled, some), human_count(r->all.n_unsampled, n),
                 plural(r->all.n_unsampled));
    if (a.unseen * UNSEEN_SHARE > a.used)
        run_tail(t,
                 "%s not observed: process exit, threads that block the signal, static programs, "
                 "programs that clear LD_PRELOAD (kiln record observes the last two)",
                 human_duration(a.unseen, some));
    if (a.beyond * UNSEEN_SHARE > a.used)
        run_tail(t, "%s of it in processes that their parents did not wait for",
                 human_duration(a.beyond, some));
    run_item(r, PAINT_BOLD, "CPU time", t);
}

static void put_cost(run *r, buf *t)
{
    const collected *p = &r->all;
    char own[HUMAN_MAX], share[HUMAN_MAX];
    if (!p->processes) return;
    buf_printf(t, "%s of CPU time in kiln itself, %s of the program's",
               human_duration(p->own_cpu, own), human_percent(p->own_cpu, r->end.cpu_ns, share));
    run_item(r, PAINT_BOLD, "cost", t);
}

/* ---- tables ---- */

/* Threads always wait and allocate in the C or C++ runtime; these tables show the callers. */
#define RUNTIMES                                                                                   \
    "/lib(c|pthread|stdc\\+\\+|c\\+\\+)[-.]|/libkiln-heap|/include/([^/]+/)?c\\+\\+/|^/rustc/"

typedef struct table {
    const char *type, *title; /* NULL: none */
    const char *hide;
} table;

static const table tables[] = {
    {"cpu", NULL, NULL},
    {"off_cpu", "time spent waiting by function, without frames of the C and C++ runtimes",
     RUNTIMES},
    {"wall", "wall-clock time by function, without frames of the C and C++ runtimes", RUNTIMES},
    {"alloc_space", "allocated bytes by function, without frames of the C and C++ runtimes",
     RUNTIMES},
    {"inuse_space", "bytes in use by function, without frames of the C and C++ runtimes", RUNTIMES},
};

static bool has_samples(const model *m, const char *type)
{
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        if (p->n_samples && str_eq(dict_str(&m->dict, p->sample_type.type), str_of(type)))
            return true;
    }
    return false;
}

/* Prints a table of sums over all processes. */
static void put_table(run *r, const table *t, size_t rows)
{
    cli *c = r->c;
    query q = {.brief = true};
    flat f;
    err e = {0};
    c->o.wanted_type = t->type;
    c->o.hide = t->hide;
    c->o.all = true;
    flat_opts o = cli_flat_opts(c, rows);
    if (!query_borrow(&q, c, &r->in, BY_FUNCTION)) return;
    buf_putc(&c->out, '\n');
    if (t->title)
        buf_printf(&c->out, "%s%s%s\n", paint_on(c->term.color, PAINT_BOLD), t->title,
                   paint_on(c->term.color, PAINT_OFF));
    if (flat_of(&q.v, &o, &q.arena, &f, &e))
        top_text(&q, &f);
    else
        query_fail(&q, &e);
    query_close(&q);
}

/* Prints the tables of the requested types that have samples. */
void run_put_tables(run *r)
{
    cli *c = r->c;
    size_t n = 0;
    if (!c->o.width.given && !c->term.tty) c->o.width = (option_count){true, WIDTH};
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        if (has_samples(&r->in.doc.model, tables[i].type))
            put_table(r, &tables[i], n++ ? MORE_ROWS : ROWS);
    if (n) buf_putc(&c->out, '\n');
}

/* ---- written files and hints ---- */

void run_put_written(run *r, buf *t)
{
    char n[HUMAN_MAX];
    const char *name = r->output && !strcmp(r->output, "-") ? "standard output" : r->output;
    if (name) run_tail(t, "%s (%s)", name, human_bytes(r->otlp_bytes, n));
    if (r->html) run_tail(t, "%s (opens in a browser)", r->html);
    run_item(r, PAINT_BOLD, "written", t);
    if (r->has_old) {
        buf_printf(t, "kiln diff %s.old %s", r->output, r->output);
        run_item(r, PAINT_DIM, "compare", t);
    }
    if (r->html_missing) {
        buf_z(t, "no HTML report: this kiln was built without the viewer (npm was not available)");
        run_item(r, PAINT_DIM, "", t);
    }
}

static void put_empty(run *r, buf *t)
{
    char cpu[HUMAN_MAX], d[HUMAN_MAX];
    if (r->n_samples || r->live) return;
    if (!r->all.processes)
        buf_z(t, "nothing: the probe did not start in the program; check whether it clears "
                 "LD_PRELOAD or starts statically linked programs; kiln record profiles both");
    else if (2 * run_account_of(r).unseen > r->end.cpu_ns)
        buf_z(t, "nothing: most of the CPU time was used by processes in which the probe does not "
                 "start, such as statically linked programs; kiln record observes them");
    else
        buf_printf(t,
                   "nothing: the program used %s of CPU time, and kiln takes one sample for every "
                   "%s; try --hz 1000, or --wall for a program that waits",
                   human_duration(r->end.cpu_ns, cpu), human_duration(1000000000 / r->hz, d));
    run_item(r, PAINT_YELLOW, "written", t);
}

static void put_still_running(run *r, buf *t)
{
    if (r->all.still && r->follower) {
        buf_printf(t,
                   "%u process%s in the background: kiln (process %d) keeps profiling and updates "
                   "the files when %s ended; kill %d stops it now",
                   r->all.still, r->all.still == 1 ? " still runs" : "es still run", r->follower,
                   r->all.still == 1 ? "it has" : "they have", r->follower);
        run_item(r, PAINT_YELLOW, "more", t);
    } else if (r->all.still) {
        buf_printf(t, "%u process%s: samples taken from now on are not sent", r->all.still,
                   r->all.still == 1 ? " still runs" : "es still run");
        run_item(r, PAINT_YELLOW, "missing", t);
    }
    if (r->all.killed && r->c->o.heap) {
        buf_printf(
            t, "%u process%s ended abruptly: up to the last 16 s of the heap profile are missing",
            r->all.killed, r->all.killed == 1 ? "" : "es");
        run_item(r, PAINT_YELLOW, "missing", t);
    }
}

void run_put_names(run *r, buf *t)
{
    size_t n = 0;
    for (size_t i = 0; i < r->symbols.v.n && n < SYMBOL_LINES; i++)
        if (run_advice(r, &r->symbols.v.v[i], t)) run_item(r, PAINT_YELLOW, n++ ? "" : "names", t);
}

static void put_advice(run *r, buf *t)
{
    for (size_t i = 0; i < r->all.n_messages; i++) {
        buf_z(t, r->all.messages[i]);
        run_item(r, PAINT_YELLOW, "more", t);
    }
}

void run_print(run *r)
{
    buf t = {0};
    put_head(r);
    put_captured(r, &t);
    run_put_sent(r, &t);
    put_account(r, &t);
    put_lost(r, &t);
    put_cost(r, &t);
    run_put_tables(r);
    run_put_written(r, &t);
    put_empty(r, &t);
    put_still_running(r, &t);
    run_put_names(r, &t);
    put_advice(r, &t);
    buf_free(&t);
}
