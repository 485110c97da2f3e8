/* Walks protobuf bytes by the schema (walk.h).  For each message it first records the position of
 * every field, then emits the fields in the order of the schema. */
#include "wire/walk.h"

#include "wire/otlp.h"
#include "wire/pb.h"

#include "base/ban.h"

enum { MAX_FIELDS = 32 }; /* fields of one message: the schema has at most 21 */

typedef struct walker {
    emitter *to;
    unsigned any_depth;
    size_t merged; /* bytes in copies that are in use */
} walker;

/* Positions of the records of one field in its message. */
typedef struct found {
    const uint8_t *first, *last; /* tags; NULL: absent */
    uint32_t n;                  /* records */
} found;

static bool walk_fields(walker *w, const message_desc *m, pb_cur c);

/* ---- scalars ---- */

static walk_value of_bits(const field_desc *f, uint64_t bits)
{
    walk_value v = {.u = bits};
    switch ((field_type)f->type) {
    case FT_INT32:
    case FT_ENUM: v.i = (int32_t)(uint32_t)bits; break;
    case FT_UINT32: v.u = (uint32_t)bits; break;
    case FT_BOOL: v.u = bits != 0; break;
    case FT_DOUBLE: memcpy(&v.d, &bits, sizeof v.d); break;
    default: break;
    }
    return v;
}

static bool is_default(const field_desc *f, const walk_value *v)
{
    if (f->type == FT_STRING || f->type == FT_BYTES) return v->s.n == 0;
    return v->u == 0; /* for a double, -0.0 is not the default */
}

static bool scalar_of(pb_cur *c, const field_desc *f, const pb_field *r, walk_value *v)
{
    if (f->type == FT_STRING) return pb_text(c, r, f->name, &v->s);
    if (!pb_expect(c, r, field_wire_type(f), f->name)) return false;
    if (f->type == FT_BYTES)
        v->s = pb_bytes(r);
    else
        *v = of_bits(f, r->value);
    return true;
}

/* ---- messages ---- */

static bool flush(walker *w, bool end, err *e)
{
    emitter *to = w->to;
    if (to->out->failed) return err_set(e, ERR_MEMORY, "no memory for the text");
    if (!to->write || (to->out->n < WALK_FLUSH && !end)) return true;
    bool ok = to->write(to->ctx, buf_view(to->out), e);
    to->out->n = 0;
    return ok;
}

static bool emit_message(walker *w, const field_desc *f, pb_cur c)
{
    bool value = strcmp(f->message->name, "AnyValue") == 0; /* the only recursive message */
    if (value && w->any_depth >= OTLP_MAX_DEPTH)
        return err_at(c.e, ERR_LIMIT, pb_offset(&c, c.p), "values nest deeper than %d",
                      OTLP_MAX_DEPTH);
    w->any_depth += value;
    w->to->ops->message(w->to, f);
    bool ok = walk_fields(w, f->message, c);
    w->to->ops->message_end(w->to, f);
    w->any_depth -= value;
    return ok && flush(w, false, c.e);
}

/* Reads the next record of field f, from in->first to in->last. */
static bool next_of(pb_cur *c, const field_desc *f, const found *in, pb_field *r)
{
    while (c->p <= in->last && pb_next(c, r))
        if (r->number == f->number) return true;
    return false;
}

static pb_cur records(const pb_cur *c, const found *in)
{
    pb_cur r = *c;
    r.p = in->first;
    return r;
}

/* Merges the records of a message by concatenating their bytes, as protobuf defines it. */
static bool emit_merged(walker *w, const field_desc *f, pb_cur c, const found *in)
{
    buf all = {.limit = WALK_MERGE_BYTES > w->merged ? WALK_MERGE_BYTES - w->merged + 1 : 1};
    pb_cur at = records(&c, in);
    for (pb_field r; next_of(&at, f, in, &r);) {
        if (!pb_expect(&at, &r, 2, f->name)) return buf_free(&all), false;
        buf_put(&all, r.data, (size_t)r.value);
    }
    bool ok = !all.failed;
    if (!ok) {
        err_at(c.e, ERR_LIMIT, pb_offset(&c, in->first), "merging %s takes more than %d bytes",
               f->name, WALK_MERGE_BYTES);
    } else {
        err inner = {0}; /* offsets refer to the copy */
        w->merged += all.n;
        ok = emit_message(w, f, pb_open(all.p, all.n, &inner));
        w->merged -= all.n;
        inner.offset = NO_OFFSET;
        if (!ok && c.e && c.e->code == ERR_OK) *c.e = inner;
    }
    buf_free(&all);
    return ok;
}

