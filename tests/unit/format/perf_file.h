/* Makes perf.data byte by byte, and checks the model read from it: for test_perf_data.c and
 * test_perf_replay.c. */
#pragma once
#include "format/perf_data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- making files ---- */

static bool swapped __attribute__((unused)); /* write in the other byte order */

static inline void u16(buf *b, uint16_t v)
{
    if (swapped) v = __builtin_bswap16(v);
    buf_put(b, &v, sizeof v);
}
static inline void u32(buf *b, uint32_t v)
{
    if (swapped) v = __builtin_bswap32(v);
    buf_put(b, &v, sizeof v);
}
static inline void u64(buf *b, uint64_t v)
{
    if (swapped) v = __builtin_bswap64(v);
    buf_put(b, &v, sizeof v);
}
static inline void zeros(buf *b, size_t n)
{
    while (n--) buf_putc(b, 0);
}
static inline void text8(buf *b, const char *s) /* terminated, padded to 8 */
{
    size_t n = strlen(s) + 1;
    buf_put(b, s, n);
    zeros(b, (8 - n % 8) % 8);
}

/* A bit of a bit field: counted from the other end of its byte in the other byte order. */
static inline void flags(buf *b, uint64_t v)
{
    for (unsigned byte = 0; byte < 8; byte++) {
        unsigned char c = 0;
        for (unsigned i = 0; i < 8; i++)
            if (v >> (byte * 8 + i) & 1) c |= (unsigned char)(1u << (swapped ? 7 - i : i));
        buf_putc(b, (char)c);
    }
}

enum { ATTR = 128 };
#define SAMPLE_ID_ALL ((uint64_t)1 << 18)
#define FREQ ((uint64_t)1 << 10)
#define USE_CLOCKID ((uint64_t)1 << 25)

typedef struct attr_spec {
    uint32_t type;
    uint64_t config, period, sample_type, read_format, bits;
    int32_t clockid;
    uint64_t regs_user;
    uint32_t stack_user;
} attr_spec;

static inline void put_attr(buf *b, const attr_spec *s)
{
    u32(b, s->type), u32(b, ATTR), u64(b, s->config), u64(b, s->period);
    u64(b, s->sample_type), u64(b, s->read_format), flags(b, s->bits);
    zeros(b, 80 - 48);
    u64(b, s->regs_user), u32(b, s->stack_user), u32(b, (uint32_t)s->clockid);
    zeros(b, ATTR - 96);
}

static inline size_t begin(buf *b, uint32_t type, uint16_t misc)
{
    u32(b, type), u16(b, misc), u16(b, 0);
    return b->n - 8;
}
static inline void end(buf *b, size_t at)
{
    uint16_t n = (uint16_t)(b->n - at);
    if (swapped) n = __builtin_bswap16(n);
    memcpy(b->p + at + 6, &n, sizeof n);
}

/* Trailer of kernel records under STANDARD: TID, TIME, CPU. */
enum {
    STANDARD = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
               PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN
};

static inline void trailer(buf *b, uint32_t pid, uint32_t tid, uint64_t time)
{
    u32(b, pid), u32(b, tid), u64(b, time), u32(b, 1), u32(b, 0);
}

static inline void comm(buf *b, uint32_t pid, uint32_t tid, const char *name, bool exec,
                        uint64_t time)
{
    size_t at = begin(b, REC_COMM, exec ? MISC_COMM_EXEC : 0);
    u32(b, pid), u32(b, tid), text8(b, name), trailer(b, pid, tid, time), end(b, at);
}
static inline void mmap1(buf *b, uint32_t pid, uint16_t misc, uint64_t addr, uint64_t len,
                         uint64_t off, const char *name, uint64_t time)
{
    size_t at = begin(b, REC_MMAP, misc);
    u32(b, pid), u32(b, pid), u64(b, addr), u64(b, len), u64(b, off), text8(b, name);
    trailer(b, pid, pid, time), end(b, at);
}
static inline void mmap2(buf *b, uint32_t pid, uint64_t addr, uint64_t len, const char *name,
                         uint64_t time)
{
    size_t at = begin(b, REC_MMAP2, MODE_USER | MISC_MMAP_BUILD_ID);
    u32(b, pid), u32(b, pid), u64(b, addr), u64(b, len), u64(b, 0);
    buf_putc(b, 4), zeros(b, 3), buf_put(b, "\xde\xad\xbe\xef", 4), zeros(b, 16);
    u32(b, 5), u32(b, 2), text8(b, name), trailer(b, pid, pid, time), end(b, at);
}
static inline void task(buf *b, uint32_t type, uint32_t pid, uint32_t ppid, uint32_t tid,
                        uint32_t ptid, uint64_t time)
{
    size_t at = begin(b, type, 0);
    u32(b, pid), u32(b, ppid), u32(b, tid), u32(b, ptid), u64(b, time);
    trailer(b, ppid, ptid, time), end(b, at);
}

#define CONTEXT_KERNEL ((uint64_t)-128)
#define CONTEXT_USER ((uint64_t)-512)

static inline void sample_of(buf *b, uint32_t pid, uint32_t tid, uint64_t time, uint64_t period,
                             const uint64_t *chain, size_t n)
{
    size_t at = begin(b, REC_SAMPLE, MODE_USER);
    u64(b, n > 1 ? chain[1] : 0x401000), u32(b, pid), u32(b, tid), u64(b, time);
    u32(b, 1), u32(b, 0), u64(b, period), u64(b, n);
    for (size_t i = 0; i < n; i++) u64(b, chain[i]);
    end(b, at);
}
#define SAMPLE(b, pid, tid, time, period, ...)                                                     \
    sample_of(b, pid, tid, time, period, (uint64_t[]){__VA_ARGS__},                                \
              sizeof((uint64_t[]){__VA_ARGS__}) / 8)

