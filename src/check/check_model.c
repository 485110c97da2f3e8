/* Runs the checks of the current layout on a model, and on bytes that are decoded leniently first. */
#include "check/internal.h"

#include "wire/otlp.h"

#include "base/ban.h"

static bool limit(checker *c) { return !(c->failed = true); }

/* Computes the canonical string of each attribute's key, so that lists compare keys by number. */
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

/* Makes links with an id of a wrong length differ from all others: the model has zeros there. */
static bool part_bad_links(checker *c, canon *same)
{
    size_t n = same->links ? c->m->dict.links.n : 0;
    if (!n || !c->bad_links.n) return true;
    uint8_t *bad = arena_new(&c->tmp, uint8_t, n);
    if (!bad) return limit(c);
    for (size_t k = 0; k < c->bad_links.n; k++)
        if (c->bad_links.v[k] < n) bad[c->bad_links.v[k]] = 1;
    for (size_t i = 0; i < n; i++)
        if (bad[i] || bad[same->links[i]]) same->links[i] = (uint32_t)i;
    return true;
}

/* Adds a note if P-76 is the only error, as for a profile converted from one without build ids. */
static void explain_build_ids(checker *c)
{
    for (size_t i = 0; i < RULE_COUNT; i++)
        if (check_rule_table[i].severity == CHECK_ERROR && c->by[i].count && i != RULE_P76) return;
    if (c->by[RULE_P76].count)
        checker_note(c, "the only error is P-76, which mappings.md requires: only the executable "
                        "has the build id.  --ignore P-76 checks the other rules");
}

static bool check_parts(checker *c, const model *m)
{
    canon same;
    c->m = m;
    if (!canon_build(m, &c->tmp, &same)) return limit(c);
    if (!part_bad_links(c, &same)) return false;
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
    explain_build_ids(c);
    return !c->failed;
}

bool check_model(const model *m, const check_opts *o, arena *a, check_report *out, err *e)
{
    checker c;
    if (!checker_open(&c, o, LAYOUT_CURRENT, a, e)) return false;
    check_parts(&c, m);
    checker_note(&c,
                 "not checked, because only protobuf bytes of the current layout show them: P-04, "
                 "P-12, P-20, P-24, P-80, unknown fields, lengths of ids");
    return checker_finish(&c, out, e);
}

bool check_bytes(const void *p, size_t n, const check_opts *o, arena *a, check_report *out, err *e)
{
    return check_bytes_of(LAYOUT_CURRENT, p, n, o, a, out, e);
}

bool check_message(unsigned kind, const message_desc *root, str bytes, bool plain,
                   const check_opts *o, arena *a, check_report *out, err *e)
{
    checker c;
    if (!checker_open(&c, o, kind, a, e)) return false;
    c.plain = plain;
    check_layout(&c, root, bytes.p, bytes.n, false);
    explain_build_ids(&c);
    return checker_finish(&c, out, e);
}

bool check_bytes_of(layout l, const void *p, size_t n, const check_opts *o, arena *a,
                    check_report *out, err *e)
{
    if (l < LAYOUT_1_8)
        return check_message(l, schema_profiles_data(l), (str){p, n}, false, o, a, out, e);
    checker c;
    if (!checker_open(&c, o, l, a, e)) return false;
    model m;
    err why = {0};
    otlp_decode_opts lenient = {.layout = l, .lenient = true};
    bool decoded = otlp_decode(p, n, &lenient, &c.tmp, &m, &why);
    /* WIRE shows whether the bytes parse, so it is counted even if it is not selected. */
    bool wire_on = c.on[RULE_WIRE];
    c.on[RULE_WIRE] = true;
    check_wire(&c, p, n, !decoded || m.n_unknown);
    bool broken = c.by[RULE_WIRE].count > 0;
    if (!wire_on) c.by[RULE_WIRE] = (tally){0};
    c.on[RULE_WIRE] = wire_on;
    if (l == LAYOUT_1_8) check_layout(&c, schema_profiles_data(l), p, n, true);
    if (decoded) {
        if (check_parts(&c, &m) && !check_locate(&c, p, n)) c.failed = true;
    } else if (broken) {
        checker_note(&c, "the bytes do not parse: only rules about bytes were checked");
    } else {
        arena_free(&c.tmp);
        if (e && e->code == ERR_OK) *e = why;
        return false;
    }
    return checker_finish(&c, out, e);
}
