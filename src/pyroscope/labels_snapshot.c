/* Decodes LabelsSnapshot. Strings may follow the contexts that use them, so contexts are resolved
 * in a second pass. */
#include "pyroscope/labels_snapshot.h"

#include "wire/pb.h"
#include "base/ban.h"

typedef struct text_entry {
    uint64_t id;
    str text;
} text_entry;

typedef struct reading {
    arena *a;
    labels_snapshot *out;
    VEC(text_entry) texts;
    hash_index by_id;
    err *e;
} reading;

/* An entry of a map: {1: key, 2: value}. */
static bool map_entry(pb_cur c, uint32_t wire, uint64_t *key, pb_field *value)
{
    *key = 0, *value = (pb_field){.wire = wire};
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 1 && pb_expect(&c, &f, 0, "key")) *key = f.value;
        if (f.number == 2 && pb_expect(&c, &f, wire, "value")) *value = f;
    }
    return pb_ok(&c);
}

static bool add_text(reading *r, pb_cur entry)
{
    uint64_t id;
    pb_field f;
    if (!map_entry(entry, 2, &id, &f)) return false;
    if (!hash_index_room(&r->by_id, r->a)) return arena_spent(r->a, r->e);
    uint64_t h = hash_mix(r->by_id.seed, id);
    uint32_t i = hash_first(&r->by_id, h);
    for (uint32_t at; hash_next(&r->by_id, &i, h, &at); i++)
        if (r->texts.v[at].id == id) return r->texts.v[at].text = pb_bytes(&f), true;
    text_entry *t = vec_push(r->a, &r->texts);
    if (!t) return arena_spent(r->a, r->e);
    *t = (text_entry){id, pb_bytes(&f)};
    hash_put(&r->by_id, i, h, (uint32_t)(r->texts.n - 1));
    return true;
}

static str text_of(const reading *r, uint64_t id)
{
    if (!r->texts.n) return (str){0};
    uint64_t h = hash_mix(r->by_id.seed, id);
    uint32_t i = hash_first(&r->by_id, h);
    for (uint32_t at; hash_next(&r->by_id, &i, h, &at); i++)
        if (r->texts.v[at].id == id) return r->texts.v[at].text;
    return (str){0};
}

static snapshot_context *new_context(reading *r, uint64_t id)
{
    labels_snapshot *s = r->out;
    if (!hash_index_room(&s->by_id, r->a)) return arena_spent(r->a, r->e), NULL;
    uint64_t h = hash_mix(s->by_id.seed, id);
    uint32_t i = hash_first(&s->by_id, h);
    for (uint32_t at; hash_next(&s->by_id, &i, h, &at); i++)
        if (s->contexts.v[at].id == id) return &s->contexts.v[at];
    snapshot_context *c = vec_push(r->a, &s->contexts);
    if (!c) return arena_spent(r->a, r->e), NULL;
    c->id = id;
    hash_put(&s->by_id, i, h, (uint32_t)(s->contexts.n - 1));
    return c;
}

static bool add_labels(reading *r, snapshot_context *to, pb_cur c)
{
    for (pb_field f; pb_next(&c, &f);) {
        uint64_t name;
        pb_field value;
        if (f.number != 1) continue;
        if (!pb_expect(&c, &f, 2, "labels") || !map_entry(pb_message(&c, &f), 0, &name, &value))
            return false;
        str key = text_of(r, name);
        if (key.n && !pyro_labels_set(&to->labels, key, text_of(r, value.value), r->a, r->e)) {
            if (r->e && r->e->offset == NO_OFFSET) r->e->offset = pb_offset(&c, f.at);
            return false;
        }
    }
    return pb_ok(&c);
}

static bool add_context(reading *r, pb_cur entry)
{
    uint64_t id;
    pb_field f;
    if (!map_entry(entry, 2, &id, &f)) return false;
    snapshot_context *c = new_context(r, id);
    return c && (!f.data || add_labels(r, c, pb_message(&entry, &f)));
}

/* Reads all entries of one map. */
static bool each(reading *r, str bytes, uint32_t number, const char *name,
                 bool (*add)(reading *, pb_cur))
{
    pb_cur c = pb_open(bytes.p, bytes.n, r->e);
    size_t n = 0;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number != number) continue;
        if (!pb_expect(&c, &f, 2, name)) return false;
        if (!add(r, pb_message(&c, &f))) return err_in(r->e, "%s[%zu]", name, n);
        n++;
    }
    return pb_ok(&c);
}

bool labels_snapshot_decode(str bytes, arena *a, labels_snapshot *out, err *e)
{
    *out = (labels_snapshot){.a = a};
    reading r = {.a = a, .out = out, .e = e};
    return each(&r, bytes, 2, "strings", add_text) && each(&r, bytes, 1, "contexts", add_context);
}

ptrdiff_t labels_snapshot_find(const labels_snapshot *s, uint64_t id)
{
    if (!s->contexts.n) return -1;
    uint64_t h = hash_mix(s->by_id.seed, id);
    uint32_t i = hash_first(&s->by_id, h);
    for (uint32_t at; hash_next(&s->by_id, &i, h, &at); i++)
        if (s->contexts.v[at].id == id) return (ptrdiff_t)at;
    return -1;
}
