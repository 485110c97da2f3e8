/* Prints the summary of `kiln record` as text and as JSON. */
#include "cli/record.h"

#include "draw/human.h"
#include "draw/text.h"
#include "wire/json.h"
#include "base/ban.h"
#include <sys/wait.h>

static record_run *of(run *r) { return (record_run *)(void *)r; /* r is its first member */ }

/* ---- text ---- */

static void put_head(run *r)
{
    record_run *x = of(r);
    char t[HUMAN_MAX];
    buf *b = &r->c->out;
    bool color = r->c->term.color;
    buf_printf(b, "%skiln:%s ", paint_on(color, PAINT_BOLD), paint_on(color, PAINT_OFF));
    text_clipped(b, r->title, 60);
    buf_printf(b, x->has_program && !x->runs_on ? " ran for %s" : " recorded for %s",
               human_duration(x->ran_ns, t));
    if (x->has_program && r->end.status) {
        buf_printf(b, " and %s", paint_on(color, PAINT_YELLOW));
        run_ending(b, r->end.status);
        buf_z(b, paint_on(color, PAINT_OFF));
    }
    buf_putc(b, '\n');
}

static void put_captured(run *r, buf *t)
{
    const record_run *x = of(r);
    const recorded *n = &x->all;
    char a[HUMAN_MAX], b[HUMAN_MAX];
    run_tail(t, "%s at %u Hz (%s), %s", human_things(n->cpu_samples, "CPU observation", a), r->hz,
             n->bpf ? "BPF" : "perf events", human_duration(n->cpu_ns, b));
    if (x->o.off_cpu)
        run_tail(t, "%s, %s", human_things(n->waits, "wait", a), human_duration(n->wait_ns, b));
    if (n->short_waits)
        run_tail(t, "%s left out, %s", human_things(n->short_waits, "shorter wait", a),
                 human_duration(n->short_ns, b));
    if (r->n_threads) run_tail(t, "%s", human_things(r->n_threads, "thread", a));
    if (n->processes)
        run_tail(t, "%s process%s", human_count(n->processes, a), n->processes == 1 ? "" : "es");
    if (n->spans) run_tail(t, "%s with a span", human_count(n->spans, a));
    if (n->spans_torn)
        run_tail(t, "%s discarded while changing", human_things(n->spans_torn, "span", a));
    run_item(r, PAINT_BOLD, "captured", t);
}

/* The counters that are losses, with their descriptions. */
static size_t losses_of(const record_run *x, run_loss out[RUN_LOSSES])
{
    const recorded *c = &x->all;
    const run_loss all[] = {
#define X(name, what) {#name, what, c->name},
        RECORD_COUNTERS(X)
#undef X
            {"items_lost", "profile{s} not delivered", otlp_items_lost(&x->r.sent)},
        {"parts_lost", "profile{s} lost: not enough memory and not enough space in TMPDIR",
         x->r.parts_lost},
    };
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (all[i].n) out[n++] = all[i];
    return n;
}

/* Appends a description, with the letters in braces unless n is 1. */
static void put_noun(buf *t, const char *text, uint64_t n)
{
    bool in = false;
    for (; *text; text++)
        if (*text == '{' || *text == '}')
            in = *text == '{';
        else if (!in || n != 1)
            buf_putc(t, *text);
}

static void put_lost(run *r, buf *t)
{
    run_loss v[RUN_LOSSES];
    char n[HUMAN_MAX];
    size_t k = losses_of(of(r), v);
    for (size_t i = 0; i < k; i++) {
        bool is_time = str_ends(str_of(v[i].name), STR("_ns"));
        buf_printf(t, "%s ", (is_time ? human_duration : human_count)(v[i].n, n));
        put_noun(t, v[i].what, v[i].n);
        run_item(r, PAINT_YELLOW, i ? "" : "lost", t);
    }
    if (!k && of(r)->all.processes) buf_z(t, "nothing");
    run_item(r, PAINT_BOLD, "lost", t);
}

static void put_cost(run *r, buf *t)
{
    const recorded *n = &of(r)->all;
    char own[HUMAN_MAX], bpf[HUMAN_MAX];
    buf_printf(t, "%s of CPU time in kiln itself", human_duration(n->own_cpu, own));
    if (n->bpf_ns) run_tail(t, "%s in its BPF programs", human_duration(n->bpf_ns, bpf));
    run_item(r, PAINT_BOLD, "cost", t);
}

