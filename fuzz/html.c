/* Reads arbitrary bytes as a report. The result is a checked model, or an error with an offset
 * inside the input. The model is written as a report again and must read back the same. */
#include "draw/report.h"
#include "format/html.h"
#include "wire/base64.h"
#include "wire/otlp.h"

#include <stdlib.h>

#define MUST(x)                                                                                    \
    do                                                                                             \
        if (!(x)) abort();                                                                         \
    while (0)

enum { BUDGET = 64 << 20, MAX_BYTES = 8 << 20 };

static bool read_as(const format *f, str in, arena *a, model *m)
{
    err e = {0};
    ledger l = {0};
    bool ok = f->read(f, in, &(read_opts){.ledger = &l, .max_bytes = MAX_BYTES}, a, m, NULL, &e);
    MUST(ok || e.code == ERR_MALFORMED || err_exhausted(&e) || e.code == ERR_UNSUPPORTED);
    MUST(ok || e.offset == NO_OFFSET || e.offset <= in.n);
    return ok;
}

static void round_trip(const model *m, arena *a)
{
    buf otlp = {0}, packed = {0}, text = {0}, html = {0};
    err e = {0};
    model back;
    MUST(otlp_encode(m, NULL, &otlp, &e) && pack(CODEC_GZIP, buf_view(&otlp), &packed, &e));
    base64_encode(&text, buf_view(&packed));
    report_write(&(report){.profile = {STR("<fuzz>"), buf_view(&text)}}, &html);
    MUST(format_html.detect(buf_view(&html)) == 100);
    if (read_as(&format_html, buf_view(&html), a, &back)) {
        buf second = {0};
        MUST(otlp_encode(&back, NULL, &second, &e));
        MUST(str_eq(buf_view(&otlp), buf_view(&second)));
        buf_free(&second);
    }
    buf_free(&otlp);
    buf_free(&packed);
    buf_free(&text);
    buf_free(&html);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    arena a = {.budget = BUDGET};
    str in = {(const char *)p, n};
    model m;
    MUST(format_html.detect(in) <= 100);
    (void)read_as(&format_html_base, in, &a, &m);
    if (read_as(&format_html, in, &a, &m)) round_trip(&m, &a);
    arena_free(&a);
    return 0;
}
