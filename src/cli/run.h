/* cli/run.h - `kiln run`: starts a program with the probe, and reports the result.
 *
 *   run_target   checks whether the probe can be preloaded
 *   run_probe    finds the probe and builds the program's environment
 *   run_capture  configures the collector, receives its profiles, sends them
 *   run_collect  merges the parts of all processes into one model with names
 *   run_names    adds up the results of symbol lookups
 *   run_report   counts losses and accounts for CPU time
 *   run_advice   gives advice about frames without names
 *   run_out      prints the summary as text; run_json as JSON */
#pragma once
#include "agent/config.h"
#include "cli/input.h"
#include "collect/collector.h"
#include "otlp/counters.h"
#include "otlp/exporter.h"
#include "symbol/symbolize.h"
#include "sys/child.h"

enum { RUN_HZ = 99, RUN_HZ_MAX = 10000 };
#define RUN_EVERY_NS (10 * UINT64_C(1000000))

typedef struct run_process {
    uint32_t pid;
    bool reported; /* the probe wrote its exit notice */
} run_process;

/* A part of a process's profile, as OTLP. */
typedef struct run_part {
    uint32_t pid;
    buf bytes;        /* or, when memory is full, a file: */
    const char *file; /* NULL: none */
} run_part;

/* Identifies the version of a file; all zero: no file. */
typedef struct run_mark {
    uint64_t dev, inode;
    int64_t s, ns; /* time of last modification */
} run_mark;
enum { RUN_FILES = 2 };

typedef struct run {
    cli *c;
    arena arena;
    str title;        /* name of the recording: of the report, and of files without --output */
    const char *path; /* path of the program */
    const char
        *first; /* a library that must be preloaded before the probe (libasan.so.8); NULL: none */
    const char *tmp;    /* directory for parts of profiles */
    const char *output; /* NULL: no file */
    const char *html;   /* NULL: none */
    const char *json;   /* NULL: text; "": JSON to standard error */
    uint64_t wall_ns;   /* 0: no wall-clock samples */
    uint32_t hz;
    bool live;                       /* profiles are sent while the program runs */
    bool attached;                   /* the processes ran before kiln did */
    bool has_old;                    /* the output of an earlier run was kept as .old */
    bool html_missing;               /* this kiln was built without the viewer */
    int follower;                    /* process that continues to collect; 0: none */
    int to_follower;                 /* a pipe on which the follower waits */
    const char *followed[RUN_FILES]; /* files that the follower will write again: profile, report */
    run_mark marks[RUN_FILES];       /* in the follower: these files as its parent wrote them */
    bool rewrites; /* this process is the follower: existing files belong to this run */
    child_end end;
    agent_config config; /* rates, frames and resource from the environment */
    collector *collector;
    exporter *exporter; /* NULL unless live */
    otlp_config net;
    module_cache modules; /* live: cache of files that contain names */
    VEC(run_process) processes;
    VEC(run_part) parts;
    size_t part_bytes;   /* bytes of parts in memory */
    uint64_t parts_lost; /* profiles that fitted neither memory nor TMPDIR */
    collected all;
    otlp_counts sent;
    input in;                 /* the merged profile; in.path is NULL until it exists */
    symbolize_report symbols; /* of all lookups */
    uint64_t n_samples, n_threads;
    uint64_t n_cpu, n_wall; /* observations in the profile */
    uint64_t otlp_bytes;
} run;

/* Finds the program.  Fails with ERR_UNSUPPORTED when the probe cannot be preloaded, with
 * ERR_MISMATCH when the program is for another architecture, and with ERR_SYS when it cannot be
 * run. */
NODISCARD bool run_target(run *r, const char *name, err *e);

/* Builds *env (terminated by NULL, in the arena) for the program.  Fails with ERR_SYS when the
 * probe was not found. */
NODISCARD bool run_environment(run *r, const char *const **env, err *e);

/* Opens and starts the collector, and with `live` the exporter. */
NODISCARD bool run_capture_open(run *r, err *e);
/* Called when the program has ended; processes that it started may still run (r->all.still).
 * Delivers all pending profiles. */
