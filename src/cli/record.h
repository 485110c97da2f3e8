/* cli/record.h - `kiln record`: records processes from outside, and reports the result.
 *
 *   cmd_record      checks the options, starts and ends the recording
 *   record_capture  configures the recorder, runs a program under it, shows progress
 *   record_out      prints the summary
 *
 * `kiln run` uses the same functions for programs that cannot take the probe. */
#pragma once
#include "cli/run.h"
#include "record/record.h"
#include <signal.h>

typedef struct record_run {
    run r; /* files, exporter, parts; r.end is that of the program, if kiln started one */
    record_opts o;
    recorder *recorder;
    uint64_t duration_ns; /* 0: until ^C or the end */
    uint64_t ran_ns;
    bool has_program;
    bool gains;             /* the program has more privileges than kiln */
    uint32_t kernel_thread; /* a process of -p that is one; 0: none */
    /* Called in record_program when the recording ended before the program: delivers the results. */
    void (*deliver)(struct record_run *x);
    bool runs_on; /* that was the case */
    bool interrupted;
    bool stops_blocked; /* until record_release */
    sigset_t before;
    recorded all;
} record_run;

/* Sets the options that do not choose a target. */
NODISCARD bool record_options(record_run *x, err *e);

/* Opens the recorder. */
NODISCARD bool record_open(record_run *x, err *e);
/* Records until ^C, the time limit, or the end of all processes. */
NODISCARD bool record_wait(record_run *x, err *e);
/* Runs the program r.path under the recorder, to its end.  The recording may end before. */
NODISCARD bool record_program(record_run *x, err *e);
/* Call it when the results are written: until then, SIGTERM and SIGHUP wait. */
void record_release(record_run *x);

/* Runs a program that cannot take the probe, for `kiln run`; `why` is the reason. Returns the exit
 * code. */
exit_code record_instead(cli *c, const char *path, str title, const char *why);

/* Print the summary into c->out. */
void record_print(run *r);
void record_print_json(run *r);
