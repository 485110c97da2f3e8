/* tests/support/pprof_text.h - prints a profile.proto message as text with ids resolved and without
 * tables, so that two encodings of one profile give the same text. It is deliberately simple and
 * independent of the code that it checks. Labels are sorted by key (pprof's readers use a map); the
 * order within a key is kept. */
#pragma once
#include "base/buf.h"
#include "wire/pb.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PT_FIELDS = 16 };

typedef struct pt_message {
    uint64_t v[PT_FIELDS]; /* numbers; the last occurrence of each counts */
    str body;
} pt_message;

typedef struct pt_table {
    pt_message *v;
    size_t n;
} pt_table;

typedef struct pt {
    pt_table types, samples, mappings, locations, functions, periods;
    str *strings;
    size_t n_strings;
    uint64_t v[PT_FIELDS]; /* numbers of the Profile */
    uint64_t *comments;
    size_t n_comments;
} pt;

static inline pt_message pt_numbers(str body)
{
    pt_message m = {.body = body};
    pb_cur c = pb_open(body.p, body.n, NULL);
    for (pb_field f; pb_next(&c, &f);)
        if (f.wire == 0 && f.number < PT_FIELDS) m.v[f.number] = f.value;
    return m;
}

static inline void pt_add(pt_table *t, str body)
{
    t->v = realloc(t->v, (t->n + 1) * sizeof *t->v);
    t->v[t->n++] = pt_numbers(body);
}

/* Reads all numbers of a repeated field, packed or not. */
static inline size_t pt_list(str body, uint32_t number, uint64_t **out)
{
    size_t n = 0;
    *out = malloc((body.n + 1) * sizeof **out);
    pb_cur c = pb_open(body.p, body.n, NULL);
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number != number) continue;
        if (f.wire == 0) (*out)[n++] = f.value;
        pb_cur in = f.wire == 2 ? pb_message(&c, &f) : pb_open("", 0, NULL);
        for (uint64_t v; in.p < in.end && pb_varint(&in, &v);) (*out)[n++] = v;
    }
    return n;
}

static inline pt pt_parse(str bytes)
{
    pt t = {0};
    pb_cur c = pb_open(bytes.p, bytes.n, NULL);
    for (pb_field f; pb_next(&c, &f);) {
        if (f.wire == 0 && f.number < PT_FIELDS) t.v[f.number] = f.value;
        if (f.wire != 2) continue;
        switch (f.number) {
        case 1: pt_add(&t.types, pb_bytes(&f)); break;
        case 2: pt_add(&t.samples, pb_bytes(&f)); break;
        case 3: pt_add(&t.mappings, pb_bytes(&f)); break;
        case 4: pt_add(&t.locations, pb_bytes(&f)); break;
        case 5: pt_add(&t.functions, pb_bytes(&f)); break;
        case 11: pt_add(&t.periods, pb_bytes(&f)); break;
        case 6:
            t.strings = realloc(t.strings, (t.n_strings + 1) * sizeof *t.strings);
            t.strings[t.n_strings++] = pb_bytes(&f);
            break;
        default: break;
        }
    }
    t.n_comments = pt_list(bytes, 13, &t.comments);
    return t;
}

static inline void pt_free(pt *t)
{
    pt_table *all[] = {&t->types,     &t->samples,   &t->mappings,
                       &t->locations, &t->functions, &t->periods};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) free(all[i]->v);
    free(t->strings);
    free(t->comments);
}

static inline const pt_message *pt_by_id(const pt_table *t, uint64_t id)
{
    for (size_t i = 0; id && i < t->n; i++)
        if (t->v[i].v[1] == id) return &t->v[i];
    return NULL;
}

static inline void pt_str(const pt *t, buf *b, uint64_t i)
{
    buf_putc(b, '"');
    if (i < t->n_strings) buf_str(b, t->strings[i]);
    buf_putc(b, '"');
}

/* "" for an empty mapping. */
static inline void pt_mapping(const pt *t, buf *b, const pt_message *m)
{
    if (!m) return;
    bool any = false;
    for (size_t i = 2; i <= 10; i++)
        any |= (i == 5 || i == 6) ? t->strings[m->v[i]].n != 0 : m->v[i] != 0;
    if (!any) return;
    buf_printf(b, "map %" PRIx64 " %" PRIx64 " %" PRIx64 " ", m->v[2], m->v[3], m->v[4]);
    pt_str(t, b, m->v[5]);
    pt_str(t, b, m->v[6]);
    for (size_t i = 7; i <= 10; i++) buf_putc(b, m->v[i] ? '1' : '0');
}

static inline void pt_location(const pt *t, buf *b, const pt_message *l)
{
    buf_z(b, "    loc ");
    pt_mapping(t, b, pt_by_id(&t->mappings, l->v[2]));
    buf_printf(b, " %" PRIx64 "%s\n", l->v[3], l->v[5] ? " folded" : "");
    pb_cur c = pb_open(l->body.p, l->body.n, NULL);
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number != 4) continue;
        pt_message line = pt_numbers(pb_bytes(&f));
        const pt_message *fn = pt_by_id(&t->functions, line.v[1]);
        buf_printf(b, "      line %" PRId64 ":%" PRId64 " ", (int64_t)line.v[2],
                   (int64_t)line.v[3]);
        for (size_t i = 2; i <= 4; i++) pt_str(t, b, fn ? fn->v[i] : 0);
        buf_printf(b, " %" PRId64 "\n", fn ? (int64_t)fn->v[5] : 0);
    }
}

