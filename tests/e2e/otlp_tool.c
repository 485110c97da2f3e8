/* otlp_tool.c - runs the codec for tests/e2e/protoc_oracle, without detection of layouts.
 *
 *   otlp_tool recode FROM TO IN OUT      decode and encode; TO is a layout, or "refs": the current
 *                                        one with string references
 *   otlp_tool canonical FROM IN OUT      the same through canonical order, written as 1.10
 *   otlp_tool facts FROM IN              a line per profile: type unit samples observations total */
#include "model/merge.h"
#include "wire/otlp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int complain(const err *e)
{
    char text[512];
    fprintf(stderr, "%s\n", err_text(e, text, sizeof text));
    return 1;
}

static bool read_file(const char *path, buf *out)
{
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    char chunk[8192];
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, f)) > 0;) buf_put(out, chunk, n);
    bool ok = !ferror(f) && !out->failed;
    fclose(f);
    return ok;
}

static bool write_file(const char *path, const buf *b)
{
    FILE *f = fopen(path, "wb");
    if (!f) return false;
    bool ok = fwrite(b->p, 1, b->n, f) == b->n;
    return fclose(f) == 0 && ok;
}

static void print_facts(const model *m)
{
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        uint64_t observations = 0;
        int64_t total = 0;
        for (size_t k = 0; k < p->n_samples; k++) {
            sample s = sample_at(m, p, k);
            observations += sample_observations(&s);
            total = add_saturating(total, sample_total(&s, NULL), NULL);
        }
        printf("%.*s %.*s %zu %" PRIu64 " %" PRId64 "\n",
               STR_ARG(dict_str(&m->dict, p->sample_type.type)),
               STR_ARG(dict_str(&m->dict, p->sample_type.unit)), p->n_samples, observations, total);
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    bool recode = !strcmp(mode, "recode"), canonical = !strcmp(mode, "canonical"),
         facts = !strcmp(mode, "facts");
    if (argc != (recode ? 6 : canonical ? 5 : facts ? 4 : 0)) {
        fprintf(stderr,
                "usage: otlp_tool recode FROM TO IN OUT | canonical FROM IN OUT | facts FROM IN\n");
        return 2;
    }
    const char *in_path = argv[recode ? 4 : 3], *out_path = argv[argc - 1];
    buf in = {0}, out = {0};
    arena a = {0};
    err e = {0};
    model m, tidy;
    if (!read_file(in_path, &in)) return 2;
    if (!otlp_decode(in.p, in.n, &(otlp_decode_opts){.layout = layout_from_name(str_of(argv[2]))},
                     &a, &m, &e))
        return complain(&e);
    const model *from = &m;
    if (canonical) {
        if (!model_merge(&from, 1, &(merge_opts){.canonical = true}, &a, &tidy, &e))
            return complain(&e);
        from = &tidy;
    }
    if (facts) {
        print_facts(from);
    } else {
        bool refs = recode && !strcmp(argv[3], "refs");
        otlp_encode_opts o = {.layout = recode && !refs ? layout_from_name(str_of(argv[3]))
                                                        : LAYOUT_CURRENT,
                              .string_refs = refs};
        if (!otlp_encode(from, &o, &out, &e)) return complain(&e);
        if (!write_file(out_path, &out)) return 2;
    }
    buf_free(&in);
    buf_free(&out);
    arena_free(&a);
    return 0;
}