static void put_notes(run *r, buf *t)
{
    const record_run *x = of(r);
    if (x->runs_on) {
        buf_z(t, "the program runs on without being recorded; kiln waits for its end");
        run_item(r, PAINT_DIM, "more", t);
    }
    if (x->all.user_only) {
        buf_z(t, "CPU time in the kernel is not sampled: kernel.perf_event_paranoid permits "
                 "unprivileged users only samples of user code");
        run_item(r, PAINT_YELLOW, "more", t);
    }
    if (x->all.why_perf[0]) {
        buf_printf(t, "perf events instead of BPF: %s", x->all.why_perf);
        run_item(r, PAINT_DIM, "more", t);
    }
    if (x->o.aggregate && !x->all.bpf) {
        buf_z(t, "--aggregate has no effect with perf events");
        run_item(r, PAINT_DIM, "more", t);
    }
}

/* Explains an empty profile: by what prevents observations, otherwise by too little CPU time. */
static void put_reason(const record_run *x, buf *t)
{
    if (x->kernel_thread && !x->o.kernel)
        buf_printf(t, "process %u is a kernel thread; --kernel records it", x->kernel_thread);
    else if (x->gains && !x->all.bpf)
        buf_z(t, "the program gains privileges when it starts (setuid, setgid or file "
                 "capabilities), and the kernel then removes its perf events; BPF mode, for root "
                 "or with CAP_BPF and CAP_PERFMON, records it");
    else if (x->o.comm)
        buf_printf(t, "no thread named `%s` %s", x->o.comm,
                   x->o.off_cpu ? "ran or finished a wait" : "used enough CPU time for a sample");
    else if (x->o.off_cpu)
        buf_z(t, "the processes neither ran nor finished a wait");
    else
        buf_printf(t,
                   "the processes used too little CPU time for a sample; try %s--off-cpu for "
                   "processes that wait",
                   x->r.hz < 1000 ? "--hz 1000, or " : "");
}

static void put_empty(run *r, buf *t)
{
    if (r->n_samples || r->live) return;
    buf_z(t, "nothing: ");
    put_reason(of(r), t);
    run_item(r, PAINT_YELLOW, "written", t);
}

void record_print(run *r)
{
    buf t = {0};
    put_head(r);
    put_captured(r, &t);
    run_put_sent(r, &t);
    put_lost(r, &t);
    put_cost(r, &t);
    put_notes(r, &t);
    run_put_tables(r);
    run_put_written(r, &t);
    put_empty(r, &t);
    run_put_names(r, &t);
    buf_free(&t);
}

/* ---- JSON ---- */

void record_print_json(run *r)
{
    record_run *x = of(r);
    const recorded *n = &x->all;
    run_loss v[RUN_LOSSES];
    json_out o = {.b = &r->c->out, .pretty = true};

    json_put_object(&o);
    run_json_number(&o, "schema", 1);
    run_json_number(&o, "ran_ns", x->ran_ns);
    json_put_key(&o, STR("mode"));
    json_put_str(&o, n->bpf ? STR("bpf") : STR("perf"));
    run_json_number(&o, "hz", r->hz);
    run_json_number(&o, "cpu_observations", n->cpu_samples);
    run_json_number(&o, "cpu_ns", n->cpu_ns);
    run_json_number(&o, "waits", n->waits);
    run_json_number(&o, "wait_ns", n->wait_ns);
    run_json_number(&o, "short_waits", n->short_waits);
    run_json_number(&o, "short_ns", n->short_ns);
    run_json_number(&o, "stacks_whole", n->whole);
    run_json_number(&o, "frames_guessed", n->guessed);
    run_json_number(&o, "spans", n->spans);
    run_json_number(&o, "spans_torn", n->spans_torn);
    run_json_number(&o, "repeated", n->repeated);
    run_json_number(&o, "processes", n->processes);
    run_json_number(&o, "threads", r->n_threads);
    run_json_number(&o, "own_cpu_ns", n->own_cpu);
    run_json_number(&o, "bpf_ns", n->bpf_ns);
    json_put_key(&o, STR("lost"));
    json_put_object(&o);
    size_t k = losses_of(x, v);
    for (size_t i = 0; i < k; i++) run_json_number(&o, v[i].name, v[i].n);
    json_put_object_end(&o);
    json_put_key(&o, STR("export"));
    json_put_object(&o);
#define X(name, what) run_json_number(&o, #name, r->sent.name);
    OTLP_COUNTERS(X)
#undef X
    json_put_object_end(&o);
    run_json_path(&o, "output", r->output);
    run_json_path(&o, "html", r->html);
    json_put_object_end(&o);
    buf_putc(&r->c->out, '\n');
}
