/* Rules on the fields of a Profile. */
#include "check/internal.h"

#include "base/ban.h"
#include <inttypes.h>

static void string_index(checker *c, size_t i, const char *field, uint32_t index)
{
    size_t n = c->m->dict.strings.n;
    if (index && index >= n && violated(c, RULE_P06))
        bad_index(c, at_profile(c, i, "%s", field), index, n);
}

static bool set(const dict *d, uint32_t i)
{
    return i >= d->strings.n ? i != 0 : d->strings.v[i].n;
}

static void type_rules(checker *c, const dict *d, const profile *p, size_t i)
{
    string_index(c, i, ".sample_type.type_strindex", p->sample_type.type);
    string_index(c, i, ".sample_type.unit_strindex", p->sample_type.unit);
    string_index(c, i, ".period_type.type_strindex", p->period_type.type);
    string_index(c, i, ".period_type.unit_strindex", p->period_type.unit);
    if (p->n_samples) {
        if (!set(d, p->sample_type.type) && violated(c, RULE_P46))
            report(c, RULE_P46, at_profile(c, i, ".sample_type.type_strindex"), "no type",
                   "the name of what the values measure");
        if (!set(d, p->sample_type.unit) && violated(c, RULE_P46))
            report(c, RULE_P46, at_profile(c, i, ".sample_type.unit_strindex"), "no unit",
                   "the unit of the values");
    }
    bool typed = set(d, p->period_type.type) || set(d, p->period_type.unit);
    if (p->period < 0 && violated(c, RULE_P51))
        report(c, RULE_P51, at_profile(c, i, ".period"), found_text(c, "%" PRId64, p->period),
               "a positive period");
    else if (p->period > 0 && !typed && violated(c, RULE_P51))
        report(c, RULE_P51, at_profile(c, i, ".period"),
               found_text(c, "%" PRId64 " without a period_type", p->period),
               "period and period_type");
    else if (p->period == 0 && typed && violated(c, RULE_P51))
        report(c, RULE_P51, at_profile(c, i, ".period_type"), "a period_type without a period",
               "period and period_type");
}

static void payload_rules(checker *c, const profile *p, size_t i)
{
    char q[80];
    str format = p->original_payload_format;
    if (p->original_payload.n && !format.n && violated(c, RULE_P53))
        report(c, RULE_P53, at_profile(c, i, ".original_payload"),
               found_text(c, "%zu bytes without a format", p->original_payload.n),
               "original_payload_format too");
    if (!p->original_payload.n && format.n && violated(c, RULE_P53))
        report(c, RULE_P53, at_profile(c, i, ".original_payload_format"),
               found_text(c, "%s without a payload", quote(format, q, sizeof q)),
               "original_payload too");
    if (format.n && !str_eq(format, STR("pprof")) && !str_eq(format, STR("jfr")) &&
        !str_eq(format, STR("linux_perf")) && violated(c, RULE_P54))
        report(c, RULE_P54, at_profile(c, i, ".original_payload_format"),
               quote(format, q, sizeof q), "pprof, jfr or linux_perf");
}

static void window_rule(checker *c, const profile *p, size_t i)
{
    if (p->duration_nano || !p->n_samples) return;
    span first = spans_at(&p->time_span, 0), last = spans_at(&p->time_span, p->n_samples - 1);
    uint32_t n = last.at + last.n - first.at;
    if (n && violated(c, RULE_P50))
        report(c, RULE_P50, at_profile(c, i, ".duration_nano"),
               found_text(c, "0, with %u timestamps", n), "a window that contains the timestamps");
}

/* ---- P-52: ids are unique (check_wire.c checks their length) ---- */

static void id_rule(checker *c)
{
    const model *m = c->m;
    if (!c->on[RULE_P52]) return;
    hash_index x = {0};
    for (size_t i = 0; i < m->profiles.n; i++) {
        const uint8_t *id = m->profiles.v[i].profile_id;
        if (id_is_zero(id, 16)) continue;
        if (!hash_index_room(&x, &c->tmp)) {
            c->failed = true;
            return;
        }
        uint64_t h = hash_bytes(id, 16, x.seed);
        uint32_t slot = hash_first(&x, h), first;
        bool found = false;
        for (; !found && hash_next(&x, &slot, h, &first); slot++)
            found = memcmp(m->profiles.v[first].profile_id, id, 16) == 0;
        if (!found) {
            hash_put(&x, slot, h, (uint32_t)i);
        } else if (violated(c, RULE_P52)) {
            char hex[33];
            hex_encode(id, 16, hex);
            report(c, RULE_P52, at_profile(c, i, ".profile_id"),
                   found_text(c, "%s, also the id of profile %u of the message", hex, first),
                   "a unique id");
        }
    }
}

void check_profiles(checker *c)
{
    const model *m = c->m;
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        type_rules(c, &m->dict, p, i);
        payload_rules(c, p, i);
        window_rule(c, p, i);
        if (p->attrs.n)
            check_attr_list(c, (owner){OWNER_PROFILE, i, 0}, refs_at(&m->dict.attr_refs, p->attrs),
                            p->attrs.n);
    }
    id_rule(c);
}
