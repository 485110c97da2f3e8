/* check/layout.h - one walk over the bytes of an older layout or a draft, by its schema tables.
 *
 *   survey   counts the tables of a message first: references may come before their table
 *   walk     checks every field once: wire type, UTF-8, length of ids, index
 *   check    applies the rules of a message at its end (rows[] in check_layout_rules.c)
 *
 * The checker turns off rules that the layout does not have, so one row serves all layouts. */
#pragma once
#include "base/vec.h"
#include "check/internal.h"
#include "wire/otlp_v3_refs.h"

enum { NODE_FIELDS = 24 }; /* most fields of one message; Profile of 1.4 has 21 */

/* The occurrences of one field. */
typedef struct slot {
    uint64_t v;          /* the last value; length-delimited: its length */
    const uint8_t *data; /* length-delimited: its bytes */
    const uint8_t *at;   /* tag of the last occurrence; NULL: absent */
    uint64_t n;          /* elements */
} slot;

/* A message that is being walked. */
typedef struct node {
    const message_desc *m;
    const step *self;
    const struct node *up;
    str bytes;
    const uint8_t *at; /* its tag */
    slot f[NODE_FIELDS];
} node;

typedef struct mapped {
    uint64_t start, limit;
} mapped;

typedef struct named {
    str key;
    bool has_value;
} named;

typedef struct profile_id {
    uint8_t bytes[16];
} profile_id;

/* The walk, and the tables that the references of the current message point into. */
typedef struct layout_walk {
    checker *c;
    const uint8_t *base;
    bool rest; /* only rules that check_model does not have */
    uint64_t n[TABLE_COUNT];
    VEC(str) strings;
    VEC(mapped) mappings;
    VEC(named) attributes;
    VEC(bool) clocked; /* by event type: its events have a clock */
    uint64_t n_types;  /* sample types of the current Profile */
    uint64_t start, end;
    bool window;  /* start and end are set */
    bool doc_url; /* 1.3: number 15 is pprof's doc_url */
    v3_reading refs[V3_TABLES];
    VEC(profile_id) ids; /* of all profiles */
    hash_index id_index;
    /* OTLP logs */
    str scope_name, scope_version;
    bool scope_said; /* the current scope was checked */
    bool profiling;  /* the current resource has profiling records */
    bool hex;        /* ids are text: the bytes were JSON */
    bool dotnet;     /* parentheses of a frame hold parameters */
} layout_walk;

/* Returns the field of that name; an absent one when the layout does not have it. */
const slot *node_field(const node *x, const char *name);
bool node_has(const node *x, const char *name); /* whether the layout has the field */

/* Returns the path of a field of the message. */
const char *at_field(layout_walk *w, const node *x, const char *name);
/* Returns the byte offset of the field, or of its message when the field is absent. */
uint64_t field_offset(const layout_walk *w, const node *x, const slot *s);

static inline str slot_bytes(const slot *s) { return (str){(const char *)s->data, (size_t)s->v}; }

static inline bool message_is(const message_desc *m, const char *name)
{
    return m->name[0] == name[0] && !strcmp(m->name, name);
}

static inline const slot *slot_at(const node *x, const field_desc *fd)
{
    static const slot none;
    size_t i = (size_t)(fd - x->m->fields);
    return i < NODE_FIELDS ? &x->f[i] : &none;
}

static inline uint64_t offset(const layout_walk *w, const uint8_t *p)
{
    return p ? (uint64_t)(p - w->base) : NO_OFFSET;
}

static inline void out_of_memory(layout_walk *w) { w->c->failed = true; }

/* Returns the last field of that name in the bytes of a message; .at is NULL if there is none. */
pb_field find_field(const message_desc *m, str bytes, const char *name);

/* Reports one violation of a field of the message; "" is the message itself. */
void layout_report(layout_walk *w, rule_no r, const node *x, const char *field, const char *found,
                   const char *expected);

/* check_layout_rules.c: applies the rules of this message. */
void layout_check(layout_walk *w, const node *x);

/* Returns whether the message is entry 0 of a table. */
static inline bool is_first(const node *x)
{
    if (!x->self || x->self->index != 0 || !x->up) return false;
    const field_desc *fd = message_field_named(x->up->m, str_of(x->self->name));
    return fd && fd->fills;
}

/* check_layout_drafts.c */
void check_columns(layout_walk *w, const node *x);
void check_event_type(layout_walk *w, const node *x);
void check_event(layout_walk *w, const node *x);
void check_clock(layout_walk *w, const node *x);
void check_stack(layout_walk *w, const node *x);

/* check_splunk.c */
void check_resource_logs(layout_walk *w, const node *x);
void check_scope_logs(layout_walk *w, const node *x); /* called before its records */
void check_log_record(layout_walk *w, const node *x);