/* A file: header, attrs without ids, data, features. */
static inline void put_header(buf *b, size_t n_attrs, size_t data_size, uint64_t features)
{
    size_t attrs = n_attrs * (ATTR + 16);
    u64(b, 0x32454c4946524550), u64(b, 104), u64(b, ATTR + 16);
    u64(b, 104), u64(b, attrs), u64(b, 104 + attrs), u64(b, data_size), u64(b, 0), u64(b, 0);
    u64(b, features), u64(b, 0), u64(b, 0), u64(b, 0);
}

static inline buf file_of(const attr_spec *s, size_t n, const buf *data)
{
    buf b = {0};
    put_header(&b, n, data->n, 0);
    for (size_t i = 0; i < n; i++) put_attr(&b, &s[i]), u64(&b, 0), u64(&b, 0);
    buf_str(&b, buf_view(data));
    return b;
}

static inline buf pipe_of(const attr_spec *s, size_t n, const buf *data)
{
    buf b = {0};
    u64(&b, 0x32454c4946524550), u64(&b, 16);
    for (size_t i = 0; i < n; i++) {
        size_t at = begin(&b, REC_ATTR, 0);
        put_attr(&b, &s[i]), end(&b, at);
    }
    buf_str(&b, buf_view(data));
    return b;
}

static const attr_spec cpu_clock __attribute__((unused)) = {.type = PERF_TYPE_SOFTWARE,
                                                            .period = 999,
                                                            .sample_type = STANDARD,
                                                            .bits = SAMPLE_ID_ALL | FREQ};

/* Two threads; the samples of the second are written first. At 50 the program is replaced. */
static inline buf standard_data(void)
{
    buf b = {0};
    comm(&b, 7, 7, "old", false, 0);
    mmap1(&b, UINT32_MAX, MODE_KERNEL, 0xffffffff81000000, 0x1000000, 0xffffffff81000000,
          "[kernel.kallsyms]_text", 0);
    mmap1(&b, 7, MODE_USER, 0x400000, 0x2000, 0x1000, "/bin/old", 0);
    SAMPLE(&b, 7, 8, 70, 30, CONTEXT_USER, 0x401010, 0x500000);
    comm(&b, 7, 7, "new", true, 50);
    mmap2(&b, 7, 0x400000, 0x2000, "/bin/new", 51);
    task(&b, REC_FORK, 7, 7, 8, 7, 60);
    SAMPLE(&b, 7, 7, 40, 10, CONTEXT_USER, 0x401010);
    SAMPLE(&b, 7, 7, 55, 20, CONTEXT_KERNEL, 0xffffffff81000123, CONTEXT_USER, 0x401010);
    return b;
}

/* ---- reading ---- */

typedef struct result {
    arena a;
    model m;
    ledger l;
    err e;
    bool ok;
} result;

static inline void read_opts_into(str in, read_opts o, size_t budget, result *r)
{
    *r = (result){.a = {.budget = budget}};
    o.ledger = &r->l;
    r->ok = format_perf_data.read(&format_perf_data, in, &o, &r->a, &r->m, NULL, &r->e);
}
static inline void read_into(const buf *b, result *r)
{
    read_opts_into(buf_view(b), (read_opts){0}, 0, r);
}
static inline void read_ok(const buf *b, result *r)
{
    read_into(b, r);
    if (!r->ok)
        fail_msg("%s (byte %llu, at %s)", r->e.msg, (unsigned long long)r->e.offset, r->e.path);
}

static inline bool is(const model *m, uint32_t i, const char *want)
{
    return str_eq(dict_str(&m->dict, i), str_of(want));
}
static inline sample at(const model *m, size_t profile_i, size_t i)
{
    assert_true(profile_i < m->profiles.n && i < m->profiles.v[profile_i].n_samples);
    return sample_at(m, &m->profiles.v[profile_i], i);
}
static inline const location *frame(const model *m, const sample *s, size_t i)
{
    span x = dict_stack(&m->dict, s->stack);
    assert_true(i < x.n);
    return &m->dict.locations.v[m->dict.frames.v[x.at + i]];
}
static inline const any *attr_of(const model *m, const uint32_t *refs, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (is(m, m->dict.attributes.v[refs[i]].key, key))
            return &m->dict.attributes.v[refs[i]].value;
    return NULL;
}
static inline const any *sample_attr(const model *m, const sample *s, const char *key)
{
    return attr_of(m, s->attrs, s->n_attrs, key);
}
static inline void has_text(const any *v, const char *want)
{
    assert_non_null(v);
    assert_int_equal(v->kind, ANY_STRING);
    if (!str_eq(any_str(v), str_of(want))) fail_msg("%.*s, wanted %s", (int)v->n, v->s, want);
}
static inline uint64_t lost(const ledger *l, loss_concept c)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].concept == c && !l->v[i].carried_as) return l->v[i].count;
    return 0;
}

/* Whether profile i has the times of its file, with an unknown epoch, and the ledger lists that. */
static inline bool from_boot(const model *m, size_t i, const ledger *l)
{
    const profile *p = &m->profiles.v[i];
    const any *epoch =
        attr_of(m, refs_at(&m->dict.attr_refs, p->attrs), p->attrs.n, "kiln.time.epoch");
    bool listed = false;
    for (size_t k = 0; k < l->n; k++)
    listed |= l->v[k].concept == LOSS_TIME && l->v[k].carried_as &&
              !strcmp(l->v[k].carried_as, "kiln.time.epoch");
    return epoch && listed;
}
