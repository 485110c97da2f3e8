/* Collects the entries and references of one Profile of v1.3 in two passes, and decides for each table
 * whether references are positions or ids (otlp_v3_refs.h). */
#include "wire/otlp_v3_refs.h"

#include "base/vec.h"
#include "wire/pb.h"
#include "base/search.h"

#include "base/ban.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct entry {
    uint64_t id, start, limit; /* start, limit: only of mappings */
    size_t position;
} entry;

typedef struct table {
    VEC(entry) by_position, by_id;
    bool has_ids;
    uint64_t n_zero, n_not_position, n_not_id; /* counts of references */
    uint64_t not_position, not_id;             /* the first such reference */
    uint64_t near_position, near_id;           /* addresses inside the mapping of either reading */
} table;

typedef struct census {
    arena *a;
    table t[V3_TABLES];
    size_t n_chunks; /* records of location_indices */
    pb_field first;  /* the first record, if it is one unpacked number */
    bool slices;     /* a sample refers to location_indices */
    bool failed;
} census;

const char *v3_table_name(v3_table t)
{
    static const char *const names[V3_TABLES] = {"location", "function", "mapping"};
    return names[t];
}

/* ---- entries ---- */

static void add_entry(census *x, table *t, pb_cur c, bool mapping)
{
    entry *e = vec_push(x->a, &t->by_position);
    if (!e) {
        x->failed = true;
        return;
    }
    e->position = t->by_position.n - 1;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.wire != 0) continue;
        if (f.number == 1) e->id = f.value;
        if (mapping && f.number == 2) e->start = f.value;
        if (mapping && f.number == 3) e->limit = f.value;
    }
    t->has_ids |= e->id != 0;
}

static int id_order(const void *x, const void *y)
{
    const entry *a = x, *b = y;
    if (a->id != b->id) return a->id < b->id ? -1 : 1;
    return a->position < b->position ? -1 : a->position > b->position;
}

static bool sort_by_id(census *x, table *t)
{
    if (!t->has_ids) return true;
    t->by_id.v = arena_array(x->a, t->by_position.n, sizeof *t->by_id.v);
    if (!t->by_id.v) return false;
    t->by_id.n = t->by_position.n;
    memcpy(t->by_id.v, t->by_position.v, t->by_id.n * sizeof *t->by_id.v);
    qsort(t->by_id.v, t->by_id.n, sizeof *t->by_id.v, id_order);
    return true;
}

static const entry *find_id(const table *t, uint64_t id)
{
    size_t lo = SEARCH(0, t->by_id.n, i, t->by_id.v[i].id < id);
    return lo < t->by_id.n && t->by_id.v[lo].id == id ? &t->by_id.v[lo] : NULL;
}

/* ---- references ---- */

static void add_reference(table *t, uint64_t v)
{
    if (v == 0) t->n_zero++;
    if (v >= t->by_position.n && v != 0 && !t->n_not_position++) t->not_position = v;
    if (v != 0 && !find_id(t, v) && !t->n_not_id++) t->not_id = v;
}

static void add_list(table *t, const pb_cur *outer, const pb_field *f)
{
    if (f->wire == 0) {
        add_reference(t, f->value);
        return;
    }
    if (f->wire != 2) return;
    pb_cur c = pb_message(outer, f);
    for (uint64_t v; c.p < c.end && pb_varint(&c, &v);) add_reference(t, v);
}

static bool inside(const entry *m, uint64_t address)
{
    return m && address >= m->start && address < m->limit;
}

static void add_line(census *x, pb_cur c)
{
    uint64_t function = 0;
    for (pb_field f; pb_next(&c, &f);)
        if (f.number == 1 && f.wire == 0) function = f.value;
    add_reference(&x->t[V3_FUNCTION], function);
}

static void add_location(census *x, pb_cur c)
{
    table *m = &x->t[V3_MAPPING];
    uint64_t ref = 0, address = 0;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 2 && f.wire == 0) ref = f.value;
        if (f.number == 3 && f.wire == 0) address = f.value;
        if (f.number == 4 && f.wire == 2) add_line(x, pb_message(&c, &f));
    }
    if (ref == 0) return; /* unset, whether positions or ids */
    add_reference(m, ref);
    m->near_position += ref < m->by_position.n && inside(&m->by_position.v[ref], address);
    m->near_id += inside(find_id(m, ref), address);
}

static void add_sample(census *x, pb_cur c)
{
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 1) add_list(&x->t[V3_LOCATION], &c, &f);
        x->slices |= f.number == 7 || f.number == 8;
    }
}

