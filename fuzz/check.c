/* Runs check_bytes, the checks of every other layout and format, profcheck_verdict and check_fix on
 * arbitrary bytes. */
#include "check/check.h"
#include "format/dialects.h"
#include "format/splunk.h"
#include "wire/otlp.h"

#include "base/ban.h"

#define HOLD(what)                                                                                 \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what);              \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

/* Checks that findings have examples with texts, and offsets inside the input. */
static void hold_report(const check_report *r, size_t n)
{
    for (size_t i = 0; i < r->n_findings; i++) {
        const check_finding *f = &r->findings[i];
        HOLD(f->count > 0 && f->n_examples > 0 && f->n_examples <= CHECK_EXAMPLES);
        HOLD(f->n_examples <= f->count && !f->rule->unseen);
        for (size_t k = 0; k < f->n_examples; k++) {
            HOLD(f->examples[k].offset == NO_OFFSET || f->examples[k].offset <= n);
            HOLD(f->examples[k].expected[0] && f->examples[k].found[0]);
        }
    }
}

static void hold_fixed(const model *lenient, arena *a)
{
    model m;
    fix_report did;
    check_report after;
    err e = {0};
    buf out = {0};
    HOLD(check_fix(lenient, a, &m, &did, &e));
    HOLD(check_model(&m, NULL, a, &after, &e));
    for (size_t i = 0; i < after.n_findings; i++) HOLD(!after.findings[i].rule->fixable);
    HOLD(otlp_encode(&m, NULL, &out, &e));
    HOLD(check_bytes(out.p, out.n, NULL, a, &after, &e));
    for (size_t i = 0; i < after.n_findings; i++) HOLD(!after.findings[i].rule->fixable);
    buf_free(&out);
}

/* Checks that each finding belongs to a rule of the kind that was checked. */
static void hold_kind(unsigned kind, const message_desc *root, const uint8_t *p, size_t n)
{
    arena a = {0};
    check_report r;
    err e = {0};
    str bytes = {(const char *)p, n};
    HOLD(root ? check_message(kind, root, bytes, false, NULL, &a, &r, &e)
              : check_bytes_of((layout)kind, p, n, NULL, &a, &r, &e));
    hold_report(&r, n);
    for (size_t i = 0; i < r.n_findings; i++) HOLD(r.findings[i].rule->kinds >> kind & 1);
    arena_free(&a);
}

static void hold_kinds(const uint8_t *p, size_t n)
{
    for (layout l = LAYOUT_1_3; l < LAYOUT_CURRENT; l++) hold_kind(l, NULL, p, n);
    for (dialect d = DIALECT_A; d < DIALECT_C; d++)
        hold_kind(CHECK_ARRAYS, dialect_schema(d), p, n);
    hold_kind(CHECK_EVENTS, dialect_schema(DIALECT_C), p, n);
    hold_kind(CHECK_EVENTS, dialect_schema(DIALECT_C_BOX), p, n);
    hold_kind(LAYOUT_1_3, dialect_schema(DIALECT_B_BARE), p, n);
    hold_kind(CHECK_SPLUNK, splunk_logs_schema(), p, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    arena a = {0};
    check_report r;
    profcheck_result v;
    err e = {0};
    HOLD(check_bytes(p, n, NULL, &a, &r, &e));
    HOLD(a.used < 512 * 1024);
    hold_report(&r, n);
    hold_kinds(p, n);
    HOLD(profcheck_verdict(p, n, &(profcheck_opts){true, true, true}, &a, &v, &e));
    HOLD((v.status == PROFCHECK_PASS) == (v.first[0] == '\0'));

    model m;
    otlp_decode_opts lenient = {.layout = LAYOUT_CURRENT, .lenient = true};
    if (otlp_decode(p, n, &lenient, &a, &m, &e)) {
        HOLD(!check_report_find(&r, "WIRE"));
        hold_fixed(&m, &a);
    }
    arena_free(&a);
    return 0;
}
