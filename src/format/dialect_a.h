/* format/dialect_a.h - one Profile of dialect A while it is read: shared with its alternatives. */
#pragma once
#include "format/dialect_read.h"

/* What a field is for, whatever its number. */
typedef enum a_role {
    A_NOTHING,
    A_ID,
    A_START,
    A_END,
    A_ATTRS,
    A_DROPPED,
    A_PAYLOAD,
    A_STACKS,
    A_MAPPINGS,
    A_LOCATIONS,
    A_FUNCTIONS,
    A_LINKS,
    A_SETS,
    A_STRINGS,
    A_LISTS,   /* ProfileType, SampleList */
    A_TYPES,   /* SampleType */
    A_SAMPLES, /* normalized */
} a_role;

typedef struct a_numbers {
    uint8_t profile[16]; /* field number -> a_role */
    uint8_t columns;     /* number of stacktrace_indices in a list; link_indices and so on follow */
    uint8_t
        type[4]; /* numbers of temporality, rate, type, unit in a list; 0: SampleType has them */
    uint8_t location[4]; /* numbers of mapping_index, address, line, attribute sets */
    const char *lists;   /* "profile_types" */
} a_numbers;

typedef struct a_row {
    uint32_t stack, link;
    span attrs, values; /* in the pools */
    uint64_t time;      /* 0: none */
} a_row;

typedef struct a_profile {
    dialect_head head;
    old_tables t;
    dialect_main main;
    pieces stacks, sets, lists, types, samples;
    u32s stack;             /* builder index by position */
    VEC(span) set;          /* in set_attrs, by position */
    u32s set_attrs;         /* builder attributes */
    u32s set_dropped;       /* how many a set lacks, by position */
    VEC(dialect_type) type; /* of SampleType messages */
    VEC(a_row) rows;
    u32s row_attrs;
    i64s row_values;
    u32s frames, refs; /* of the entry at hand */
} a_profile;

bool a_collect(old *o, a_profile *p, const a_numbers *n, pb_cur c);
bool a_tables(old *o, a_profile *p, const a_numbers *n); /* resolves them */

/* Builder index of stack v. */
bool a_stack_ref(old *o, const a_profile *p, uint64_t v, const char *field, const uint8_t *at,
                 uint32_t *out);
bool a_link_ref(old *o, const a_profile *p, uint64_t v, const char *field, const uint8_t *at,
                uint32_t *out);
/* Appends the attributes of set v to *to. */
bool a_set_ref(old *o, const a_profile *p, uint64_t v, const char *field, const uint8_t *at,
               u32s *to);

/* A Profile for each type: row k has value k of its values for type k. */
bool a_emit_rows(old *o, a_profile *p);

/* A Profile for each list. */
bool a_emit_lists(old *o, a_profile *p, const a_numbers *n);

/* ---- alternatives_read.c ---- */
bool alternatives_entry(old *o, pb_cur c, const void *bench); /* one A0 or bench entry; bool * */

/* read() of arrays, normalized and denormalized: which one it is shows in the bytes. */
bool dialect_a_read(const format *f, str bytes, const read_opts *ro, arena *a, model *out,
                    layout_verdict *verdict, err *e);
