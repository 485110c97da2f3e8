/* tests/support/format_text.h - reads a format from text and shows the model as text, for tables of
 * cases.
 *   {pid=7}                                    attributes of a resource, when it has any
 *   wall/nanoseconds interval                  a profile: type, and the attributes in short
 *    main;f:12:3 [id=1 name=io] 5@100 2@300    a sample: stack from the root, attributes,
 *                                              observations (value@time, value or @time)
 * The prefixes "thread.", "kiln." and "process." of keys are omitted. */
#pragma once
#include "test.h"
#include "format/format.h"

#include <inttypes.h>
#include <string.h>

static inline void text_any(buf *b, const any *v)
{
    switch ((any_kind)v->kind) {
    case ANY_STRING: buf_str(b, any_str(v)); break;
    case ANY_BOOL: buf_z(b, v->i ? "true" : "false"); break;
    case ANY_INT: buf_i64(b, v->i); break;
    default: buf_z(b, "?"); break;
    }
}

static inline void text_attr(buf *b, str key, const any *v)
{
    static const char *const known[] = {"thread.", "kiln.", "process.", "profile.", "event."};
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_starts(key, str_of(known[i]))) key.p += strlen(known[i]), key.n -= strlen(known[i]);
    buf_putc(b, ' ');
    buf_str(b, key);
    buf_putc(b, '=');
    text_any(b, v);
}

static inline void text_attrs(buf *b, const dict *d, const uint32_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const attribute *x = &d->attributes.v[v[i]];
        text_attr(b, dict_str(d, x->key), &x->value);
    }
}

static inline void text_location(buf *b, const dict *d, const location *l)
{
    for (uint32_t i = l->lines.n; i-- > 0;) {
        const line *at = &d->lines.v[l->lines.at + i];
        const function *f = &d->functions.v[at->function];
        buf_str(b, dict_str(d, f->name));
        if (f->filename) buf_putc(b, '<'), buf_str(b, dict_str(d, f->filename)), buf_putc(b, '>');
        if (at->line) buf_printf(b, ":%" PRId64, at->line);
        if (at->column) buf_printf(b, ":%" PRId64, at->column);
        if (i) buf_putc(b, '|');
    }
    if (l->address) buf_printf(b, "0x%" PRIx64, l->address);
    if (l->mapping) {
        const mapping *m = &d->mappings.v[l->mapping];
        buf_printf(b, "@%.*s", STR_ARG(dict_str(d, m->filename)));
    }
    if (l->attrs.n) {
        buf_putc(b, '{');
        size_t from = b->n;
        text_attrs(b, d, refs_at(&d->attr_refs, l->attrs), l->attrs.n);
        memmove(b->p + from, b->p + from + 1, b->n - from - 1);
        b->n--;
        buf_putc(b, '}');
    }
}

static inline void text_sample(buf *b, const model *m, const sample *s)
{
    const dict *d = &m->dict;
    span st = dict_stack(d, s->stack);
    buf_putc(b, ' ');
    for (uint32_t i = st.n; i-- > 0;) {
        text_location(b, d, &d->locations.v[d->frames.v[st.at + i]]);
        if (i) buf_putc(b, ';');
    }
    if (s->n_attrs) {
        buf_z(b, " [");
        size_t from = b->n;
        text_attrs(b, d, s->attrs, s->n_attrs);
        memmove(b->p + from, b->p + from + 1, b->n - from - 1);
        b->n--;
        buf_putc(b, ']');
    }
    for (uint32_t i = 0; i < sample_observations(s); i++) {
        buf_putc(b, ' ');
        if (s->n_values) buf_i64(b, s->values[i]);
        if (s->n_times) buf_printf(b, "@%" PRIu64, s->times[i]);
    }
    buf_putc(b, '\n');
}

static inline void text_profile(buf *b, const model *m, const profile *p)
{
    const dict *d = &m->dict;
    buf_printf(b, "%.*s/%.*s", STR_ARG(dict_str(d, p->sample_type.type)),
               STR_ARG(dict_str(d, p->sample_type.unit)));
    if (p->period) buf_printf(b, " period=%" PRId64, p->period);
    if (p->time_unix_nano || p->duration_nano)
        buf_printf(b, " %" PRIu64 "+%" PRIu64, p->time_unix_nano, p->duration_nano);
    text_attrs(b, d, refs_at(&d->attr_refs, p->attrs), p->attrs.n);
    buf_putc(b, '\n');
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(m, p, i);
        text_sample(b, m, &s);
    }
}