/* Counts the records of field 15, which is pprof's doc_url if it is one unpacked number and no
 * sample has a slice (docs/spec/layouts.md, R6). */
static void add_indices(census *x, const pb_cur *c, const pb_field *f)
{
    if (!x->n_chunks++ && f->wire == 0)
        x->first = *f;
    else
        add_list(&x->t[V3_LOCATION], c, f);
}

static void settle_first(census *x)
{
    if (x->first.at && (x->n_chunks > 1 || x->slices))
        add_reference(&x->t[V3_LOCATION], x->first.value);
}

/* ---- two passes: tables may follow their users ---- */

static void take_entries(census *x, str piece)
{
    pb_cur c = pb_open(piece.p, piece.n, NULL);
    for (pb_field f; !x->failed && pb_next(&c, &f);) {
        if (f.wire != 2 || f.number < 3 || f.number > 5) continue;
        v3_table t = f.number == 3 ? V3_MAPPING : f.number == 4 ? V3_LOCATION : V3_FUNCTION;
        add_entry(x, &x->t[t], pb_message(&c, &f), t == V3_MAPPING);
    }
}

static void take_references(census *x, str piece)
{
    pb_cur c = pb_open(piece.p, piece.n, NULL);
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 15) add_indices(x, &c, &f);
        if (f.number == 2 && f.wire == 2) add_sample(x, pb_message(&c, &f));
        if (f.number == 4 && f.wire == 2) add_location(x, pb_message(&c, &f));
    }
}

/* ---- the verdict ---- */

static void decide(const table *t, v3_table which, v3_reading *out)
{
    *out = (v3_reading){.has_ids = t->has_ids};
    if (!t->has_ids) return;
    size_t n = sizeof out->why;
    const char *name = v3_table_name(which);
    bool position = !t->n_not_position, id = !t->n_not_id;
    /* An id is never 0; only a mapping may be unset. */
    if (position && t->n_zero) {
        out->weak = which == V3_FUNCTION && id;
        snprintf(out->why, n, "a reference to a %s is 0, which is not an id", name);
    } else if (position && !id) {
        snprintf(out->why, n, "no %s has the id %" PRIu64, name, t->not_id);
    } else if (!position && id) {
        out->by_id = true;
        snprintf(out->why, n, "there is no %s at position %" PRIu64, name, t->not_position);
    } else if (!position) {
        out->broken = true;
        out->by_id = t->n_not_id <= t->n_not_position;
        snprintf(out->why, n, "no %s has the id or the position %" PRIu64, name, t->not_id);
    } else if (t->near_position != t->near_id) {
        out->by_id = t->near_id > t->near_position;
        snprintf(out->why, n, "addresses lie in their mappings when references are %s",
                 out->by_id ? "ids" : "positions");
    } else {
        out->open = true;
        snprintf(out->why, n, "every reference to a %s is both a position and an id", name);
    }
}

/* A producer writes all references in the same way, so a table without evidence follows one that has
 * some.  So does a table whose only evidence is a line without a function, which pprof has too. */
static void follow(v3_reading out[V3_TABLES])
{
    const v3_reading *sure = NULL;
    for (size_t i = 0; i < V3_TABLES && !sure; i++)
        if (out[i].has_ids && !out[i].open && !out[i].broken && !out[i].weak) sure = &out[i];
    for (size_t i = 0; i < V3_TABLES && sure; i++) {
        if (!out[i].open && !out[i].weak) continue;
        out[i].open = false;
        out[i].by_id = sure->by_id;
        snprintf(out[i].why, sizeof out[i].why, "as the references to a %s",
                 v3_table_name((v3_table)(sure - out)));
    }
}

bool v3_refs_judge(const str *pieces, size_t n, arena *tmp, v3_reading out[V3_TABLES])
{
    census x = {.a = tmp};
    memset(out, 0, V3_TABLES * sizeof *out);
    for (size_t i = 0; i < n; i++) take_entries(&x, pieces[i]);
    bool any = false;
    for (size_t i = 0; i < V3_TABLES; i++) {
        any |= x.t[i].has_ids;
        x.failed |= !sort_by_id(&x, &x.t[i]);
    }
    if (x.failed) return false;
    if (!any) return true;
    for (size_t i = 0; i < n; i++) take_references(&x, pieces[i]);
    settle_first(&x);
    for (size_t i = 0; i < V3_TABLES; i++) decide(&x.t[i], (v3_table)i, &out[i]);
    follow(out);
    return true;
}
