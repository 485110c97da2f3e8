/* Decodes the three layouts with columns. Every SIMD path of this machine, the encoder and the slow
 * reference must agree on any bytes, and every error must have an offset. */
#include "reference.h"

#include "model/merge.h"
#include "wire/otlp.h"
#include "wire/otlp_filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOLDS(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "does not hold: %s (line %d)\n", #cond, __LINE__);                     \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static void same_bytes(const buf *a, const buf *b)
{
    HOLDS(a->n == b->n);
    HOLDS(a->n == 0 || memcmp(a->p, b->p, a->n) == 0);
}

static bool decode(const uint8_t *p, size_t n, layout l, bool lenient, simd_mode simd, arena *a,
                   model *m)
{
    err e = {0};
    if (otlp_decode(p, n, &(otlp_decode_opts){.layout = l, .lenient = lenient, .simd = simd}, a, m,
                    &e))
        return true;
    HOLDS(e.code == ERR_MALFORMED || err_exhausted(&e));
    HOLDS(e.offset <= n); /* otlp_locate found it */
    HOLDS(e.msg[0] != '\0');
    return false;
}

static buf encode(const model *m, layout l, bool refs, simd_mode simd)
{
    buf out = {0};
    err e = {0};
    HOLDS(otlp_encode(m, &(otlp_encode_opts){.layout = l, .string_refs = refs, .simd = simd}, &out,
                      &e));
    return out;
}

/* Checks that the written bytes read back as the same model, and are written the same again. */
static void round_trip(const model *m, layout l, bool refs, arena *a)
{
    buf fast = encode(m, l, refs, SIMD_AUTO);
    for (simd_mode s = SIMD_PORTABLE; s < SIMD_MODES; s++) {
        if (!simd_runs(s)) continue;
        buf other = encode(m, l, refs, s);
        same_bytes(&fast, &other);
        buf_free(&other);
    }
    model again;
    HOLDS(decode((const uint8_t *)fast.p, fast.n, l, false, SIMD_AUTO, a, &again));
    HOLDS(model_equal(m, &again, NULL));
    buf twice = encode(&again, l, refs, SIMD_AUTO);
    same_bytes(&fast, &twice);
    buf_free(&fast);
    buf_free(&twice);
}

/* Checks that the filtered part of a malformed message decodes strictly, and that filtering a valid
 * message removes nothing. */
static void check_filtered(const uint8_t *p, size_t n, layout l, bool ok, const model *all)
{
    arena a = {0};
    otlp_filtered s;
    str kept;
    err e = {0};
    model m;
    size_t sum = 0;
    bool some = otlp_filter(p, n, l, &a, &kept, &s, &e);
    HOLDS(some || !ok);
    HOLDS(some || e.code == ERR_MALFORMED || err_exhausted(&e));
    if (some) {
        for (size_t i = 0; i < OTLP_FAULT_COUNT; i++) sum += s.rejected_by[i];
        HOLDS(sum == s.n_rejected && s.n_rejected <= s.n_profiles);
        HOLDS(!ok || (!s.n_rejected && !s.n_entries));
        HOLDS(decode((const uint8_t *)kept.p, kept.n, l, false, SIMD_AUTO, &a, &m));
        HOLDS(m.profiles.n == s.n_profiles - s.n_rejected);
        HOLDS(!ok || model_equal(all, &m, NULL));
    }
    arena_free(&a);
}

static void one_layout(const uint8_t *p, size_t n, layout l)
{
    arena a = {0}, b = {0};
    model x, loose;
    bool ok = decode(p, n, l, false, SIMD_AUTO, &a, &x);
    for (simd_mode s = SIMD_PORTABLE; s < SIMD_MODES; s++) {
        if (!simd_runs(s)) continue;
        model y;
        HOLDS(decode(p, n, l, false, s, &b, &y) == ok);
        if (ok) HOLDS(x.checked && y.checked && x.n_unknown == y.n_unknown);
        if (ok) HOLDS(model_equal(&x, &y, NULL));
    }
    HOLDS(decode(p, n, l, true, SIMD_AUTO, &b, &loose) >=
          ok); /* lenient decoding accepts more, never less */
    check_filtered(p, n, l, ok, &x);
    if (ok) {
        round_trip(&x, LAYOUT_1_9, false, &a);
        round_trip(&x, LAYOUT_1_10, false, &a);
        round_trip(&x, LAYOUT_1_10, true, &a);
    }
    if (l >= LAYOUT_1_9) {
        buf want = {0};
        bool fine = reference_canonical(p, n, l, &b, &want);
        HOLDS(fine || !ok); /* the decoder also rejects references that a later field overwrote */
        if (ok) {
            buf got = encode(&x, l, false, SIMD_AUTO);
            same_bytes(&got, &want);
            buf_free(&got);
        }
        buf_free(&want);
    }
    arena_free(&a);
    arena_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    for (layout l = LAYOUT_1_8; l <= LAYOUT_1_10; l++) one_layout(p, n, l);
    return 0;
}
