/* format/dialect_a.h - a Profile of dialect A, or an alternative of A0, while it is read. */
#pragma once
#include "format/dialect_read.h"

/* The field tables of one variant. */
typedef struct a_schema {
    old_message profile; /* read into an a_profile */
    old_message list;    /* read into an a_list: columns, and the type unless in SampleType */
    old_schema tables;
    const char *lists; /* name of the field with the lists, such as "profile_types" */
} a_schema;

typedef struct a_column {
    u64s v;
    VEC(const uint8_t *) at; /* input position of each reference */
} a_column;

enum { STACK_COLUMN, LINK_COLUMN, SET_COLUMN, VALUE_COLUMN, TIME_COLUMN, N_COLUMNS };

typedef struct a_list {
    dialect_type type;
    a_column column[N_COLUMNS];
} a_list;

/* Readers of the columns of a list. */
old_call a_ref_column, a_value_column;
#define A_COLUMNS(first)                                                                           \
    [first] = OLD_READ(a_ref_column, a_list, column[STACK_COLUMN], "stacktrace_indices"),          \
    [first + 1] = OLD_READ(a_ref_column, a_list, column[LINK_COLUMN], "link_indices"),             \
    [first + 2] = OLD_READ(a_ref_column, a_list, column[SET_COLUMN], "attribute_set_indices"),     \
    [first + 3] = OLD_READ(a_value_column, a_list, column[VALUE_COLUMN], "values"),                \
    [first + 4] = OLD_READ(a_value_column, a_list, column[TIME_COLUMN], "timestamps")

/* The messages of the tables, which all variants have. */
extern const old_field a_function_fields[5], a_mapping_fields[8], a_line_fields[3];
extern const old_field a_location_fields[6]; /* attribute sets in field 5 */
old_call a_attribute_sets;
#define A_TABLES(location_fields)                                                                  \
    {                                                                                              \
        .function = "functions", .mapping = "mappings", .location = "locations", .link = "links",  \
        .attribute = "attribute_sets", .frame_type = "",                                           \
        .functions = OLD_MESSAGE(a_function_fields), .mappings = OLD_MESSAGE(a_mapping_fields),    \
        .locations = OLD_MESSAGE(location_fields), .lines = OLD_MESSAGE(a_line_fields)             \
    }

/* Fields of a Profile. `first` is the number of the first of several consecutive fields. */
#define A_FIELD(kind, member, name) OLD_FIELD(kind, a_profile, member, name)
#define A_DICTIONARY(first)                                                                        \
    [first] = A_FIELD(PIECE, t.mappings, "mappings"),                                              \
    [first + 1] = A_FIELD(PIECE, t.locations, "locations"),                                        \
    [first + 2] = A_FIELD(PIECE, t.functions, "functions"),                                        \
    [first + 3] = A_FIELD(PIECE, t.links, "links"),                                                \
    [first + 4] = A_FIELD(PIECE, sets, "attribute_sets"),                                          \
    [first + 5] = {OLD_STRINGS, 0, "string_table", NULL}

typedef struct a_row {
    uint32_t stack, link;
    span attrs, values; /* ranges of row_attrs and row_values */
    uint64_t time;      /* 0: none */
} a_row;

typedef struct a_profile {
    dialect_head head;
    old_tables t;
    pieces stacks, sets, lists, types, samples;
    u32s stack;             /* builder stack by position */
    VEC(span) set;          /* ranges of set_attrs, by position */
    u32s set_attrs;         /* builder attributes */
    u32s set_dropped;       /* number of dropped attributes, by position */
    VEC(dialect_type) type; /* from SampleType messages */
    VEC(a_row) rows;
    u32s row_attrs;
    i64s row_values;
    u32s frames, refs; /* scratch for the sample being read */
} a_profile;

bool a_collect(old *o, a_profile *p, const a_schema *s, pb_cur c);
bool a_tables(old *o, a_profile *p); /* resolves the tables */

/* Sets *out to the builder index of stack v. */
bool a_stack_ref(old *o, const a_profile *p, uint64_t v, const char *field, const uint8_t *at,
                 uint32_t *out);
bool a_link_ref(old *o, const a_profile *p, uint64_t v, const char *field, const uint8_t *at,
                uint32_t *out);
/* Appends the attributes of set v to *to. */
bool a_set_ref(old *o, const a_profile *p, uint64_t v, const char *field, const uint8_t *at,
               u32s *to);

/* Emits a Profile for each type; type k has value k of each row. */
bool a_emit_rows(old *o, a_profile *p);

/* Emits a Profile for each list. */
bool a_emit_lists(old *o, a_profile *p, const a_schema *s);

/* ---- alternatives_read.c ---- */
/* Reads one A0 or bench entry; `bench` points to a bool. */
bool alternatives_entry(old *o, pb_cur c, const void *bench);

/* Implements format.read of arrays, normalized and denormalized; the bytes decide which one
 * applies. */
bool dialect_a_read(const format *f, str bytes, const read_opts *ro, arena *a, model *out,
                    layout_verdict *verdict, err *e);
