/* format/splunk_read.h - the parts of the reader of log records.
 *
 *   read     the envelope: which records are profiles, and what becomes of a bad one
 *   rows     samples that wait until their Profile is whole
 *   record   what a record says besides its body
 *   text, pprof   the two kinds of body */
#pragma once
#include "format/splunk_internal.h"

typedef struct splunk_row {
    uint32_t stack, link;
    span attrs; /* in reader.row_attrs */
    uint64_t time;
    int64_t period_ms; /* 0: not known */
} splunk_row;

/* What is common to the samples of a Profile. */
typedef struct splunk_group {
    bool allocation, typed, text;
    uint32_t dropped;
    int64_t period_ms; /* text */
    u32s attrs;        /* of the Profile */
    uint8_t profile_id[16];
    value_type *types; /* typed: n_types of them */
    size_t n_types;    /* values of a row */
    value_type period_type;
    int64_t period;
    uint64_t time, duration; /* that the pprof states */
} splunk_group;

typedef struct splunk_reader {
    arena *a;
    builder b;
    err *e;
    ledger *ledger;
    bool hex_ids; /* the bytes were JSON */

    resource resource;
    scope scope;
    bool resource_put, scope_put;
    splunk_text_opts text; /* of the record at hand */
    bool node;             /* telemetry.sdk.language */
    bool ours;             /* kiln's agent sent it */
    bool managed;          /* another one did, of a language that has names with dots */
    bool native;           /* the text at hand has the form for native programs (splunk.h) */

    splunk_group g;
    bool open; /* rows of g are waiting */
    VEC(splunk_row) rows;
    u32s row_attrs;
    i64s values; /* g.n_types a row */

    u32s key_seen; /* by string: epoch of the list that has this key */
    uint32_t epoch;
    u32s scratch;
    uint64_t n_records, n_refused, n_other, n_put, n_unknown;
    char where[96]; /* of the record at hand */
    err first;      /* refused */
} splunk_reader;

bool splunk_read_spent(splunk_reader *r); /* always false */
void splunk_read_lose(splunk_reader *r, loss_concept c, const char *carried_as, uint64_t n,
                      str value);

/* ---- lists of attributes: keys are unique, the first stays ---- */

void splunk_list_begin(splunk_reader *r);
NODISCARD bool splunk_list_add(splunk_reader *r, u32s *to, uint32_t attr);
/* An attribute of any value; one without a key is lost: OTLP has none. */
NODISCARD bool splunk_list_any(splunk_reader *r, u32s *to, str key, const any *value);
NODISCARD bool splunk_list_str(splunk_reader *r, u32s *to, const char *key, str value);
NODISCARD bool splunk_list_int(splunk_reader *r, u32s *to, const char *key, uint64_t value);

/* ---- rows ---- */

NODISCARD bool splunk_rows_add(splunk_reader *r, const splunk_row *w, int64_t value);
/* The waiting rows become Profiles, if there are any. */
NODISCARD bool splunk_rows_flush(splunk_reader *r);

/* ---- record ---- */

/* The fields of the record that no Profile has. */
NODISCARD bool splunk_record_fields(splunk_reader *r, const splunk_record *rec, u32s *to);
bool splunk_record_is_allocation(const splunk_record *rec);
int64_t splunk_record_int(const splunk_record *rec, str key); /* 0: none, or no integer */
uint32_t splunk_record_link(splunk_reader *r, const splunk_record *rec);
/* Periods are milliseconds and positive; what cannot be one counts as none (0). */
int64_t splunk_period_ms(int64_t ms);

/* ---- bodies ---- */

NODISCARD bool splunk_read_text(splunk_reader *r, const splunk_record *rec, arena *scratch);
/* False with r->e set: everything ends; with *re set: the record is bad. */
NODISCARD bool splunk_read_pprof(splunk_reader *r, const splunk_record *rec, arena *scratch,
                                 err *re);
