/* format/splunk_write.h - the writer of log records: state and helpers shared by its source files.
 *
 *   write    writes resources and scopes
 *   group    decides which Profiles become one record, and its attributes
 *   text, pprof   write the two kinds of body */
#pragma once
#include "format/splunk_internal.h"

/* The form in which a group of Profiles is written. */
typedef enum splunk_shape {
    SPLUNK_SHAPE_CPU,        /* one sample per observation, no values */
    SPLUNK_SHAPE_ALLOCATION, /* one value, no type */
    SPLUNK_SHAPE_TYPED,      /* standard pprof with types and values */
} splunk_shape;

typedef struct splunk_writer {
    const model *m;
    const dict *d;
    const write_opts *o;
    err *e;
    bool node, dotnet; /* telemetry.sdk.language of the resource */
    arena order;       /* memory of the groups of the current scope */

    /* the current group */
    const profile *p;
    uint32_t n;
    splunk_shape shape;
    bool native; /* text in the form for native programs (splunk.h) */
    arena a;
    VEC(keyvalue) attrs; /* attributes of its records */
    uint64_t frames;
    bool untimed; /* some row has no time */
} splunk_writer;

bool splunk_write_no_memory(splunk_writer *w); /* always returns false */
void splunk_write_lose(splunk_writer *w, loss_concept c, uint64_t n, const char *path, str value);

/* ---- group ---- */

/* Groups of Profiles of a scope that have the same rows and different types. They may be apart,
 * because a store keeps the Profiles of one type together. */
typedef struct splunk_groups {
    profile *p;
    uint32_t *size; /* number of entries of p in each group */
    uint32_t n;
} splunk_groups;

/* Finds the groups of a scope. The result is valid until the next call. */
NODISCARD bool splunk_groups_of(splunk_writer *w, const scope *s, splunk_groups *out);
splunk_shape splunk_shape_of(const splunk_writer *w);
bool splunk_group_is_allocation(const splunk_writer *w);
/* Returns the period in milliseconds if the format can represent it, else 0. */
int64_t splunk_group_period_ms(const splunk_writer *w);
/* Returns whether the reader would derive the same start and duration from the times of the
 * samples. */
bool splunk_window_is_derived(const splunk_writer *w);

const attribute *splunk_profile_attr(const splunk_writer *w, const profile *p, const char *key);
uint64_t splunk_profile_int(const splunk_writer *w, const char *key); /* 0: none */

/* ---- attributes and fields of the group's records ---- */

NODISCARD bool splunk_add_attr(splunk_writer *w, str key, any value);
NODISCARD bool splunk_add_str(splunk_writer *w, const char *key, str value);
NODISCARD bool splunk_add_profile_attrs(splunk_writer *w, bool text);
NODISCARD bool splunk_add_profile_id(splunk_writer *w);
void splunk_set_fields(const splunk_writer *w, splunk_record *r); /* kiln.splunk.record */

/* ---- bodies ---- */

NODISCARD bool splunk_write_pprof(splunk_writer *w, buf *out);
NODISCARD bool splunk_write_text(splunk_writer *w, buf *out);
