/* `kiln record`: checks everything that can fail before the recording starts, records, and writes
 * profile, report and summary. */
#include "cli/record.h"

#include "base/time.h"
#include "base/text.h"
#include "sys/process.h"
#include "sys/program.h"
#include "sys/temp.h"
#include "base/ban.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- options ---- */

static bool parse_time(const char *option, const char *text, uint64_t least, uint64_t *ns, err *e)
{
    if (!text) return true;
    if (duration_parse(str_of(text), ns) && *ns >= least) return true;
    return err_set(e, ERR_USAGE, "%s must be a time such as 30s, not `%s`", option, text);
}

bool record_options(record_run *x, err *e)
{
    const cli_options *o = &x->r.c->o;
    uint64_t every = 10 * NS_PER_S;
    x->r.hz = o->hz.given ? o->hz.n : RUN_HZ;
    if (x->r.hz < 1 || x->r.hz > RUN_HZ_MAX)
        return err_set(e, ERR_USAGE, "--hz must be between 1 and %d", RUN_HZ_MAX);
    if (!parse_time("--duration", o->duration, NS_PER_MS, &x->duration_ns, e) ||
        !parse_time("--off-cpu-min", o->off_cpu_min, 0, &x->o.off_cpu_min_ns, e) ||
        !parse_time("--every", o->every, NS_PER_S, &every, e))
        return false;
    const char *mode = o->record_mode ? o->record_mode : "auto";
    x->o.size = sizeof x->o;
    x->o.mode = !strcmp(mode, "perf")  ? RECORD_PERF
                : !strcmp(mode, "bpf") ? RECORD_BPF
                                       : RECORD_BEST;
    x->o.hz = x->r.hz;
    x->o.off_cpu = o->off_cpu || o->off_cpu_min;
    x->o.kernel = o->kernel_stacks;
    x->o.aggregate = o->aggregate;
    x->o.comm = o->comm;
    if (o->comm && !*o->comm) return err_set(e, ERR_USAGE, "--comm needs the name of a thread");
    if (x->o.off_cpu && x->o.mode == RECORD_PERF)
        return err_set(e, ERR_USAGE, "--off-cpu needs BPF; leave out --mode perf");
    if (x->o.aggregate && x->o.mode == RECORD_PERF)
        return err_set(e, ERR_USAGE, "--aggregate needs BPF; leave out --mode perf");
    if ((o->every || o->protocol) && !o->address)
        return err_set(e, ERR_USAGE, "%s needs --to", o->every ? "--every" : "--protocol");
    x->o.flush_ns = o->address && !o->output && !o->html ? every : 0;
    return true;
}

static bool parse_pid(record_run *x, str text, uint32_t *pid, err *e)
{
    char z[16] = "", *end;
    if (text.n < sizeof z) memcpy(z, text.p, text.n);
    errno = 0;
    unsigned long v = strtoul(z, &end, 10);
    if (errno || end == z || *end || !v || v > INT32_MAX)
        return err_set(e, ERR_USAGE, "`%.*s` is not a process id", STR_ARG(text));
    *pid = (uint32_t)v;
    uint32_t process = process_of_thread(*pid);
    if (!process) return err_sys(e, ESRCH, "process %u", *pid);
    if (process == (uint32_t)getpid())
        return err_set(e, ERR_USAGE, "kiln does not record itself (process %u)", *pid);
    if (process != *pid)
        cli_note(x->r.c, "%u is a thread; recording its process %u", *pid, process);
    *pid = process;
    if (process_is_kernel_thread(process)) x->kernel_thread = process;
    return true;
}

/* Returns the name of the program of a process, for the names of the files.  Kernel threads, and
 * processes of other users, only have the name of their thread. */
static str program_of(record_run *x, uint32_t pid)
{
    char link[64], path[4096], name[PROCESS_NAME_BYTES];
    snprintf(link, sizeof link, "/proc/%u/exe", pid);
    ssize_t n = readlink(link, path, sizeof path);
    process_thread_name((int)pid, pid, name);
    str base = n > 0 ? str_base_name((str){path, (size_t)n}) : str_of(name);
    str deleted = STR(" (deleted)");
    if (str_ends(base, deleted)) base.n -= deleted.n;
    char *p = base.n ? arena_zero(&x->r.arena, base.n + 1) : NULL;
    if (!p) return STR("process");
    for (size_t i = 0; i < base.n; i++) p[i] = base.p[i] == '/' ? '-' : base.p[i]; /* kworker/0:1 */
    return (str){p, base.n};
}