static bool emit_singular(walker *w, const field_desc *f, pb_cur c, const found *in)
{
    if (f->type == FT_MESSAGE && in->n > 1) return emit_merged(w, f, c, in);
    pb_cur at = records(&c, in);
    at.p = in->last;
    pb_field r;
    walk_value v;
    if (!pb_next(&at, &r)) return false;
    if (f->type == FT_MESSAGE)
        return pb_expect(&at, &r, 2, f->name) && emit_message(w, f, pb_message(&at, &r));
    if (!scalar_of(&at, f, &r, &v)) return false;
    if ((f->flags & (FF_ONEOF | FF_OPTIONAL)) || !is_default(f, &v))
        w->to->ops->scalar(w->to, f, &v);
    return true;
}

/* ---- lists ---- */

static bool emit_packed(walker *w, const field_desc *f, pb_cur c, size_t *i)
{
    bool fixed = field_wire_type(f) == 1;
    if (fixed && (size_t)(c.end - c.p) % 8)
        return pb_fail(&c, c.p, "%s is packed in %zu bytes, not a multiple of 8", f->name,
                       (size_t)(c.end - c.p));
    for (; c.p < c.end; ++*i) {
        uint64_t bits = 0;
        if (fixed) {
            for (unsigned k = 0; k < 8; k++) bits |= (uint64_t)*c.p++ << (8 * k);
        } else if (!pb_varint(&c, &bits)) {
            return false;
        }
        walk_value v = of_bits(f, bits);
        w->to->ops->scalar(w->to, f, &v);
    }
    return flush(w, false, c.e);
}

static bool emit_element(walker *w, const field_desc *f, pb_cur *c, const pb_field *r, size_t *i)
{
    if (field_packable(f) && r->wire == 2) return emit_packed(w, f, pb_message(c, r), i);
    if (f->type == FT_MESSAGE) {
        if (!pb_expect(c, r, 2, f->name) || !emit_message(w, f, pb_message(c, r))) return false;
    } else {
        walk_value v;
        if (!scalar_of(c, f, r, &v)) return false;
        w->to->ops->scalar(w->to, f, &v);
    }
    ++*i;
    return true;
}

/* Returns whether all records of a list are empty and packed; the list then counts as absent. */
static bool is_empty_list(const field_desc *f, pb_cur c, const found *in)
{
    if (!field_packable(f)) return false;
    c.e = NULL;
    for (pb_field r; next_of(&c, f, in, &r);)
        if (r.wire != 2 || r.value) return false;
    return true;
}

static bool emit_list(walker *w, const field_desc *f, pb_cur c, const found *in)
{
    pb_cur at = records(&c, in);
    if (is_empty_list(f, at, in)) return true;
    size_t i = 0;
    w->to->ops->list(w->to, f);
    for (pb_field r; next_of(&at, f, in, &r);)
        if (!emit_element(w, f, &at, &r, &i)) return err_in(c.e, "%s[%zu]", f->name, i);
    w->to->ops->list_end(w->to, f);
    return true;
}

/* ---- fields ---- */

/* Records the position of each field.  A member of the oneof replaces an earlier one. */
static bool find_fields(const message_desc *m, pb_cur *c, found *at)
{
    for (pb_field r; pb_next(c, &r);) {
        const field_desc *f = message_field(m, r.number);
        if (!f) continue;
        found *in = &at[f - m->fields];
        if (f->flags & FF_ONEOF)
            for (size_t i = 0; i < m->n_fields; i++)
                if (&at[i] != in && (m->fields[i].flags & FF_ONEOF)) at[i] = (found){0};
        if (!in->first) in->first = r.at;
        in->last = r.at;
        in->n++;
    }
    return pb_ok(c);
}

static bool walk_fields(walker *w, const message_desc *m, pb_cur c)
{
    found at[MAX_FIELDS] = {0};
    if (m->n_fields > MAX_FIELDS)
        return err_set(c.e, ERR_UNSUPPORTED, "%s has too many fields", m->name);
    pb_cur first = c;
    if (!find_fields(m, &first, at)) return false;
    for (size_t i = 0; i < m->n_fields; i++) {
        const field_desc *f = &m->fields[i];
        if (!at[i].first) continue;
        if (f->flags & FF_REPEATED) {
            if (!emit_list(w, f, c, &at[i])) return false;
        } else if (!emit_singular(w, f, c, &at[i])) {
            return err_in(c.e, "%s", f->name);
        }
    }
    return true;
}

bool walk_message(const void *p, size_t n, const message_desc *root, emitter *to, err *e)
{
    walker w = {.to = to};
    to->ops->message(to, NULL);
    if (!walk_fields(&w, root, pb_open(p, n, e))) return false;
    to->ops->message_end(to, NULL);
    return flush(&w, true, e);
}
