/* cli/run.h - `kiln run`: a program with the agent in it, and what came of it.
 *
 *   run_target   is it a program that can be preloaded into?
 *   run_probe    where is the probe; what the program's environment says to it
 *   run_take     the collector's wishes; takes what it hands on, and sends it where it shall go
 *   run_collect  the parts of all processes -> one model with names
 *   run_report   what was captured, lost and accounted for
 *   run_advice   what to do about frames without names
 *   run_out      all of it for people; run_json for machines */
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
    bool reported; /* it said its farewell: it ended in good order */
} run_process;

/* A part of a process's profile, as OTLP. */
typedef struct run_part {
    uint32_t pid;
    buf bytes;        /* or, when there were too many: */
    const char *file; /* NULL: none */
} run_part;

/* Which file has a name; zero: none. */
typedef struct run_mark {
    uint64_t dev, inode;
    int64_t s, ns; /* when it was last changed */
} run_mark;
enum { RUN_FILES = 2 };

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
    bool live;                       /* the agents send by themselves */
    bool has_old;                    /* the output of an earlier run was kept as .old */
    bool html_missing;               /* this kiln has no viewer */
    int follower;                    /* process that goes on collecting; 0: none */
    int to_follower;                 /* a pipe that it waits at */
    const char *followed[RUN_FILES]; /* the files that it will write again: profile, report */
    run_mark marks[RUN_FILES]; /* in the follower: of these files, as its parent has left them */
    bool rewrites;             /* this is that process: files that are there are of this run */
    child_end end;
    agent_config config; /* what the environment says of rates, frames, resource */
    collector *collector;
    exporter *exporter; /* live: NULL otherwise */
    otlp_config net;
    module_shelf modules; /* live: files that names come from */
    VEC(run_process) processes;
    VEC(run_part) parts;
    size_t part_bytes;   /* in memory */
    uint64_t parts_lost; /* profiles for which there was no memory and no file */
    collected all;
    otlp_counts sent;
    input in; /* the merged profile; in.path is NULL until there is one */
    symbolize_report symbols;
    uint64_t n_samples, n_threads;
    uint64_t n_cpu, n_wall; /* observations in the profile */
    uint64_t otlp_bytes;
} run;

/* A sentence in *e why the agent cannot get into it (ERR_UNSUPPORTED), or that it cannot be run (ERR_SYS). */
NODISCARD bool run_target(run *r, const char *name, err *e);

/* Fills *env (terminated by NULL, in the arena) for the program.  ERR_SYS: no probe; *e says where it was
 * looked for. */
NODISCARD bool run_environment(run *r, const char *const **env, err *e);

/* Opens the collector and starts it; live: the exporter too. */
NODISCARD bool run_take_open(run *r, err *e);
/* The program has ended, maybe with others that it started running on (r->all.still).  Everything is handed on. */
void run_take_close(run *r);
/* Goes on collecting in a process of its own in the background, until those others have ended; then `write` writes the
 * files again.  Returns the number of that process, 0: there is none.  Before run_take_close. */
int run_follow(run *r, void (*write)(run *r));
/* The files are written: the follower may write them again. */
void run_follow_go(run *r);
/* In the follower: another run has written this file since. */
bool run_is_taken(const run *r, size_t which);

/* The parts as one model, with names. */
NODISCARD bool run_collect(run *r, err *e);

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
size_t run_losses(const run *r, run_loss out[RUN_LOSSES]);

/* CPU time of the program as the kernel counts it, and where it went. */
typedef struct run_account {
    uint64_t used;      /* wait4's: of the program and of all that it waited for */
    uint64_t sampled;   /* that samples stand for */
    uint64_t startup;   /* before the probe began: exec and the loader */
    uint64_t unsampled; /* in threads that ended before their first sample */
    uint64_t unseen;    /* the rest: where the probe is not, at ends, lost samples */
    uint64_t beyond;    /* sampled more than used: processes that nobody waited for */
} run_account;
run_account run_account_of(const run *r);
