/* Rules on bytes, for data that a model does not have: invalid UTF-8, unknown fields, lengths of
 * ids, a key given twice, a second dictionary. Walks the message with the schema tables. A
 * malformed message is reported, and the walk continues after it. */
#include "check/internal.h"

#include "base/utf8.h"
#include "wire/otlp.h"
#include "wire/pb.h"
#include "wire/schema.h"

#include "base/ban.h"
#include <inttypes.h>

enum { MAX_FIELDS = 16 };

typedef struct wire {
    checker *c;
    bool deep;
    const uint8_t *base;
    /* Messages with rules of their own. */
    const message_desc *profile, *dictionary, *link, *keyvalue, *any;
    const message_desc *quiet[5]; /* Sample, Stack, Location, Function, Mapping: only when deep */
    uint64_t entries[TABLE_COUNT];
    size_t n_dictionaries;
} wire;

/* Fields found in one message. */
typedef struct facts {
    const uint8_t *key,
        *key_ref; /* KeyValue: positions of key and key_strindex, which must not both be set */
    const uint8_t *trace_id, *span_id; /* Link */
    uint64_t trace_len, span_len;
} facts;

static void walk(wire *w, const message_desc *m, const pb_cur *outer, const pb_field *at_field,
                 const step *self, unsigned depth);

static uint64_t offset(const wire *w, const uint8_t *p) { return (uint64_t)(p - w->base); }

void wire_broken(checker *c, const step *self, const err *e)
{
    if (violated(c, RULE_WIRE))
        report_at(c, RULE_WIRE, e->offset, at_step(c, self), e->msg,
                  expected_text(c, "protobuf of %s", check_kind_name(c->kind)));
}

/* ---- fields ---- */

void wire_text(checker *c, const uint8_t *base, const pb_field *f, const step *s)
{
    size_t ok = utf8_valid((const char *)f->data, f->value);
    if (LIKELY(ok == f->value) || !violated(c, RULE_P20)) return;
    char q[80];
    str all = pb_bytes(f), near = {all.p + (ok > 12 ? ok - 12 : 0), 0};
    while (near.p > all.p && ((unsigned char)*near.p & 0xc0) == 0x80) near.p--;
    near.n = (size_t)(all.p + all.n - near.p);
    if (near.n > 28) near.n = 28;
    report_at(c, RULE_P20, (uint64_t)(f->data + ok - base), at_step(c, s),
              found_text(c, "byte 0x%02x at %zu of %s", f->data[ok], ok, quote(near, q, sizeof q)),
              "valid UTF-8");
}

void wire_packed(checker *c, const uint8_t *base, const field_desc *fd, const pb_cur *outer,
                 const pb_field *f, const step *s)
{
    err e = {0};
    if (field_wire_type(fd) == 1) {
        if (f->value % 8 == 0) return;
        err_at(&e, ERR_MALFORMED, (uint64_t)(f->at - base),
               "%" PRIu64 " bytes, not a multiple of 8", f->value);
        wire_broken(c, s, &e);
        return;
    }
    pb_cur p = pb_message(outer, f);
    p.e = &e;
    for (uint64_t v; p.p < p.end && pb_varint(&p, &v);) {}
    if (!pb_ok(&p)) wire_broken(c, s, &e);
}

void wire_unknown(checker *c, const uint8_t *base, const message_desc *m, const pb_field *f,
                  const step *self)
{
    static const char *const kinds[] = {"varint", "64-bit", "length-delimited", "", "", "32-bit"};
    const char *kind = f->wire < ARRAY_LEN(kinds) ? kinds[f->wire] : "?";
    const field_desc *fd = message_field(m, f->number);
    uint64_t at_byte = (uint64_t)(f->at - base);
    if (f->number == 1000 && strcmp(m->name, "ResourceProfiles") == 0 && c->on[RULE_P45]) {
        if (violated(c, RULE_P45))
            report_at(c, RULE_P45, at_byte, at_step(c, self), "field 1000",
                      "no field 1000, which is reserved");
        return;
    }
    if (!violated(c, RULE_UNKNOWN)) return;
    const char *found = fd ? found_text(c, "field %u of %s is %s", f->number, m->name, kind)
                           : found_text(c, "field %u (%s) of %s", f->number, kind, m->name);
    step s = {self, fd ? fd->name : "", NO_INDEX};
    report_at(c, RULE_UNKNOWN, at_byte, at_step(c, fd ? &s : self), found,
              fd ? expected_text(c, "%s as %s", fd->name, kinds[field_wire_type(fd)])
                 : expected_text(c, "fields of %s only", check_kind_name(c->kind)));
}

