/* cli/run.h - `kiln run`: a program with the agent in it, and what came of it.
 *
 *   run_target   is it a program that can be preloaded into?
 *   run_agent    where is the agent; what the program's environment says to it
 *   run_collect  the files of all processes -> one model with names
 *   run_report   what the agents say about themselves, added up
 *   run_advice   what to do about frames without names
 *   run_out      all of it for people; run_json for machines */
#pragma once
#include "agent/batch.h"
#include "cli/input.h"
#include "otlp/counters.h"
#include "symbol/symbolize.h"
#include "sys/child.h"

enum { RUN_HZ = 99, RUN_HZ_MAX = 10000 };
#define RUN_EVERY_NS (10 * UINT64_C(1000000))

/* What KILN_REPORT holds, of all processes that wrote one. */
typedef struct run_report {
    size_t n;
    uint64_t own_cpu_ns, peak_kb; /* sum; largest */
    bool perf, timer;             /* where CPU samples came from */
    capture_counts capture;
    otlp_counts sent;
    uint64_t heap_samples, heap_stacks_lost, heap_live_lost;
    VEC(str) advice; /* sentences, each once */
} run_report;

typedef struct run_process {
    uint32_t pid;
    bool reported; /* it wrote a report: it ended in good order */
} run_process;

typedef struct run {
    cli *c;
    arena arena;
    const char *path; /* of the file that is run */
    const char
        *first;      /* a library that has to be preloaded before ours (libasan.so.8); NULL: none */
    const char *tmp; /* the directory that the agents write to */
    const char *output; /* NULL: nothing is written */
    const char *html;   /* NULL: none */
    const char *json;   /* NULL: for people; "": to standard error */
    uint64_t wall_ns;   /* 0: no rounds of the wall clock */
    uint32_t hz;
    bool live;         /* the agents send by themselves */
    bool has_old;      /* the output of an earlier run was kept as .old */
    bool html_missing; /* this kiln has no viewer */
    child_end end;
    VEC(run_process) processes;
    run_report report;
    input in; /* the merged profile; in.path is NULL until there is one */
    symbolize_report symbols;
    uint64_t n_samples, n_threads;
    uint64_t n_cpu, n_wall; /* observations in the profile */
    uint64_t otlp_bytes;
} run;

/* A sentence in *e why the agent cannot get into it (ERR_UNSUPPORTED), or that it cannot be run (ERR_SYS). */
NODISCARD bool run_target(run *r, const char *name, err *e);

/* Fills *env (terminated by NULL, in the arena) for the program.  ERR_SYS: no agent; *e says where it was
 * looked for. */
NODISCARD bool run_environment(run *r, const char *const **env, err *e);

/* Everything the agents left in r->tmp. */
NODISCARD bool run_collect(run *r, err *e);

/* Adds one report; what is not understood is left out. */
NODISCARD bool run_report_add(run_report *to, str json, arena *a, err *e);

/* ---- printing; into c->out ---- */
void run_tell(run *r);
void run_tell_json(run *r);
/* "ended with status 3", "was killed by SIGSEGV (segmentation fault)" */
void run_ending(buf *b, int status);

/* What to do about the names of one binary, as a sentence; false: nothing, or nothing worth it. */
bool run_advice(const run *r, const symbolized *s, buf *t);

/* Counters of the agents that mean a loss, those that are not 0. */
typedef struct run_loss {
    const char *name, *what;
    uint64_t n;
} run_loss;
enum { RUN_LOSSES = 32 };
size_t run_losses(const run_report *r, run_loss out[RUN_LOSSES]);
