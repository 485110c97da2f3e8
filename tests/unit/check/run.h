/* Runs check_bytes on a message written as text; message.h has BASE and the syntax. */
#pragma once
#include "check/check.h"
#include "message.h"

typedef struct run {
    arena a;
    buf bytes;
    check_report r;
} run;

static inline void start(run *x, const char *text, const check_opts *o)
{
    err e = {0};
    char why[400];
    *x = (run){.bytes = message_bytes(text)};
    if (!check_bytes(x->bytes.p, x->bytes.n, o, &x->a, &x->r, &e))
        fail_msg("%s", err_text(&e, why, sizeof why));
}

static inline void stop(run *x)
{
    arena_free(&x->a);
    buf_free(&x->bytes);
}

static inline void print_report(const check_report *r)
{
    for (size_t i = 0; i < r->n_findings; i++)
        print_message("# %s x%lu at %s: %s\n", r->findings[i].rule->id,
                      (unsigned long)r->findings[i].count, r->findings[i].examples[0].path,
                      r->findings[i].examples[0].found);
}