static void profile_id_rule(wire *w, const pb_field *f, const step *s)
{
    if (f->value == 0 || (f->value == 16 && !id_is_zero(f->data, 16))) return;
    if (violated(w->c, RULE_P52))
        report_at(w->c, RULE_P52, offset(w, f->at), at_step(w->c, s),
                  f->value == 16 ? "16 zero bytes"
                                 : found_text(w->c, "%" PRIu64 " bytes", f->value),
                  f->value == 16 ? "an id, or none" : "16 bytes or none");
}

/* ---- messages ---- */

static void take(wire *w, const message_desc *m, const field_desc *fd, const pb_field *f, facts *x,
                 const step *s)
{
    if (m == w->keyvalue) {
        if (fd->number == 1) x->key = f->value ? f->at : NULL;
        if (fd->number == 3) x->key_ref = (uint32_t)f->value ? f->at : NULL;
    } else if (m == w->link) {
        if (fd->number == 1) x->trace_id = f->data, x->trace_len = f->value;
        if (fd->number == 2) x->span_id = f->data, x->span_len = f->value;
    } else if (m == w->profile && (fd->flags & FF_ID)) {
        profile_id_rule(w, f, s);
    }
}

static void id_length(wire *w, const step *self, const pb_field *at_field, const char *name,
                      const uint8_t *id, uint64_t len, uint64_t right)
{
    if (len == right || (len == 0 && self->index == 0)) return;
    if (!checker_list(w->c, &w->c->bad_links, self->index) || !violated(w->c, RULE_P80)) return;
    step s = {self, name, NO_INDEX};
    report_at(w->c, RULE_P80, id ? offset(w, id) : offset(w, at_field->at), at_step(w->c, &s),
              found_text(w->c, "%" PRIu64 " bytes", len),
              expected_text(w->c, "%" PRIu64 " bytes", right));
}

static void link_rules(wire *w, const facts *x, const pb_field *f, const step *self)
{
    id_length(w, self, f, "trace_id", x->trace_id, x->trace_len, 16);
    id_length(w, self, f, "span_id", x->span_id, x->span_len, 8);
    if (self->index == 0 && (x->trace_len == 0 || x->span_len == 0) && violated(w->c, RULE_P04))
        report_at(w->c, RULE_P04, offset(w, f->at), at_step(w->c, self), "an empty link",
                  "16 and 8 zero bytes");
}

static void finish(wire *w, const message_desc *m, const facts *x, const pb_field *f,
                   const step *self)
{
    if (m == w->keyvalue && x->key && x->key_ref && violated(w->c, RULE_P24))
        report_at(w->c, RULE_P24, offset(w, x->key_ref), at_step(w->c, self),
                  "key and key_strindex are both set", "one of the two");
    if (m == w->link) link_rules(w, x, f, self);
}

static bool quiet(const wire *w, const message_desc *m)
{
    for (size_t i = 0; i < ARRAY_LEN(w->quiet); i++)
        if (w->quiet[i] == m) return !w->deep;
    return false;
}

/* P-02: an entry 0 with unknown fields is not the zero value. */
static bool is_entry_0(const step *self)
{
    return self && self->index == 0 && self->up && self->up->name &&
           strcmp(self->up->name, "dictionary") == 0;
}

