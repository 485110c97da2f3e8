/* Prints the summary of `kiln run` as JSON (docs/run.md). */
#include "cli/run.h"

#include "wire/json.h"
#include "base/ban.h"
#include <sys/wait.h>

void run_json_number(json_out *o, const char *key, uint64_t v)
{
    json_put_key(o, str_of(key));
    json_put_u64(o, v);
}

void run_json_path(json_out *o, const char *key, const char *path)
{
    json_put_key(o, str_of(key));
    if (path)
        input_path_json(o, path);
    else
        json_put_null(o);
}

static void put_ending(json_out *o, int status)
{
    json_put_key(o, STR("status"));
    if (WIFEXITED(status))
        json_put_i64(o, WEXITSTATUS(status));
    else
        json_put_null(o);
    json_put_key(o, STR("signal"));
    if (WIFSIGNALED(status))
        json_put_i64(o, WTERMSIG(status));
    else
        json_put_null(o);
}

static void put_counters(json_out *o, const run *r)
{
    json_put_key(o, STR("capture"));
    json_put_object(o);
#define X(name, what) run_json_number(o, #name, r->all.capture.name);
    CAPTURE_COUNTERS(X)
#undef X
    json_put_object_end(o);
    json_put_key(o, STR("export"));
    json_put_object(o);
#define X(name, what) run_json_number(o, #name, r->sent.name);
    OTLP_COUNTERS(X)
#undef X
    json_put_object_end(o);
    json_put_key(o, STR("heap"));
    json_put_object(o);
    run_json_number(o, "samples", r->all.heap_samples);
    run_json_number(o, "stacks_lost", r->all.heap_stacks_lost);
    run_json_number(o, "live_lost", r->all.heap_live_lost);
    json_put_object_end(o);
}

static void put_account(json_out *o, const run *r)
{
    run_account a = run_account_of(r);
    json_put_key(o, STR("cpu"));
    json_put_object(o);
    run_json_number(o, "used_ns", a.used);
    run_json_number(o, "sampled_ns", a.sampled);
    run_json_number(o, "startup_ns", a.startup);
    run_json_number(o, "unsampled_ns", a.unsampled);
    run_json_number(o, "unsampled_threads", r->all.n_unsampled);
    run_json_number(o, "unseen_ns", a.unseen);
    run_json_number(o, "beyond_ns", a.beyond);
    json_put_object_end(o);
}

static void put_losses(json_out *o, const run *r)
{
    run_loss v[RUN_LOSSES];
    size_t n = run_losses(r, v);
    json_put_key(o, STR("lost"));
    json_put_object(o);
    for (size_t i = 0; i < n; i++) run_json_number(o, v[i].name, v[i].n);
    json_put_object_end(o);
}

static void put_lists(json_out *o, const run *r)
{
    json_put_key(o, STR("processes"));
    json_put_array(o);
    for (size_t i = 0; i < r->processes.n; i++) {
        o->flat_at = o->depth + 1;
        json_put_object(o);
        run_json_number(o, "pid", r->processes.v[i].pid);
        json_put_key(o, STR("reported"));
        json_put_bool(o, r->processes.v[i].reported);
        json_put_object_end(o);
    }
    json_put_array_end(o);
    json_put_key(o, STR("advice"));
    json_put_array(o);
    for (size_t i = 0; i < r->all.n_messages; i++) json_put_str(o, str_of(r->all.messages[i]));
    json_put_array_end(o);
}

void run_print_json(run *r)
{
    json_out o = {.b = &r->c->out, .pretty = true};
    json_put_object(&o);
    run_json_number(&o, "schema", 1);
    run_json_path(&o, "program", r->path);
    put_ending(&o, r->end.status);
    run_json_number(&o, "start", r->end.start_ns);
    run_json_number(&o, "duration_ns", r->end.run_ns);
    run_json_number(&o, "cpu_ns", r->end.cpu_ns);
    put_account(&o, r);
    run_json_number(&o, "own_cpu_ns", r->all.own_cpu);
    run_json_path(&o, "cpu_source", r->all.perf ? "perf" : r->all.timer ? "timer" : NULL);
    run_json_number(&o, "samples", r->n_samples);
    run_json_number(&o, "threads", r->n_threads);
    run_json_number(&o, "locations", r->symbols.n_locations);
    run_json_number(&o, "named", r->symbols.n_found);
    run_json_path(&o, "output", r->output);
    run_json_path(&o, "html", r->html);
    run_json_number(&o, "still", r->all.still);
    run_json_number(&o, "follower", (uint64_t)r->follower);
    put_counters(&o, r);
    put_losses(&o, r);
    put_lists(&o, r);
    json_put_object_end(&o);
    buf_putc(&r->c->out, '\n');
}
