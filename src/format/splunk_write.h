/* format/splunk_write.h - the parts of the writer of log records.
 *
 *   write    the envelope
 *   group    which Profiles are one record, and what they have in common
 *   text, pprof   the two kinds of body */
#pragma once
#include "format/splunk_internal.h"

/* What a group of Profiles becomes. */
typedef enum splunk_shape {
    SPLUNK_SHAPE_CPU,        /* one sample an observation, no values */
    SPLUNK_SHAPE_ALLOCATION, /* one value, no type */
    SPLUNK_SHAPE_TYPED,      /* types and values as pprof has them */
} splunk_shape;

typedef struct splunk_writer {
    const model *m;
    const dict *d;
    const write_opts *o;
    err *e;
    bool node, dotnet; /* telemetry.sdk.language of the resource */
    arena order;       /* of the scope at hand */

    /* the group at hand */
    const profile *p;
    uint32_t n;
    splunk_shape shape;
    bool native; /* text in the form for native programs (splunk.h) */
    arena a;
    VEC(keyvalue) attrs; /* of its records */
    uint64_t frames;
    bool untimed; /* a row without a time */
} splunk_writer;

bool splunk_write_spent(splunk_writer *w); /* always false */
void splunk_write_lose(splunk_writer *w, loss_concept c, uint64_t n, const char *path, str value);

/* ---- group ---- */

/* Profiles of a scope, those together that belong together: the same rows, each with a type of its own.  They need not have been
 * neighbours: a store keeps the Profiles of one type together. */
typedef struct splunk_groups {
    profile *p;
    uint32_t *size; /* how many of p each group has */
    uint32_t n;
} splunk_groups;

/* Until the next call. */
NODISCARD bool splunk_groups_of(splunk_writer *w, const scope *s, splunk_groups *out);
splunk_shape splunk_shape_of(const splunk_writer *w);
bool splunk_group_is_allocation(const splunk_writer *w);
/* The period in milliseconds, when it is one that this format can say; else 0. */
int64_t splunk_group_period_ms(const splunk_writer *w);
/* Start and duration say no more than the times of the samples: set_window of the reader. */
bool splunk_window_is_derived(const splunk_writer *w);

const attribute *splunk_profile_attr(const splunk_writer *w, const profile *p, const char *key);
uint64_t splunk_profile_int(const splunk_writer *w, const char *key); /* 0: none */

/* ---- what the records of the group say besides their bodies ---- */

NODISCARD bool splunk_add_attr(splunk_writer *w, str key, any value);
NODISCARD bool splunk_add_str(splunk_writer *w, const char *key, str value);
NODISCARD bool splunk_add_profile_attrs(splunk_writer *w, bool text);
NODISCARD bool splunk_add_profile_id(splunk_writer *w);
void splunk_set_fields(const splunk_writer *w, splunk_record *r); /* kiln.splunk.record */

/* ---- bodies ---- */

NODISCARD bool splunk_write_pprof(splunk_writer *w, buf *out);
NODISCARD bool splunk_write_text(splunk_writer *w, buf *out);
