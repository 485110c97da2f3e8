/* Reads folded and collapsed text. The result is a checked model or an error with an offset. After
 * one round trip, another must not change the text, and the sum of all values must stay the
 * same. */
#include "format/folded_text.h"

#include <stdlib.h>

#define MUST(x)                                                                                    \
    do                                                                                             \
        if (!(x)) abort();                                                                         \
    while (0)

enum { BUDGET = 64 << 20 };

static int64_t total(const model *m, bool *saturated)
{
    int64_t sum = 0;
    for (size_t i = 0; i < m->profiles.n; i++)
        for (size_t k = 0; k < m->profiles.v[i].n_samples; k++) {
            sample s = sample_at(m, &m->profiles.v[i], k);
            sum = add_saturating(sum, sample_total(&s, saturated), saturated);
        }
    return sum;
}

static void check_model(const model *m)
{
    const dict *d = &m->dict;
    MUST(m->checked && m->profiles.n);
    for (size_t i = 0; i < m->profiles.n; i++)
        for (size_t k = 0; k < m->profiles.v[i].n_samples; k++) {
            sample s = sample_at(m, &m->profiles.v[i], k);
            MUST(s.stack && s.stack < dict_n_stacks(d) && s.link < d->links.n);
            MUST(s.n_values && (!s.n_times || s.n_times == s.n_values));
        }
}

/* Reads `in` and writes the model. Returns false when `in` was rejected. */
static bool read_and_write(const format *f, str in, bool percent, buf *out, int64_t *sum,
                           bool *saturated)
{
    arena a = {.budget = BUDGET};
    model m;
    err e = {0};
    ledger l = {0};
    read_opts r = {.ledger = &l, .percent = percent};
    bool ok = f->read(f, in, &r, &a, &m, NULL, &e);
    if (ok) {
        check_model(&m);
        *sum = total(&m, saturated);
        MUST(f->write(f, &m, &(write_opts){.ledger = &l, .percent = percent}, out, &e));
    } else {
        MUST(e.code == ERR_MALFORMED || err_exhausted(&e));
        MUST(e.offset == NO_OFFSET || e.offset <= in.n);
    }
    arena_free(&a);
    return ok;
}

static void try(const format *f, str in, bool percent)
{
    buf text[3] = {{0}};
    int64_t sum[3];
    bool saturated = false;
    MUST(f->detect(in) <= 100);
    for (int i = 0; i < 3; i++) {
        bool ok = read_and_write(f, i ? buf_view(&text[i - 1]) : in, percent, &text[i], &sum[i],
                                 &saturated);
        if (!ok) MUST(i == 0);
        if (!ok) break;
        if (i == 2) MUST(str_eq(buf_view(&text[1]), buf_view(&text[2])));
        if (i && f == &format_collapsed) MUST(saturated || sum[i] == sum[0]);
    }
    for (int i = 0; i < 3; i++) buf_free(&text[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    str in = {(const char *)p, n};
    bool percent = n && p[0] & 1;
    try(&format_folded, in, percent);
    try(&format_collapsed, in, percent);
    return 0;
}