static void walk_field(wire *w, const field_desc *fd, pb_cur *c, const pb_field *f, const step *s,
                       unsigned depth)
{
    if (fd->type == FT_STRING) {
        wire_text(w->c, w->base, f, s);
    } else if (fd->type == FT_MESSAGE) {
        walk(w, fd->message, c, f, s, depth);
    } else if (f->wire == 2 && field_packable(fd)) {
        wire_packed(w->c, w->base, fd, c, f, s);
    }
}

static void walk_fields(wire *w, const message_desc *m, pb_cur *c, const step *self, unsigned depth,
                        facts *x)
{
    uint64_t seen[MAX_FIELDS] = {0};
    for (pb_field f; pb_next(c, &f);) {
        const field_desc *fd = message_field(m, f.number);
        bool packed = fd && f.wire == 2 && field_packable(fd);
        if (!fd || (f.wire != field_wire_type(fd) && !packed)) {
            wire_unknown(w->c, w->base, m, &f, self);
            if (is_entry_0(self) && violated(w->c, RULE_P02))
                report_at(w->c, RULE_P02, offset(w, f.at), at_step(w->c, self),
                          found_text(w->c, "field %u, unknown in this layout", f.number),
                          "the zero value");
            continue;
        }
        step s = {self, fd->name, NO_INDEX};
        if (fd->fills)
            s.index = w->entries[fd->fills]++;
        else if ((fd->flags & FF_REPEATED) && !packed)
            s.index = seen[fd - m->fields]++;
        if (fd->type == FT_MESSAGE && quiet(w, fd->message)) continue;
        if (fd->message == w->dictionary && w->dictionary && w->n_dictionaries++ &&
            violated(w->c, RULE_P12))
            report_at(w->c, RULE_P12, offset(w, f.at), "dictionary",
                      found_text(w->c, "dictionary %zu", w->n_dictionaries), "one dictionary");
        take(w, m, fd, &f, x, &s);
        walk_field(w, fd, c, &f, &s, depth);
    }
}

static void walk(wire *w, const message_desc *m, const pb_cur *outer, const pb_field *f,
                 const step *self, unsigned depth)
{
    err e = {0};
    facts x = {0};
    pb_cur c = pb_message(outer, f);
    c.e = &e;
    if (m == w->any && depth++ >= OTLP_MAX_DEPTH)
        pb_fail(&c, f->at, "values nest deeper than %d", OTLP_MAX_DEPTH);
    else
        walk_fields(w, m, &c, self, depth, &x);
    if (!pb_ok(&c)) wire_broken(w->c, self, &e);
    finish(w, m, &x, f, self);
}

static const message_desc *sub(const message_desc *m, const char *field)
{
    const field_desc *f = m ? message_field_named(m, str_of(field)) : NULL;
    return f ? f->message : NULL;
}

void check_wire(checker *c, const void *p, size_t n, bool deep)
{
    const message_desc *root = schema_profiles_data((layout)c->kind);
    wire w = {.c = c, .deep = deep};
    w.profile = sub(sub(sub(root, "resource_profiles"), "scope_profiles"), "profiles");
    w.dictionary = sub(root, "dictionary");
    w.link = sub(w.dictionary, "link_table");
    w.any = sub(sub(w.dictionary, "attribute_table"), "value");
    w.keyvalue = sub(sub(w.any, "kvlist_value"), "values");
    w.quiet[0] = sub(w.profile, c->kind == LAYOUT_1_8 ? "sample" : "samples");
    static const char *const tables[] = {"stack_table", "location_table", "function_table",
                                         "mapping_table"};
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) w.quiet[i + 1] = sub(w.dictionary, tables[i]);

    err e = {0};
    pb_cur cur = pb_open(p, n, &e);
    w.base = cur.base;
    facts x = {0};
    walk_fields(&w, root, &cur, NULL, 0, &x);
    if (!pb_ok(&cur)) wire_broken(c, NULL, &e);
    if (!w.n_dictionaries && pb_ok(&cur) && violated(c, RULE_P12))
        report_at(c, RULE_P12, NO_OFFSET, "dictionary", "no dictionary", "one dictionary");
}