static bool choose_target(record_run *x, err *e)
{
    cli *c = x->r.c;
    const cli_options *o = &c->o;
    int given = (o->pids.n > 0) + o->whole_machine + (o->cgroup != NULL) + (c->n_args > 0);
    if (given != 1)
        return err_set(e, ERR_USAGE, "%s: -p PID, -a, --cgroup DIR, or a program",
                       given ? "choose only one target" : "nothing to record; choose a target");
    x->r.attached = true;
    if (o->whole_machine) {
        x->o.target = RECORD_ALL;
        x->r.title = STR("machine");
    } else if (o->cgroup) {
        x->o.target = RECORD_CGROUP;
        x->o.cgroup = o->cgroup;
        str base = str_of(o->cgroup);
        while (base.n > 1 && base.p[base.n - 1] == '/') base.n--;
        base = str_base_name(base);
        x->r.title = base.n ? base : STR("cgroup");
    } else if (c->n_args) {
        x->o.target = RECORD_PIDS;
        x->has_program = true;
        x->r.attached = false;
        x->r.title = input_title(c->args[0]);
        if (!program_find(c->args[0], &x->r.arena, &x->r.path, e)) return false;
        x->gains = program_gains(x->r.path) != PROGRAM_GAINS_NOTHING;
    } else {
        uint32_t *v = arena_new(&x->r.arena, uint32_t, o->pids.n);
        if (!v) return err_memory(e);
        for (size_t i = 0; i < o->pids.n; i++)
            if (!parse_pid(x, o->pids.v[i], &v[i], e)) return false;
        x->o.target = RECORD_PIDS;
        x->o.pids = v;
        x->o.n_pids = o->pids.n;
        x->r.title = program_of(x, v[0]);
    }
    return true;
}

/* ---- the recording ---- */

static void deliver(record_run *x)
{
    run *r = &x->r;
    err e = {0};
    run_close_exporter(r);
    if (!run_collect(r, &e)) cli_fail_err(r->c, NULL, &e);
    run_write_files(r);
    run_summarize(r, record_print, record_print_json);
    run_send_file(r);
    cli_flush(r->c); /* the program may run on */
}

static exit_code finish(record_run *x, bool ran)
{
    run *r = &x->r;
    cli *c = r->c;
    input_close(&r->in);
    recorder_close(x->recorder);
    module_cache_close(&r->modules);
    arena_free(&r->arena);
    temp_close();
    record_release(x);
    if (!ran || !x->has_program) return c->worst;
    cli_flush(c);
    child_die_by_signal(r->end.status);
    int code =
        WIFEXITED(r->end.status) ? WEXITSTATUS(r->end.status) : 128 + WTERMSIG(r->end.status);
    if (code) c->worst = (exit_code)code;
    return c->worst;
}

static bool execute(record_run *x)
{
    run *r = &x->r;
    err e = {0};
    r->tmp = temp_open("kiln-record", &e);
    bool ran = r->tmp && run_config(r, &e) && run_open_exporter(r, &e) && record_open(x, &e);
    x->deliver = deliver;
    ran = ran && (x->has_program ? record_program(x, &e) : record_wait(x, &e));
    if (ran && !x->runs_on) deliver(x);
    run_close_exporter(r);
    if (!ran) cli_fail_err(r->c, NULL, &e);
    if (!ran && r->end.start_ns && !r->end.pid) r->c->worst = EXIT_CANNOT_RUN; /* exec failed */
    return ran;
}

exit_code cmd_record(cli *c)
{
    record_run x = {.r = {.c = c}};
    err e = {0};
    c->fd = STDERR_FILENO;
    c->term = c->term_err;
    bool ok =
        record_options(&x, &e) && choose_target(&x, &e) && run_choose_files(&x.r, x.r.title, &e);
    if (!ok && x.has_program && e.code == ERR_SYS) {
        char why[512]; /* as `kiln run` and shells do */
        cli_fail(c, e.sys == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN, "%s: %s", c->args[0],
                 err_text(&e, why, sizeof why));
    } else if (!ok) {
        cli_fail_err(c, NULL, &e);
    }
    bool ran = ok && run_can_write(&x.r) && execute(&x);
    return finish(&x, ran);
}

/* The heap can only be sampled inside the program.  Waits take the place of wall-clock samples. */
static bool can_record_instead(cli *c, const char *why, err *e)
{
    if (c->o.heap)
        return err_sys(
            e, 0,
            "%s, so --heap is not possible; without it, kiln records the program from outside",
            why);
    c->o.off_cpu = c->o.wall || c->o.every;
    return true;
}

exit_code record_instead(cli *c, const char *path, str title, const char *why)
{
    record_run x = {.r = {.c = c, .path = path, .title = title},
                    .has_program = true,
                    .gains = program_gains(path) != PROGRAM_GAINS_NOTHING};
    err e = {0};
    bool ok = can_record_instead(c, why, &e);
    if (ok) cli_note(c, "%s; recording from outside instead, as `kiln record` does", why);
    c->o.every = NULL; /* of `kiln run`: the interval of wall-clock sampling */
    ok = ok && record_options(&x, &e) && run_choose_files(&x.r, title, &e);
    if (!ok) cli_fail_err(c, NULL, &e);
    bool ran = ok && run_can_write(&x.r) && execute(&x);
    return finish(&x, ran);
}
