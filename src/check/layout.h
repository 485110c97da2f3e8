/* check/layout.h - one walk over the bytes of an older layout or a draft, by its schema tables.
 *
 *   survey   a message that holds tables is counted first: references may come before their table
 *   walk     every field once: wire type, UTF-8, length of ids, index against its table
 *   look     a message at its end: the rules that have its name (rows[] in check_layout_rules.c)
 *
 * Rules that the layout does not have are off in the checker, so a row may serve all of them. */
#pragma once
#include "base/vec.h"
#include "check/internal.h"
#include "wire/otlp_v3_refs.h"

enum { NODE_FIELDS = 24 }; /* of one message: Profile of 1.4 has 21 */

/* What was seen of one field. */
typedef struct slot {
    uint64_t v;          /* the last value; length-delimited: its length */
    const uint8_t *data; /* length-delimited: its bytes */
    const uint8_t *at;   /* tag of the last; NULL: absent */
    uint64_t n;          /* elements */
} slot;

/* A message on the way. */
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

/* The tables that references of the message at hand mean. */
typedef struct layout_walk {
    checker *c;
    const uint8_t *base;
    bool rest; /* only rules that today's checks do not know */
    uint64_t n[TABLE_COUNT];
    VEC(str) strings;
    VEC(mapped) mappings;
    VEC(named) attributes;
    VEC(bool) clocked; /* event types */
    uint64_t n_types;  /* of the Profile */
    uint64_t start, end;
    bool window;  /* start and end are set */
    bool doc_url; /* 1.3: number 15 is pprof's doc_url */
    v3_reading refs[V3_TABLES];
    VEC(profile_id) ids; /* of all profiles */
    hash_index id_index;
    /* OTLP logs */
    str scope_name, scope_version;
    bool scope_said; /* the scope at hand was judged */
    bool profiling;  /* the resource at hand has such records */
    bool hex;        /* ids are text: the bytes were JSON */
    bool dotnet;     /* parentheses of a frame hold parameters */
} layout_walk;

/* The field of that name; one that is absent everywhere when the layout has none. */
const slot *node_field(const node *x, const char *name);
bool node_has(const node *x, const char *name); /* does the layout know the field? */

/* The path of a field of the message. */
const char *at_field(layout_walk *w, const node *x, const char *name);
/* Byte of the field, or of its message when it is absent. */
uint64_t field_offset(const layout_walk *w, const node *x, const slot *s);

static inline str slot_bytes(const slot *s) { return (str){(const char *)s->data, (size_t)s->v}; }

static inline bool is(const message_desc *m, const char *name)
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

/* The last field of that name in the bytes of a message; .at is NULL: there is none. */
pb_field find_field(const message_desc *m, str bytes, const char *name);

/* Says one violation of a field of the message; "" is the message itself. */
void layout_blame(layout_walk *w, rule_no r, const node *x, const char *field, const char *found,
                  const char *expected);

/* check_layout_rules.c: the rules that are about this message. */
void layout_look(layout_walk *w, const node *x);

/* check_splunk.c */
void look_resource_logs(layout_walk *w, const node *x);
void look_scope_logs(layout_walk *w, const node *x); /* before its records */
void look_log_record(layout_walk *w, const node *x);
