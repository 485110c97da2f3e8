/* format/splunk_read.h - the reader of log records: state and helpers shared by its source files.
 *
 *   read     selects the records that are profiles, and counts invalid ones
 *   rows     collects samples until their Profile is complete
 *   record   reads the fields of a record except its body
 *   text, pprof   read the two kinds of body */
#pragma once
#include "format/splunk_internal.h"

typedef struct splunk_row {
    uint32_t stack, link;
    span attrs; /* range of reader.row_attrs */
    uint64_t time;
    int64_t period_ms; /* 0: unknown */
} splunk_row;

/* Properties that the samples of a Profile share. */
typedef struct splunk_group {
    bool allocation, typed, text;
    uint32_t dropped;
    int64_t period_ms; /* of text records */
    u32s attrs;        /* attributes of the Profile */
    uint8_t profile_id[16];
    value_type *types; /* n_types entries, if the pprof has types */
    size_t n_types;    /* number of values per row */
    value_type period_type;
    int64_t period;
    uint64_t time, duration; /* from the pprof */
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
    splunk_text_opts text; /* options for the current record */
    bool node;             /* telemetry.sdk.language is Node.js */
    bool from_kiln;        /* sent by Kiln's agent */
    bool managed;          /* sent by another agent, for a language whose names have dots */
    bool native;           /* the current text has the form for native programs (splunk.h) */

    splunk_group g;
    bool open; /* g has rows that are not in a Profile yet */
    VEC(splunk_row) rows;
    u32s row_attrs;
    i64s values; /* g.n_types per row */

    u32s key_seen; /* by string: value of `epoch` when a list got this key */
    uint32_t epoch;
    u32s scratch;
    uint64_t n_records, n_refused, n_other, n_put, n_unknown;
    char where[96]; /* path of the current record */
    err first;      /* error of the first rejected record */
} splunk_reader;

bool splunk_read_no_memory(splunk_reader *r); /* always returns false */
void splunk_read_lose(splunk_reader *r, loss_concept c, const char *carried_as, uint64_t n,
                      str value);

/* ---- lists of attributes: keys are unique, the first one counts ---- */

void splunk_list_begin(splunk_reader *r);
NODISCARD bool splunk_list_add(splunk_reader *r, u32s *to, uint32_t attr);
/* Adds an attribute. One without a key is lost, because OTLP requires a key. */
NODISCARD bool splunk_list_any(splunk_reader *r, u32s *to, str key, const any *value);
NODISCARD bool splunk_list_str(splunk_reader *r, u32s *to, const char *key, str value);
NODISCARD bool splunk_list_int(splunk_reader *r, u32s *to, const char *key, uint64_t value);

/* ---- rows ---- */

NODISCARD bool splunk_rows_add(splunk_reader *r, const splunk_row *w, int64_t value);
/* Builds Profiles of the collected rows, if there are any. */
NODISCARD bool splunk_rows_flush(splunk_reader *r);

/* ---- record ---- */

/* Adds fields of the record that a Profile lacks as attributes. */
NODISCARD bool splunk_record_fields(splunk_reader *r, const splunk_record *rec, u32s *to);
bool splunk_record_is_allocation(const splunk_record *rec);
int64_t splunk_record_int(const splunk_record *rec, str key); /* 0: absent or not an integer */
uint32_t splunk_record_link(splunk_reader *r, const splunk_record *rec);
/* Returns a valid period: positive milliseconds; other values give 0 (none). */
int64_t splunk_period_ms(int64_t ms);

/* ---- bodies ---- */

NODISCARD bool splunk_read_text(splunk_reader *r, const splunk_record *rec, arena *scratch);
/* Reads a body. Returns false with r->e set when reading must end, or with *re set when the record
 * is invalid. */
NODISCARD bool splunk_read_pprof(splunk_reader *r, const splunk_record *rec, arena *scratch,
                                 err *re);