void run_capture_close(run *r);
/* Starts a background process that collects until these processes have ended and then calls `write`
 * to write the files again.  Returns its process id, or 0.  Must be called before
 * run_capture_close. */
int run_follow(run *r, void (*write)(run *r));
/* Called when the files are written.  Allows the follower to write them again. */
void run_follow_go(run *r);
/* Called in the follower.  Returns whether another run has written this file since. */
bool run_is_taken(const run *r, size_t which);

/* ---- files (run_files.c) ---- */

/* Chooses the names of profile and report; `name` is used without --output. */
NODISCARD bool run_choose_files(run *r, str name, err *e);
/* Checks the outputs before the recording, so that no profile is lost at the end. */
bool run_can_write(run *r);
/* Returns the name with this process's id in it: "x/app-4711.pb.gz". */
const char *run_own_name(run *r, const char *path);
void run_write_files(run *r);
/* Prints the summary with one of the two functions, as --json and --quiet require. */
void run_summarize(run *r, void (*text)(run *r), void (*json)(run *r));
/* Sends the profile with the options of `kiln send`, if there is a file and a destination. */
void run_send_file(run *r);

/* ---- parts (run_capture.c) ---- */

/* Reads the variables of the agent that also apply to a recording from outside. */
NODISCARD bool run_config(run *r, err *e);
/* Opens the exporter if profiles are sent while the program runs. */
NODISCARD bool run_open_exporter(run *r, err *e);
void run_close_exporter(run *r);
/* Keeps a part of a profile, or sends it.  Takes ownership of *bytes. */
void run_take_part(run *r, uint32_t pid, buf *bytes);

/* Merges the parts into one model, with names. */
NODISCARD bool run_collect(run *r, err *e);

/* ---- names (run_names.c) ---- */

/* Adds the result of a lookup to r->symbols.  Parts are named when they are delivered, while their
 * processes still run; addresses without names are looked up again in the `merged` profile. */
NODISCARD bool run_add_symbols(run *r, const symbolize_report *x, bool merged, err *e);

/* ---- printing; into c->out ---- */
void run_print(run *r);
/* Prints a label with wrapped text; empties `text`. */
void run_item(run *r, paint p, const char *label, buf *text);
/* Appends to a list: "a", "a, b", "a, b, c". */
void run_tail(buf *b, const char *fmt, ...) PRINTF(2, 3);
/* Print parts of the summary: what was sent, tables, files, advice about names. */
void run_put_sent(run *r, buf *t);
void run_put_tables(run *r);
void run_put_written(run *r, buf *t);
void run_put_names(run *r, buf *t);
void run_print_json(run *r);
/* Print a member of an object; a path may be NULL. */
struct json_out;
void run_json_number(struct json_out *o, const char *key, uint64_t v);
void run_json_path(struct json_out *o, const char *key, const char *path);
/* Appends "exited with status 3" or "was killed by signal 11 (SIGSEGV)". */
void run_ending(buf *b, int status);

/* Appends advice about the names of one binary.  Returns false if there is none, or too few names
 * are missing. */
bool run_advice(const run *r, const symbolized *s, buf *t);

/* A loss counter that is not 0. */
typedef struct run_loss {
    const char *name, *what;
    uint64_t n;
} run_loss;
enum { RUN_LOSSES = 32 };
size_t run_losses(const run *r, run_loss out[RUN_LOSSES]);

/* CPU time of the program as the kernel counts it, and where it went. */
typedef struct run_account {
    uint64_t used;      /* from wait4: the program and all processes that it waited for */
    uint64_t sampled;   /* represented by samples */
    uint64_t startup;   /* before the probe began: exec and the loader */
    uint64_t unsampled; /* in threads that ended before their first sample */
    uint64_t unseen;    /* the rest: processes without the probe, process exit, lost samples */
    uint64_t beyond;    /* more sampled than used: processes that their parents did not wait for */
} run_account;
run_account run_account_of(const run *r);