typedef struct pt_label {
    str key, text;
    size_t at;
} pt_label;

static inline int pt_label_order(const void *x, const void *y)
{
    const pt_label *a = x, *b = y;
    int d = str_cmp(a->key, b->key);
    return d ? d : a->at < b->at ? -1 : a->at > b->at;
}

static inline void pt_labels(const pt *t, buf *b, str body)
{
    pt_label *all = malloc((body.n + 1) * sizeof *all);
    size_t n = 0;
    pb_cur c = pb_open(body.p, body.n, NULL);
    for (pb_field f; pb_next(&c, &f);)
        if (f.number == 3) all[n] = (pt_label){.text = pb_bytes(&f), .at = n}, n++;
    for (size_t i = 0; i < n; i++) all[i].key = t->strings[pt_numbers(all[i].text).v[1]];
    qsort(all, n, sizeof *all, pt_label_order);
    for (size_t i = 0; i < n; i++) {
        pt_message l = pt_numbers(all[i].text);
        buf_z(b, "    label ");
        pt_str(t, b, l.v[1]);
        if (l.v[2]) buf_putc(b, '='), pt_str(t, b, l.v[2]);
        buf_printf(b, " %" PRId64 " ", (int64_t)l.v[3]);
        pt_str(t, b, l.v[4]);
        buf_putc(b, '\n');
    }
    free(all);
}

static inline void pt_type(const pt *t, buf *b, const char *name, const pt_message *m)
{
    buf_printf(b, "%s ", name);
    pt_str(t, b, m ? m->v[1] : 0);
    pt_str(t, b, m ? m->v[2] : 0);
    buf_putc(b, '\n');
}

static inline void pt_head(const pt *t, buf *b)
{
    bool none = t->types.n == 1 && !t->samples.n; /* an empty type is the same as none */
    if (none) none = !t->strings[t->types.v[0].v[1]].n && !t->strings[t->types.v[0].v[2]].n;
    for (size_t i = 0; i < t->types.n && !none; i++) pt_type(t, b, "type", &t->types.v[i]);
    pt_type(t, b, "period_type", t->periods.n ? &t->periods.v[t->periods.n - 1] : NULL);
    int64_t time = (int64_t)t->v[9], duration = (int64_t)t->v[10]; /* OTLP's times are unsigned */
    buf_printf(b, "period %" PRId64 " time %" PRId64 " duration %" PRId64 "\n", (int64_t)t->v[12],
               time < 0 ? 0 : time, duration < 0 ? 0 : duration);
    static const uint32_t texts[] = {7, 8, 14, 15};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        buf_printf(b, "text %u ", texts[i]);
        pt_str(t, b, t->v[texts[i]]);
        buf_putc(b, '\n');
    }
    for (size_t i = 0; i < t->n_comments; i++) {
        buf_z(b, "comment ");
        pt_str(t, b, t->comments[i]);
        buf_putc(b, '\n');
    }
}

/* Returns whether a location of some sample is in the mapping. */
static inline bool pt_mapping_used(const pt *t, uint64_t id)
{
    for (size_t i = 0; i < t->samples.n; i++) {
        uint64_t *list;
        size_t n = pt_list(t->samples.v[i].body, 1, &list);
        bool found = false;
        for (size_t k = 0; k < n && !found; k++) {
            const pt_message *l = pt_by_id(&t->locations, list[k]);
            found = l && l->v[2] == id;
        }
        free(list);
        if (found) return true;
    }
    return false;
}

/* Prints the mappings in use, in order, each distinct one once. */
static inline void pt_mappings(const pt *t, buf *b)
{
    for (size_t i = 0; i < t->mappings.n; i++) {
        if (!pt_mapping_used(t, t->mappings.v[i].v[1])) continue;
        buf one = {0};
        buf_putc(&one, '\n');
        pt_mapping(t, &one, &t->mappings.v[i]);
        buf_putc(&one, '\n');
        bool seen = one.n == 2 || memmem(b->p, b->n, one.p, one.n);
        if (!seen) buf_put(b, one.p + 1, one.n - 1);
        buf_free(&one);
    }
}

static inline buf pprof_text(str bytes)
{
    pt t = pt_parse(bytes);
    buf b = {0};
    pt_head(&t, &b);
    pt_mappings(&t, &b);
    for (size_t i = 0; i < t.samples.n; i++) {
        uint64_t *v;
        size_t n = pt_list(t.samples.v[i].body, 2, &v);
        buf_z(&b, "  sample");
        for (size_t k = 0; k < n; k++) buf_printf(&b, " %" PRId64, (int64_t)v[k]);
        buf_putc(&b, '\n');
        free(v);
        n = pt_list(t.samples.v[i].body, 1, &v);
        for (size_t k = 0; k < n; k++) {
            const pt_message *l = pt_by_id(&t.locations, v[k]);
            if (l)
                pt_location(&t, &b, l);
            else
                buf_z(&b, "    no location\n");
        }
        free(v);
        pt_labels(&t, &b, t.samples.v[i].body);
    }
    pt_free(&t);
    return b;
}