static inline void text_model(buf *b, const model *m)
{
    for (size_t i = 0; i < m->resources.n; i++) {
        const resource *r = &m->resources.v[i];
        for (size_t k = 0; k < r->attrs.n; k++) {
            buf_z(b, k ? "" : "{");
            text_attr(b, r->attrs.v[k].key, &r->attrs.v[k].value);
        }
        buf_z(b, r->attrs.n ? " }\n" : "");
        for (uint32_t s = r->first_scope; s < r->first_scope + r->n_scopes; s++) {
            const scope *sc = &m->scopes.v[s];
            if (sc->name.n) buf_printf(b, "(%.*s %.*s)\n", STR_ARG(sc->name), STR_ARG(sc->version));
            for (uint32_t k = 0; k < sc->n_profiles; k++)
                text_profile(b, m, &m->profiles.v[sc->first_profile + k]);
        }
    }
    buf_putc(b, '\0');
}

/* Appends "concept count" of the losses (not of what was carried), in order, separated by
 * spaces. */
static inline void text_losses(buf *b, const ledger *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (!l->v[i].carried_as)
            buf_printf(b, "%s%s %" PRIu64, b->n ? " " : "", loss_name(l->v[i].concept),
                       l->v[i].count);
    buf_putc(b, '\0');
}

typedef struct read_case {
    const char *name, *in;
    const char *want;  /* the model; NULL: it fails with ... */
    const char *fails; /* ... this text, or the losses when it does not fail */
} read_case;

static inline void check_read(const format *f, const read_case *c)
{
    arena a = {0};
    model m;
    err e = {0};
    ledger l = {0};
    layout_verdict v;
    char text[512];
    bool ok = f->read(f, str_of(c->in), &(read_opts){.ledger = &l}, &a, &m, &v, &e);
    if (ok != (c->want != NULL))
        fail_msg("%s: %s", c->name, ok ? "was read" : err_text(&e, text, sizeof text));
    if (ok) {
        buf b = {0}, lost = {0};
        text_model(&b, &m);
        text_losses(&lost, &l);
        if (strcmp(b.p, c->want) != 0)
            fail_msg("%s:\n--- got\n%s--- wanted\n%s", c->name, b.p, c->want);
        if (strcmp(lost.p, c->fails ? c->fails : "") != 0)
            fail_msg("%s: lost \"%s\", wanted \"%s\"", c->name, lost.p, c->fails ? c->fails : "");
        buf_free(&b), buf_free(&lost);
    } else if (strcmp(err_text(&e, text, sizeof text), c->fails) != 0) {
        fail_msg("%s:\n got    %s\n wanted %s", c->name, text, c->fails);
    }
    arena_free(&a);
}

/* Reads every prefix of the text: it is accepted, or rejected with an offset inside it. Each is in
 * memory of exactly its size, so that a sanitizer detects a read past the end. */
static inline void check_truncation(const format *f, str in)
{
    for (size_t n = 0; n <= in.n; n++) {
        char *exact = malloc(n ? n : 1);
        assert_non_null(exact);
        if (n) memcpy(exact, in.p, n);
        arena a = {0};
        model m;
        err e = {0};
        layout_verdict v;
        if (!f->read(f, (str){exact, n}, &(read_opts){0}, &a, &m, &v, &e)) {
            assert_int_not_equal(e.code, ERR_OK);
            assert_true(e.offset == NO_OFFSET || e.offset <= n);
            assert_true(e.msg[0] != '\0');
        }
        arena_free(&a);
        free(exact);
    }
}

/* With every budget the model is the same, or the error is ERR_LIMIT. */
static inline void check_budgets(const format *f, str in)
{
    buf want = {0};
    size_t enough = 0;
    for (size_t budget = 1; budget < 4 << 20; budget += budget < 8192 ? 61 : budget / 9) {
        arena a = {.budget = budget};
        model m;
        err e = {0};
        layout_verdict v;
        bool ok = f->read(f, in, &(read_opts){0}, &a, &m, &v, &e);
        if (ok) {
            buf b = {0};
            text_model(&b, &m);
            if (want.n) assert_string_equal(b.p, want.p);
            if (!want.n)
                want = b, enough = budget;
            else
                buf_free(&b);
        } else if (!err_exhausted(&e)) {
            fail_msg("budget %zu: %s", budget, e.msg);
        } else if (enough && budget > 4 * enough) {
            fail_msg("budget %zu is rejected, %zu was enough", budget, enough);
        }
        arena_free(&a);
    }
    assert_true(want.n > 0);
    buf_free(&want);
}
