/* once.c - runs one operation on one file once, for growth.sh under callgrind.
 *
 *     once OPERATION FILE          prints the number of bytes that the operation processed
 *
 * Only code inside measured() counts (callgrind --toggle-collect=measured): start-up, reading the
 * file and the decode that an encode needs are excluded. */
#include "contest.h"
#include "walk.h"
#ifdef BENCH_KILN
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/model.h"
#include "wire/otlp.h"
#endif
#ifdef BENCH_CANONICAL
#include "model/merge.h"
#endif
#ifdef BENCH_CHECK
#include "check/check.h"
#endif
#ifdef BENCH_JSON
#include "wire/otlp_json.h"
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct work {
    uint8_t *p;
    size_t n;
#ifdef BENCH_KILN
    arena a, b;
    model m, other;
    buf out;
    err e;
#endif
} work;

typedef bool step(work *w);

typedef struct operation {
    const char *name;
    step *prepare, *run;
} operation;

static bool nothing(work *w) { return (void)w, true; }

static bool walk(work *w)
{
    uint64_t sum = 0;
    return walk_profiles(w->p, w->n, &sum) && sum != 0;
}

#ifdef BENCH_KILN
static bool decode(work *w) { return otlp_decode(w->p, w->n, NULL, &w->a, &w->m, &w->e); }
static bool encode(work *w) { return otlp_encode(&w->m, NULL, &w->out, &w->e); }

static bool decode_portable(work *w)
{
    return otlp_decode(w->p, w->n, &(otlp_decode_opts){.simd = SIMD_PORTABLE}, &w->a, &w->m, &w->e);
}

static bool encode_portable(work *w)
{
    return otlp_encode(&w->m, &(otlp_encode_opts){.simd = SIMD_PORTABLE}, &w->out, &w->e);
}
#endif
#ifdef BENCH_CANONICAL
static bool canonical(work *w)
{
    const model *one = &w->m;
    return model_merge(&one, 1, &(merge_opts){.canonical = true}, &w->b, &w->other, &w->e);
}
#endif
#ifdef BENCH_CHECK
static bool check(work *w)
{
    check_report r;
    return check_bytes(w->p, w->n, NULL, &w->a, &r, &w->e);
}
#endif
#ifdef BENCH_JSON
static bool json_encode(work *w) { return otlp_json_encode(&w->m, NULL, &w->out, &w->e); }
static bool json_decode(work *w)
{
    return otlp_json_decode(w->out.p, w->out.n, NULL, &w->b, &w->other, &w->e);
}
static bool json_text(work *w) { return decode(w) && json_encode(w); }
#endif

static const operation operations[] = {
    {"walk", nothing, walk},
#ifdef BENCH_KILN
    {"decode", nothing, decode},
    {"decode-portable", nothing, decode_portable},
    {"encode", decode, encode},
    {"encode-portable", decode, encode_portable},
#endif
#ifdef BENCH_CANONICAL
    {"canonical", decode, canonical},
#endif
#ifdef BENCH_CHECK
    {"check", nothing, check},
#endif
#ifdef BENCH_JSON
    {"json-encode", decode, json_encode},
    {"json-decode", json_text, json_decode},
#endif
};
enum { N_OPERATIONS = sizeof operations / sizeof *operations };

bool measured(step *s, work *w);

__attribute__((noinline)) bool measured(step *s, work *w)
{
    bool ok = s(w);
    __asm__ volatile("" ::: "memory"); /* no tail call: the toggle needs the return */
    return ok;
}

static bool load(const char *path, work *w)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) return false;
    long n = ftell(f);
    rewind(f);
    w->n = n > 0 ? (size_t)n : 0;
    w->p = calloc(1, w->n + MATERIAL_PADDING);
    bool ok = w->p && fread(w->p, 1, w->n, f) == w->n;
    fclose(f);
    return ok;
}

static int list(void)
{
    for (size_t i = 0; i < N_OPERATIONS; i++) printf("%s\n", operations[i].name);
    return 0;
}

int main(int argc, char **argv)
{
    static work w;
    if (argc == 2 && strcmp(argv[1], "--list") == 0) return list();
    if (argc != 3 || !load(argv[2], &w)) {
        fprintf(stderr, "usage: once --list | OPERATION FILE\n");
        return 2;
    }
    for (size_t i = 0; i < N_OPERATIONS; i++) {
        if (strcmp(operations[i].name, argv[1]) != 0) continue;
        if (!operations[i].prepare(&w)) return 1;
        if (!measured(operations[i].run, &w)) return 1;
        printf("%zu\n", w.n);
        return 0;
    }
    return 2;
}
