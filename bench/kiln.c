/* kiln.c - Kiln as contestants, one for each instruction set that the machine supports.
 *
 * Memory is reused as in a server: between messages the arena is reset and the buffer emptied. */
#include "contest.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/model.h"
#include "wire/otlp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef BENCH_JSON
#include "wire/otlp_json.h"
#endif
#ifdef BENCH_CANONICAL
#include "model/merge.h"
#endif

typedef struct codec {
    simd_mode simd;
    arena a;
    model m;
    buf out;
} codec;

static bool complain(const char *what, const material *in, const err *e)
{
    char text[512];
    fprintf(stderr, "bench: kiln %s %s: %s\n", what, in ? in->name : "",
            err_text(e, text, sizeof text));
    return false;
}

/* Static, because the harness counts every malloc between open and the first result. */
#define OPEN(id, mode)                                                                             \
    static void *open_##id(const material *in)                                                     \
    {                                                                                              \
        static codec c;                                                                            \
        (void)in;                                                                                  \
        c = (codec){.simd = (mode)};                                                               \
        return simd_runs(mode) ? &c : NULL;                                                        \
    }
OPEN(portable, SIMD_PORTABLE)
OPEN(avx2, SIMD_AVX2)
OPEN(avx512, SIMD_AVX512)
#ifdef BENCH_JSON
OPEN(auto, SIMD_AUTO)
#endif

static bool decode(void *self, const material *in)
{
    codec *c = self;
    err e = {0};
    arena_reset(&c->a);
    otlp_decode_opts o = {.simd = c->simd, .layout = LAYOUT_CURRENT}; /* given, as for the peers */
    return otlp_decode(in->p, in->n, &o, &c->a, &c->m, &e) || complain("decode", in, &e);
}

static size_t encode(void *self, const uint8_t **out)
{
    codec *c = self;
    err e = {0};
    buf_reset(&c->out);
    otlp_encode_opts o = {.simd = c->simd};
    if (!otlp_encode(&c->m, &o, &c->out, &e)) return complain("encode", NULL, &e);
    *out = (const uint8_t *)c->out.p;
    return c->out.n;
}

static void close_codec(void *self)
{
    codec *c = self;
    arena_free(&c->a);
    buf_free(&c->out);
}

#ifdef BENCH_JSON
static bool decode_json(void *self, const material *in)
{
    codec *c = self;
    err e = {0};
    arena_reset(&c->a);
    otlp_decode_opts o = {.simd = c->simd};
    return otlp_json_decode(in->p, in->n, &o, &c->a, &c->m, &e) || complain("json decode", in, &e);
}
#endif

contestants kiln_contestants(void)
{
    static const contestant v[] = {
        {"kiln portable", ROLE_PORTABLE, MATERIAL_OTLP, open_portable, decode, encode, close_codec},
        {"kiln avx2", ROLE_AVX2, MATERIAL_OTLP, open_avx2, decode, encode, close_codec},
        {"kiln avx512", ROLE_AVX512, MATERIAL_OTLP, open_avx512, decode, encode, close_codec},
#ifdef BENCH_JSON
        {"kiln json", ROLE_PORTABLE, MATERIAL_JSON, open_auto, decode_json, NULL, close_codec},
#endif
    };
    return (contestants){v, sizeof v / sizeof *v};
}

/* ---- other forms of a payload ---- */

#if defined BENCH_JSON || defined BENCH_CANONICAL
static bool take(codec *c, uint8_t **out, size_t *n) /* moves the buffer's bytes to the caller */
{
    *n = c->out.n;
    *out = malloc(*n); /* a copy: an encoder's output may begin in the middle of the buffer */
    if (*out) memcpy(*out, c->out.p, *n);
    return *out != NULL;
}
#endif

bool kiln_to_json(const material *in, uint8_t **out, size_t *n)
{
#ifdef BENCH_JSON
    codec *c = &(codec){.simd = SIMD_AUTO};
    err e = {0};
    bool ok = decode(c, in) &&
              (otlp_json_encode(&c->m, NULL, &c->out, &e) || complain("json encode", in, &e)) &&
              take(c, out, n);
    close_codec(c);
    return ok;
#else
    return (void)in, (void)out, (void)n, false;
#endif
}

bool kiln_canonical(const material *in, uint8_t **out, size_t *n)
{
#ifdef BENCH_CANONICAL
    codec *c = &(codec){.simd = SIMD_AUTO};
    model sorted;
    err e = {0};
    bool ok = decode(c, in);
    const model *one = &c->m;
    const merge_opts o = {.canonical = true};
    ok = ok && (model_merge(&one, 1, &o, &c->a, &sorted, &e) || complain("canonical", in, &e));
    ok = ok && (otlp_encode(&sorted, NULL, &c->out, &e) || complain("encode", in, &e)) &&
         take(c, out, n);
    close_codec(c);
    return ok;
#else
    return (void)in, (void)out, (void)n, false;
#endif
}
