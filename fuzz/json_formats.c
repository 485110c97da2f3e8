/* Reads JSON profiles: Chrome, speedscope, cpuprofile, heapprofile, Gecko. Every model must be
 * consistent, also after it is written and read back. */
#include "format/format.h"

#include <stdlib.h>

#define MUST(x)                                                                                    \
    do                                                                                             \
        if (!(x)) abort();                                                                         \
    while (0)

static const format *const readers[] = {&format_chrome, &format_speedscope, &format_cpuprofile,
                                        &format_heapprofile, &format_gecko};
static const format *const writers[] = {&format_chrome, &format_speedscope};

static bool read_as(const format *f, str in, arena *a, model *m, ledger *l)
{
    err e = {0};
    layout_verdict v = {0};
    if (f->read(f, in, &(read_opts){.ledger = l}, a, m, &v, &e)) return true;
    MUST(e.code != ERR_OK && e.msg[0] && (e.offset <= in.n || e.offset == NO_OFFSET));
    return false;
}

/* Checks that indices are inside their tables, times in range and lists of equal length. */
static void check_model(const model *m)
{
    MUST(m->checked);
    for (size_t p = 0; p < m->profiles.n; p++) {
        const profile *x = &m->profiles.v[p];
        for (size_t i = 0; i < x->n_samples; i++) {
            sample s = sample_at(m, x, i);
            MUST(s.stack < dict_n_stacks(&m->dict) && s.n_values + s.n_times > 0);
            MUST(!s.n_values || !s.n_times || s.n_values == s.n_times);
            for (uint32_t k = 0; k < s.n_attrs; k++) MUST(s.attrs[k] < m->dict.attributes.n);
            for (uint32_t k = 0; k < s.n_times; k++)
                MUST(s.times[k] >= x->time_unix_nano &&
                     s.times[k] - x->time_unix_nano < x->duration_nano);
        }
    }
    for (size_t i = 0; i < m->dict.frames.n; i++) MUST(m->dict.frames.v[i] < m->dict.locations.n);
}

static void write_back(const format *f, const model *m, arena *a)
{
    buf out = {.limit = 16 << 20};
    err e = {0};
    if (f->write(f, m, &(write_opts){0}, &out, &e)) {
        model back;
        ledger l = {0};
        if (!read_as(f, buf_view(&out), a, &back, &l)) abort();
        check_model(&back);
    } else {
        MUST(err_exhausted(&e));
    }
    buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    /* In separate memory, so that a sanitizer detects a read past the end. */
    char *exact = malloc(n ? n : 1);
    if (!exact) return 0;
    if (n) memcpy(exact, data, n);
    str in = {exact, n};
    for (size_t i = 0; i < ARRAY_LEN(readers); i++) {
        (void)readers[i]->detect(in);
        arena a = {.budget = 64 << 20};
        model m;
        ledger l = {0};
        if (read_as(readers[i], in, &a, &m, &l)) {
            check_model(&m);
            for (size_t k = 0; k < ARRAY_LEN(writers); k++) write_back(writers[k], &m, &a);
        }
        arena_free(&a);
    }
    free(exact);
    return 0;
}
