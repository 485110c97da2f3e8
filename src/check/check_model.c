#include "check/internal.h"

#include "wire/otlp.h"

#include "base/ban.h"

static bool limit(checker *c) { return !(c->failed = true); }

/* attribute -> canonical string of its key, so that lists compare keys by number. */
static bool resolve_keys(checker *c)
{
    const dict *d = &c->m->dict;
    uint32_t *v = arena_array(&c->tmp, d->attributes.n + 1, sizeof *v);
    c->stamp = arena_new(&c->tmp, uint32_t, d->strings.n + 1);
    c->stamp_at = arena_array(&c->tmp, d->strings.n + 1, sizeof *c->stamp_at);
    if (!v || !c->stamp || !c->stamp_at) return limit(c);
    for (size_t i = 0; i < d->attributes.n; i++) {
        uint32_t key = d->attributes.v[i].key;
        v[i] = key < d->strings.n ? canon_of(c->canon->strings, key, d->strings.n) : NO_KEY;
    }
    c->key_of = v;
    return true;
}

static bool judge(checker *c, const model *m)
{
    canon same;
    c->m = m;
    if (!canon_build(m, &c->tmp, &same)) return limit(c);
    c->canon = &same;
    if (!resolve_keys(c)) return false;
    check_tables(c);
    check_dupes(c);
    check_orphans(c);
    check_envelope(c);
    check_dict(c);
    check_attributes(c);
    check_profiles(c);
    check_samples(c);
    c->canon = NULL;
    return !c->failed;
}

bool check_model(const model *m, const check_opts *o, arena *a, check_report *out, err *e)
{
    checker c;
    if (!checker_open(&c, o, a, e)) return false;
    judge(&c, m);
    checker_note(&c,
                 "not looked at, since only protobuf bytes of the current layout show them: P-04, "
                 "P-12, P-20, P-24, P-80, unknown fields, lengths of ids");
    return checker_finish(&c, out, e);
}

bool check_bytes(const void *p, size_t n, const check_opts *o, arena *a, check_report *out, err *e)
{
    checker c;
    if (!checker_open(&c, o, a, e)) return false;
    model m;
    err why = {0};
    otlp_decode_opts lenient = {.layout = LAYOUT_CURRENT, .lenient = true};
    bool decoded = otlp_decode(p, n, &lenient, &c.tmp, &m, &why);
    /* WIRE decides whether the bytes parse; it counts even when nobody asked to see it. */
    bool wire_on = c.on[RULE_WIRE];
    c.on[RULE_WIRE] = true;
    check_wire(&c, p, n, !decoded || m.n_unknown);
    bool broken = c.by[RULE_WIRE].count > 0;
    if (!wire_on) c.by[RULE_WIRE] = (tally){0};
    c.on[RULE_WIRE] = wire_on;
    if (decoded) {
        if (judge(&c, &m) && !check_locate(&c, p, n)) c.failed = true;
    } else if (broken) {
        checker_note(&c, "the bytes do not parse: only rules about bytes were looked at");
    } else {
        arena_free(&c.tmp);
        if (e && e->code == ERR_OK) *e = why;
        return false;
    }
    return checker_finish(&c, out, e);
}
