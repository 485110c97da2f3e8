/* What the agents say about themselves when their process ends. */
#include "cli/run.h"

#include "wire/json.h"
#include "base/ban.h"

typedef struct counter {
    const char *name;
    size_t at; /* in run_report */
} counter;

#define X(name, what) {#name, offsetof(run_report, capture) + offsetof(capture_counts, name)},
static const counter of_capture[] = {CAPTURE_COUNTERS(X)};
#undef X
#define X(name, what) {#name, offsetof(run_report, sent) + offsetof(otlp_counts, name)},
static const counter of_export[] = {OTLP_COUNTERS(X)};
#undef X
static const counter of_heap[] = {
    {"samples", offsetof(run_report, heap_samples)},
    {"stacks_lost", offsetof(run_report, heap_stacks_lost)},
    {"live_lost", offsetof(run_report, heap_live_lost)},
};

static bool add_counter(json *j, run_report *to, const counter *v, size_t n)
{
    uint64_t *slot = NULL, x;
    for (size_t i = 0; i < n && !slot; i++)
        if (str_eq(j->text, str_of(v[i].name))) slot = (uint64_t *)(void *)((char *)to + v[i].at);
    if (!slot) return json_skip_value(j);
    if (json_next(j) == JSON_FAIL || !json_to_u64(j, UINT64_MAX, &x)) return false;
    *slot += x;
    return true;
}

static bool add_counters(json *j, run_report *to, const counter *v, size_t n)
{
    if (json_next(j) != JSON_OBJECT) return json_skip_open(j);
    while (json_next(j) == JSON_KEY)
        if (!add_counter(j, to, v, n)) return false;
    return true; /* a failure comes again with the next token */
}

static bool add_advice(json *j, run_report *to, arena *a)
{
    if (json_next(j) != JSON_ARRAY) return json_skip_open(j);
    while (json_next(j) == JSON_STRING) {
        bool known = false;
        for (size_t i = 0; i < to->advice.n; i++) known = known || str_eq(to->advice.v[i], j->text);
        if (known) continue;
        char *copy = arena_alloc(a, j->text.n + 1);
        str *slot = copy ? vec_push(a, &to->advice) : NULL;
        if (!slot) return err_set(j->e, ERR_LIMIT, "the memory budget is spent");
        if (j->text.n) memcpy(copy, j->text.p, j->text.n);
        *slot = (str){copy, j->text.n};
    }
    return true;
}

static uint64_t number(json *j)
{
    uint64_t x = 0;
    return json_next(j) != JSON_FAIL && json_to_u64(j, UINT64_MAX, &x) ? x : 0;
}

static bool add_member(json *j, run_report *to, arena *a)
{
    str key = j->text;
    if (str_eq(key, STR("capture"))) return add_counters(j, to, of_capture, ARRAY_LEN(of_capture));
    if (str_eq(key, STR("export"))) return add_counters(j, to, of_export, ARRAY_LEN(of_export));
    if (str_eq(key, STR("heap"))) return add_counters(j, to, of_heap, ARRAY_LEN(of_heap));
    if (str_eq(key, STR("advice"))) return add_advice(j, to, a);
    if (str_eq(key, STR("own_cpu_ns"))) {
        to->own_cpu_ns += number(j);
    } else if (str_eq(key, STR("own_peak_kb"))) {
        uint64_t kb = number(j);
        if (kb > to->peak_kb) to->peak_kb = kb;
    } else if (str_eq(key, STR("cpu_source"))) {
        if (json_next(j) != JSON_STRING) return json_skip_open(j);
        to->perf = to->perf || str_eq(j->text, STR("perf"));
        to->timer = to->timer || str_eq(j->text, STR("timer"));
    } else {
        return json_skip_value(j);
    }
    return true;
}

bool run_report_add(run_report *to, str bytes, arena *a, err *e)
{
    json j = json_open(bytes.p, bytes.n, a, e);
    if (json_next(&j) != JSON_OBJECT) return json_expected(&j, "a report of the agent");
    while (json_next(&j) == JSON_KEY)
        if (!add_member(&j, to, a)) return false;
    if (!json_finish(&j)) return false;
    to->n++;
    return true;
}

/* ---- losses ---- */

size_t run_losses(const run_report *r, run_loss out[RUN_LOSSES])
{
    const run_loss all[] = {
#define LOSS(field) {#field, NULL, r->capture.field},
        LOSS(ring_full) LOSS(batch_full) LOSS(rounds_full) LOSS(wall_late) LOSS(wall_unanswered)
            LOSS(blocked) LOSS(truncated) LOSS(broken) LOSS(no_register) LOSS(threads_lost)
#undef LOSS
                {"heap_stacks_lost", "heap samples without a stack: the table of stacks was full",
                 r->heap_stacks_lost},
        {"heap_live_lost", "heap samples whose free was not seen: the table was full",
         r->heap_live_lost},
        {"items_lost", "profiles that did not arrive", otlp_items_lost(&r->sent)},
    };
    static const run_loss words[] = {
#define X(name, what) {#name, what, 0},
        CAPTURE_COUNTERS(X)
#undef X
    };
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (!all[i].n) continue;
        out[n] = all[i];
        for (size_t k = 0; !out[n].what && k < ARRAY_LEN(words); k++)
            if (!strcmp(words[k].name, all[i].name)) out[n].what = words[k].what;
        n++;
    }
    return n;
}
