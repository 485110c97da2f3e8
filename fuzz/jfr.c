/* Reads a JFR recording. The result is a checked model or an error with an offset, within the
 * memory budget. */
#include "format/format.h"

#include "base/ban.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
    if (!ok) __builtin_trap();
}

static void check_profile(const model *m, const profile *p)
{
    const dict *d = &m->dict;
    require(p->sample_type.type < d->strings.n && p->sample_type.unit < d->strings.n);
    for (size_t k = 0; k < p->n_samples; k++) {
        sample s = sample_at(m, p, k);
        require(s.stack < dict_n_stacks(d) && s.link < d->links.n);
        require(s.n_times > 0 && (!s.n_values || s.n_values == s.n_times));
        for (uint32_t i = 0; i < s.n_attrs; i++) require(s.attrs[i] < d->attributes.n);
    }
}

static void check_model(const model *m)
{
    const dict *d = &m->dict;
    require(m->checked);
    for (size_t i = 0; i < d->frames.n; i++) require(d->frames.v[i] < d->locations.n);
    for (size_t i = 0; i < d->attr_refs.n; i++) require(d->attr_refs.v[i] < d->attributes.n);
    for (size_t i = 0; i < d->lines.n; i++) require(d->lines.v[i].function < d->functions.n);
    for (size_t i = 0; i < m->profiles.n; i++) check_profile(m, &m->profiles.v[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arena a = {.budget = 64 << 20};
    model m;
    err e = {0};
    ledger losses = {0};
    layout_verdict v;
    read_opts o = {.ledger = &losses, .keep_original = size % 2};
    str bytes = {(const char *)data, size};
    require((format_jfr.detect(bytes) == 100) == (size >= 4 && !memcmp(data, "FLR", 4)));
    if (format_jfr.read(&format_jfr, bytes, &o, &a, &m, &v, &e)) {
        check_model(&m);
    } else {
        require(e.code == ERR_MALFORMED || err_exhausted(&e) || e.code == ERR_UNSUPPORTED);
        require(e.offset <= size || e.offset == NO_OFFSET);
        require(e.msg[0] != '\0');
    }
    arena_free(&a);
    return 0;
}
