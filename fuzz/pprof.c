/* Reads arbitrary bytes as pprof. Both readers of profile.proto must agree, errors must have an
 * offset, and every model must be written the same after it is read back. The legacy kinds are read
 * too. */
#include "format/pprof.h"

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
            require(s.stack < dict_n_stacks(d) && s.link < d->links.n && s.n_values == 1);
        }
}

static void check_error(const err *e, size_t size)
{
    require(e->code == ERR_MALFORMED || err_exhausted(e));
    require(e->offset <= size || e->offset == NO_OFFSET);
    require(e->msg[0] != '\0');
}

/* Checks that a model is written the same after it is read back. A lenient reader keeps entries
 * that no sample uses. */
static void check_writer(const model *m, bool lenient)
{
    arena a = {.budget = 256 << 20};
    buf once = {0}, twice = {0};
    err e = {0};
    model back;
    require(pprof_encode(m, &(pprof_write_opts){0}, &once, &e));
    if (pprof_decode(buf_view(&once), &(pprof_read_opts){.lenient = lenient}, &a, &back, &e)) {
        require(pprof_encode(&back, &(pprof_write_opts){0}, &twice, &e));
        require(str_eq(buf_view(&once), buf_view(&twice)));
    } else {
        require(err_exhausted(&e));
    }
    buf_free(&once);
    buf_free(&twice);
    arena_free(&a);
}

static void legacy(str in)
{
    pprof_legacy kind = pprof_legacy_detect(in);
    if (kind == PPROF_LEGACY_NONE) return;
    arena a = {.budget = 64 << 20};
    err e = {0};
    ledger l = {0};
    model m;
    if (pprof_legacy_decode(in, kind, &(pprof_read_opts){.ledger = &l}, &a, &m, &e)) {
        check_model(&m);
        check_writer(&m, false);
    } else {
        check_error(&e, in.n);
    }
    arena_free(&a);
}

static void proto(str in, bool lenient)
{
    arena a = {.budget = 64 << 20}, b = {.budget = 64 << 20};
    err e = {0}, f = {0}, g = {0};
    ledger l = {0};
    model m, plain;
    bool ok = pprof_decode(in, &(pprof_read_opts){.lenient = lenient, .ledger = &l}, &a, &m, &e);
    bool same =
        pprof_decode(in, &(pprof_read_opts){.lenient = lenient, .plain = true}, &b, &plain, &f);
    if (!err_exhausted(&e) && !err_exhausted(&f)) {
        require(ok == same);
        if (ok)
            require(model_equal(&m, &plain, &g));
        else
            require(e.offset == f.offset && strcmp(e.msg, f.msg) == 0);
    }
    if (ok) {
        check_model(&m);
        check_writer(&m, lenient);
    } else {
        check_error(&e, in.n);
    }
    arena_free(&a);
    arena_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str in = {(const char *)data, size};
    unsigned score = format_pprof.detect(in);
    require(score <= 100);
    legacy(in);
    proto(in, false);
    proto(in, true);
    return 0;
}
