/* contest.h - the interface of a contestant: open, run, close.
 *
 * A contestant keeps its memory between runs (that reuse is measured); the first run after open is
 * cold.  Each file has one table; bench.c joins the tables. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MATERIAL_PADDING = 64 }; /* readable zero bytes after the input: the walkers read ahead */

typedef enum material_kind { MATERIAL_OTLP, MATERIAL_JSON, MATERIAL_KINDS } material_kind;

typedef struct material {
    const char *name; /* file name without folders */
    const char *path;
    material_kind kind;
    const uint8_t *p; /* n bytes and MATERIAL_PADDING zeros, page-aligned */
    size_t n;
} material;

typedef enum role {
    ROLE_LIMIT,    /* shown without a goal: memcpy, the other walkers */
    ROLE_WALK,     /* the base of decoding is the fastest of these */
    ROLE_PEER,     /* protobuf C++, yajl */
    ROLE_PORTABLE, /* Kiln without vector instructions */
    ROLE_AVX2,     /* Kiln with AVX2 */
    ROLE_AVX512,   /* Kiln with AVX-512 */
} role;

typedef struct contestant {
    const char *name;
    role role;
    material_kind kind;
    void *(*open)(const material *in);              /* NULL = cannot run here */
    bool (*decode)(void *self, const material *in); /* replaces the previous result */
    size_t (*encode)(
        void *self, const uint8_t **out); /* encodes the decoded message; 0 = failed; may be NULL */
    void (*close)(void *self);
} contestant;

typedef struct contestants {
    const contestant *v;
    size_t n;
} contestants;

contestants walk_contestants(void);
contestants limit_contestants(void); /* with BENCH_LIMIT: programs outside this repository */
contestants pbcpp_contestants(void); /* with BENCH_PBCPP */
contestants yajl_contestants(void);  /* with BENCH_YAJL */
contestants kiln_contestants(void);  /* with BENCH_KILN */

/* With BENCH_KILN.  Convert the payload to OTLP/JSON or to canonical order.  The caller frees *out.
 * Return false if that part of Kiln is missing. */
bool kiln_to_json(const material *in, uint8_t **out, size_t *n);
bool kiln_canonical(const material *in, uint8_t **out, size_t *n);

#ifdef __cplusplus
}
#endif
