/* Detects the layout of arbitrary bytes, then runs every decoder of old layouts on them. */
#include "wire/layout.h"
#include "wire/otlp_old.h"

#include "base/ban.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
    if (!ok) __builtin_trap();
}

static void check_model(const model *m)
{
    const dict *d = &m->dict;
    require(m->checked);
    for (size_t i = 0; i < d->frames.n; i++) require(d->frames.v[i] < d->locations.n);
    for (size_t i = 0; i < d->attr_refs.n; i++) require(d->attr_refs.v[i] < d->attributes.n);
    for (size_t i = 0; i < d->lines.n; i++) require(d->lines.v[i].function < d->functions.n);
    for (size_t i = 0; i < d->locations.n; i++) require(d->locations.v[i].mapping < d->mappings.n);
    for (size_t i = 0; i < m->sample_attrs.n; i++) require(m->sample_attrs.v[i] < d->attributes.n);
    for (size_t i = 0; i < m->profiles.n; i++)
        for (size_t k = 0; k < m->profiles.v[i].n_samples; k++) {
            sample s = sample_at(m, &m->profiles.v[i], k);
            require(s.stack < dict_n_stacks(d) && s.link < d->links.n);
            require(!s.n_values || !s.n_times || s.n_values == s.n_times);
        }
}

static void decode(const uint8_t *data, size_t size, layout l, bool lenient)
{
    arena a = {.budget = 64 << 20};
    model m;
    err e = {0};
    ledger losses = {0};
    otlp_decode_opts o = {.lenient = lenient, .ledger = &losses};
    if (otlp_old_decode(data, size, l, &o, &a, &m, &e)) {
        check_model(&m);
    } else {
        require(e.code == ERR_MALFORMED || err_exhausted(&e));
        require(e.offset <= size || e.offset == NO_OFFSET);
        require(e.msg[0] != '\0');
    }
    arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    layout_verdict v;
    layout_detect(data, size, &v);
    require(v.layout > LAYOUT_UNKNOWN && v.layout < LAYOUT_COUNT);
    require((v.confidence == LAYOUT_NONE) == (v.against[0] != '\0'));
    require(v.confidence == LAYOUT_NONE || (v.fits >> v.layout & 1));
    layout_verdict brief;
    layout_detect_brief(data, size, &brief);
    require(brief.layout == v.layout && brief.confidence == v.confidence && brief.fits == v.fits);
    bool all = size < 4096; /* large inputs: only the detected layout and one other */
    for (layout l = LAYOUT_1_3; l <= LAYOUT_1_7; l++)
        if (all || l == v.layout || l == LAYOUT_1_3)
            for (int lenient = 0; lenient < 2; lenient++) decode(data, size, l, lenient);
    return 0;
}
