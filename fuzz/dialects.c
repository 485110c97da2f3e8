/* Reads bytes as a draft; the first byte chooses which, so that one run reaches all of them. The
 * model is written as every draft, and must read back. */
#include "format/dialects.h"
#include "format/events.h"
#include "wire/layout.h"

#include "base/ban.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const format *const all[] = {&format_arrays,  &format_normalized, &format_denormalized,
                                    &format_otep239, &format_events,     &format_events_text};

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
        }
}

static bool reads(const format *f, str in, bool lenient, arena *a, model *m, err *e)
{
    layout_verdict v = {0};
    ledger l = {0};
    return f->read(f, in, &(read_opts){.lenient = lenient, .ledger = &l}, a, m, &v, e);
}

/* Checks that output in format f reads back. own: f is the format of the input; after a round trip,
 * another must give the same bytes. */
static void check_write(const format *f, const model *m, bool own)
{
    buf b = {.limit = 8 << 20}, again = {.limit = 8 << 20};
    arena a = {.budget = 256 << 20};
    model back;
    err e = {0};
    if (f->write(f, m, &(write_opts){0}, &b, &e)) {
        err r = {0};
        bool ok = reads(f, buf_view(&b), false, &a, &back, &r);
        require(ok || err_exhausted(&r));
        if (ok) check_model(&back);
        if (ok && own && f->write(f, &back, &(write_opts){0}, &again, &e)) {
            model third;
            buf last = {.limit = 8 << 20};
            if (reads(f, buf_view(&again), false, &a, &third, &r) &&
                f->write(f, &third, &(write_opts){0}, &last, &e))
                require(str_eq(buf_view(&again), buf_view(&last)));
            buf_free(&last);
        }
    } else {
        require(err_exhausted(&e));
    }
    buf_free(&b);
    buf_free(&again);
    arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    const format *f = all[data[0] % ARRAY_LEN(all)];
    bool lenient = data[0] & 0x80;
    str in = {(const char *)data + 1, size - 1};
    dialect d = dialect_detect(in);
    require(d < DIALECT_COUNT);
    arena a = {.budget = 64 << 20};
    model m;
    err e = {0};
    if (reads(f, in, lenient, &a, &m, &e)) {
        check_model(&m);
        if (m.checked)
            for (size_t i = 0; i < ARRAY_LEN(all); i++) check_write(all[i], &m, all[i] == f);
    } else {
        require(e.code == ERR_MALFORMED || err_exhausted(&e) || e.code == ERR_UNSUPPORTED);
        require(e.offset <= in.n || e.offset == NO_OFFSET);
        require(e.msg[0] != '\0');
    }
    arena_free(&a);
    return 0;
}
