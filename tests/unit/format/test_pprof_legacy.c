/* The older pprof kinds: small files of each, errors with their positions, truncation and memory
 * limits. */
#include "../../support/test.h"

#include "format/pprof.h"
#include "wire/carried.h"

#include <inttypes.h>
#include <string.h>

/* ---- a profile as text: types, then rows with values, attributes and addresses or names ---- */

static void put_any(buf *b, const any *v)
{
    if (v->kind == ANY_STRING) buf_str(b, any_str(v));
    if (v->kind == ANY_INT) buf_i64(b, v->i);
    for (uint32_t i = 0; v->kind == ANY_ARRAY && i < v->n; i++)
        put_any(b, &v->array[i]), buf_putc(b, '+');
}

static void put_attrs(const model *m, buf *b, const uint32_t *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const attribute *t = &m->dict.attributes.v[v[i]];
        buf_printf(b, " %.*s=", STR_ARG(dict_str(&m->dict, t->key)));
        put_any(b, &t->value);
    }
}

static void put_frame(const model *m, buf *b, uint32_t i)
{
    const dict *d = &m->dict;
    const location *l = &d->locations.v[i];
    if (l->lines.n) {
        const line *n = &d->lines.v[l->lines.at];
        const function *f = &d->functions.v[n->function];
        buf_printf(b, " %.*s(%.*s:%" PRId64 ")", STR_ARG(dict_str(d, f->name)),
                   STR_ARG(dict_str(d, f->filename)), n->line);
        return;
    }
    buf_printf(b, " %" PRIx64, l->address);
    if (l->mapping)
        buf_printf(b, "@%.*s", STR_ARG(dict_str(d, d->mappings.v[l->mapping].filename)));
    for (uint32_t k = 0; k < l->attrs.n; k++) {
        const attribute *t = &d->attributes.v[d->attr_refs.v[l->attrs.at + k]];
        buf_printf(b, "'%.*s'", STR_ARG(any_str(&t->value)));
    }
}

static buf text_of(const model *m)
{
    buf b = {0};
    const dict *d = &m->dict;
    for (size_t i = 0; i < m->profiles.n; i++)
        buf_printf(&b, "%.*s/%.*s ", STR_ARG(dict_str(d, m->profiles.v[i].sample_type.type)),
                   STR_ARG(dict_str(d, m->profiles.v[i].sample_type.unit)));
    const profile *p = &m->profiles.v[0];
    buf_printf(&b, "period %" PRId64 " %.*s\n", p->period,
               STR_ARG(dict_str(d, p->period_type.type)));
    for (size_t i = 0; i < p->n_samples; i++) {
        for (size_t k = 0; k < m->profiles.n; k++)
            buf_printf(&b, "%" PRId64 " ", sample_at(m, &m->profiles.v[k], i).values[0]);
        sample s = sample_at(m, p, i);
        span stack = dict_stack(d, s.stack);
        buf_putc(&b, '|');
        for (uint32_t k = 0; k < stack.n; k++) put_frame(m, &b, d->frames.v[stack.at + k]);
        put_attrs(m, &b, s.attrs, s.n_attrs);
        buf_putc(&b, '\n');
    }
    return b;
}

/* ---- words ---- */

static void put_words(buf *b, unsigned size, bool big, const uint64_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < size; k++)
            buf_putc(b, (char)(v[i] >> 8 * (big ? size - 1 - k : k)));
}
#define WORDS(b, size, big, ...)                                                                   \
    put_words((b), (size), (big), (uint64_t[]){__VA_ARGS__},                                       \
              sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static const char maps[] = "00400000-00500000 r-xp 00000000 08:01 77  /bin/app\n"
                           "00500000-00600000 rw-p 00100000 08:01 77  /bin/app\n"
                           "7f0000000000-7f0000100000 r-xp 00000000 08:01 78 /lib/libc.so.6\n";

static buf cpu_file(unsigned size, bool big, bool trailer)
{
    buf b = {0};
    WORDS(&b, size, big, 0, 3, 0, 10000, 0);
    WORDS(&b, size, big, 2, 3, 0x400100, 0x400201, 0x400301);
    WORDS(&b, size, big, 1, 2, 0x400150, 0x400401);
    if (!trailer) return b;
    WORDS(&b, size, big, 0, 1, 0);
    buf_z(&b, maps);
    return b;
}

/* ---- the cases ---- */

#define HEAP_MAPS                                                                                  \
    "MAPPED_LIBRARIES:\n00400000-00500000: $d/app\n d=/opt\n00500000-00600000: $d/app2\n"

static const struct {
    const char *name;
    pprof_legacy kind;
    const char *in, *want;
} texts[] = {
    {"exact heap", PPROF_LEGACY_HEAP,
     "heap profile:  3: 300 [ 9: 900] @ heapprofile\n  1: 100 [ 3: 300] @ 0x400101 "
     "0x500202\n\n" HEAP_MAPS,
     "inuse_space/bytes alloc_objects/count alloc_space/bytes inuse_objects/count period 1 space\n"
     "100 3 300 1 | 400100@$d/app 500201@/opt/app2 bytes=100\n"},
    {"sampled heap", PPROF_LEGACY_HEAP,
     "heap profile: 1: 524288 [1: 524288] @ heapz_v2/524288\n1: 524288 [1: 524288] @ 0x10\n",
     "space/bytes objects/count period 524288 space\n829411 1 | f bytes=524288\n"},
    {"heap of Go: twice the rate, names in comments", PPROF_LEGACY_HEAP,
     "heap profile: 1: 16 [2: 32] @ heap/1048576\n1: 16 [2: 32] @ 0x4f3b7d\n"
     "#\t0x4f3b7c\tmain.tree+0x3c\t\tdemo/main.go:10\n\n# runtime.MemStats\n# NumGC = 18\n",
     "inuse_space/bytes alloc_objects/count alloc_space/bytes inuse_objects/count period 524288 "
     "space\n"
     "524296 65537 1048592 32768 | 4f3b7c'main.tree+0x3c demo/main.go:10' bytes=16\n"},
    {"negative in use", PPROF_LEGACY_HEAP,
     "heap profile: 1: 2 [0: 0] @ growthz\n-1: -20 [0: 0] @ 0x2\n",
     "space/bytes objects/count period 1 space\n-20 -1 | 1 bytes=20\n"},
    {"counts", PPROF_LEGACY_COUNT,
     "# comment\ngoroutine profile: total 7\n5 @ 0x101 0x201\n#\t0x100\tf+0x1\n2 @ 0x101\n",
     "goroutine/count period 1 goroutine\n5 | 100'f+0x1' 200\n2 | 100'f+0x1'\n"},
    {"contention", PPROF_LEGACY_CONTENTION,
     "--- contentionz 1 ---\ncycles/second = 2000000000\nsampling period = 100\nms since reset = "
     "5\n"
     "discarded samples = 3\n  1000 2 @ 0x11 0x22\n",
     "delay/nanoseconds contentions/count period 100 contentions\n50000 200 | 10 21\n"},
    {"mutex of Go", PPROF_LEGACY_CONTENTION,
     "--- mutex:\ncycles/second=1000000000\nsampling period=1\n30 4 @ "
     "0x11\n#\t0x10\tg+0x2\tx.go:3\n",
     "delay/nanoseconds contentions/count period 1 contentions\n30 4 | 10'g+0x2 x.go:3'\n"},
    {"threads", PPROF_LEGACY_THREAD,
     "--- threadz 1 ---\n\n--- Thread 7f01 (name: main/1) stack: ---\n  PC:  0x100: f(int)\n  "
     "0x201: g\n"
     "--- Thread 7f02 (name: a/b/2) stack: ---\n  PC:  0x100: f(int)\n  creator: 0x301\n"
     "--- Thread 7f03 (name: c/3) stack: ---\n  [same as previous thread]\n--- Memory map: ---\n"
     "  00000000-00000150: /bin/x\n",
     "thread/count period 1 thread\n"
     "1 | 100@/bin/x'f(int)' 200'g' thread.name=main thread.id=1\n"
     "2 | 100@/bin/x'f(int)' 300 thread.name=a/b+c+ thread.id=2+3+\n"},
    {"heap of Java", PPROF_LEGACY_JAVA,
     "--- heapz 1 ---\nformat = java\nresolution = bytes\n  524288 1 @ 0x1 0x2 0x3\n\n"
     " 0x1 com.A.f (A.java:12)\n 0x2 native (/usr/lib/libjvm.so)\n 0x3 GC\n 0x4 unused "
     "(B.java:1)\n",
     "inuse_space/bytes inuse_objects/count period 0 \n"
     "829411 1 | com.A.f(A.java:12) native(libjvm.so:0) GC(:0) bytes=524288\n"},
    {"contention of Java", PPROF_LEGACY_JAVA,
     "--- contentionz 1 ---\nformat = java\nresolution = microseconds\nsampling period = 10\n 7 2 "
     "@ 0x1\n"
     "0x1 f (-1)\n",
     "delay/microseconds contentions/count period 10 contentions\n70 20 | f(-1:0)\n"},
};

static model read_ok(str in, pprof_legacy kind, arena *a, ledger *l)
{
    model m;
    err e = {0};
    assert_ok(pprof_legacy_decode(in, kind, &(pprof_read_opts){.ledger = l}, a, &m, &e), &e);
    assert_true(m.checked);
    return m;
}

static void expect(const char *name, str in, pprof_legacy kind, const char *want)
{
    arena a = {0};
    if (pprof_legacy_detect(in) != kind) fail_msg("%s: kind %d", name, pprof_legacy_detect(in));
    assert_ptr_equal(format_detect(in), &format_pprof);
    model m = read_ok(in, kind, &a, NULL);
    buf got = text_of(&m);
    if (!str_eq(buf_view(&got), str_of(want))) fail_msg("%s:\n%.*s", name, (int)got.n, got.p);
    buf_free(&got);
    arena_free(&a);
}

static void test_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        expect(texts[i].name, str_of(texts[i].in), texts[i].kind, texts[i].want);
}

static void test_cpu(void **state)
{
    (void)state;
    static const char want[] = "cpu/nanoseconds samples/count period 10000000 cpu\n"
                               "20000000 2 | 400100@/bin/app 400200@/bin/app 400300@/bin/app\n"
                               "10000000 1 | 400150@/bin/app 400400@/bin/app\n";
    for (int k = 0; k < 4; k++) {
        buf b = cpu_file(k < 2 ? 4 : 8, k & 1, true);
        expect("cpu", buf_view(&b), PPROF_LEGACY_CPU, want);
        buf_free(&b);
    }
    arena a = {0};
    ledger l = {0};
    buf b = cpu_file(8, false, false); /* no trailer: the writer was killed */
    model m = read_ok(buf_view(&b), PPROF_LEGACY_CPU, &a, &l);
    assert_u64(m.profiles.v[0].n_samples, 2);
    assert_int_equal(l.v[0].concept, LOSS_TRUNCATED);
    buf_free(&b);
    arena_free(&a);
}

/* Nearly all stacks have frames of the signal handler next to the leaf, and one has its leaf
 * twice. */
static void test_cpu_handler(void **state)
{
    (void)state;
    buf b = {0};
    WORDS(&b, 8, false, 0, 3, 0, 1, 0);
    WORDS(&b, 8, false, 1, 3, 0x100, 0x901, 0x200);
    WORDS(&b, 8, false, 1, 3, 0x110, 0x901, 0x110);
    WORDS(&b, 8, false, 0, 1, 0);
    expect("handler", buf_view(&b), PPROF_LEGACY_CPU,
           "cpu/nanoseconds samples/count period 1000 cpu\n1000 1 | 100 1ff\n1000 1 | 110\n");
    buf_free(&b);
}

static void test_java_cpu(void **state)
{
    (void)state;
    buf b = {0};
    WORDS(&b, 4, false, 0, 3, 1, 10000, 0);
    WORDS(&b, 4, false, 3, 2, 0x3, 0x4);
    WORDS(&b, 4, false, 0, 1, 0);
    buf_z(&b, " 0x03 VM\n 0x04 a.B.c (B.java:9)\n");
    expect(
        "java cpu", buf_view(&b), PPROF_LEGACY_JAVA_CPU,
        "cpu/nanoseconds samples/count period 10000000 cpu\n30000000 3 | VM(:0) a.B.c(B.java:9)\n");
    buf_free(&b);
}

/* ---- errors ---- */

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *in, *want;
    } cases[] = {
        {"heap profile: 1: x\n",
         "expected \"heap profile: objects: bytes [objects: bytes] @ kind\" (byte 0, at line 1)"},
        {"heap profile: 1: 2 [1: 2] @ heapq/5\n",
         "unknown kind \"heapq\" of heap profile (byte 0, at line 1)"},
        {"heap profile: 1: 2 [1: 2] @ heap_v2/5\n\nnonsense\n",
         "expected \"objects: bytes [objects: bytes] @ addresses\" (byte 39, at line 3)"},
        {"heap profile: 1: 2 [1: 2] @ heap_v2/5\n0: 7 [0: 0] @ 0x1\n",
         "bytes without objects (byte 38, at line 2)"},
        {"heap profile: 1: 2 [1: 2] @ heap_v2/5\n1: 7 [1: 7] @ 0x11112222333344445\n",
         "the address does not fit in 64 bits (byte 38, at line 2)"},
        {"goroutine profile: total 1\n1 0x5\n",
         "expected \"count @ addresses\" (byte 27, at line 2)"},
        {"--- contentionz 1 ---\n7 @ 0x1\n",
         "expected \"delay count @ addresses\" (byte 22, at line 2)"},
        {"--- contentionz 1 ---\nsampling period = x\n", "expected a number (byte 22, at line 2)"},
        {"--- threadz 1 ---\n--- Thread zz ---\n",
         "expected \"--- Thread 7f00 (name: main/1) stack: ---\" (byte 18, at line 2)"},
        {"--- heapz 1 ---\n0 0 @ 0\n", "the second value must not be 0 (byte 16, at line 2)"},
        {"--- heapz 1 ---\nformat = c\n", "the format is not java (byte 16, at line 2)"},
        {"--- heapz 1 ---\n1 1 @ 0x1\n",
         "the line \"resolution = bytes\" is missing (byte 16, at line 2)"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        model m;
        err e = {0};
        char text[512];
        str in = str_of(cases[i].in);
        pprof_legacy kind = pprof_legacy_detect(in);
        assert_true(kind != PPROF_LEGACY_NONE);
        assert_false(pprof_legacy_decode(in, kind, &(pprof_read_opts){0}, &a, &m, &e));
        assert_string_equal(err_text(&e, text, sizeof text), cases[i].want);
        arena_free(&a);
    }
    buf b = {0};
    WORDS(&b, 8, false, 0, 3, 0, 1, 0, 1, 99);
    arena a = {0};
    model m;
    err e = {0};
    char text[512];
    assert_false(
        pprof_legacy_decode(buf_view(&b), PPROF_LEGACY_CPU, &(pprof_read_opts){0}, &a, &m, &e));
    assert_string_equal(
        err_text(&e, text, sizeof text),
        "the sample has 99 frames, but the file ends before them (byte 40, at sample[0])");
    buf_free(&b);
    arena_free(&a);
}

/* ---- truncation and memory ---- */

static void try_cut(str whole, size_t n)
{
    char *cut = malloc(n ? n : 1);
    memcpy(cut, whole.p, n);
    str in = {cut, n};
    arena a = {0};
    model m;
    err e = {0};
    pprof_legacy kind = pprof_legacy_detect(in);
    if (kind && !pprof_legacy_decode(in, kind, &(pprof_read_opts){0}, &a, &m, &e))
        assert_true(e.code == ERR_MALFORMED && e.offset <= n && e.msg[0]);
    arena_free(&a);
    free(cut);
}

static bool try_budget(str in, pprof_legacy kind, size_t budget)
{
    arena a = {.budget = budget};
    model m;
    err e = {0};
    bool done = pprof_legacy_decode(in, kind, &(pprof_read_opts){0}, &a, &m, &e);
    assert_true(done || err_exhausted(&e));
    arena_free(&a);
    return done;
}

static void test_cuts_and_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        str in = str_of(texts[i].in);
        for (size_t n = 0; n <= in.n; n++) try_cut(in, n);
        bool done = false;
        for (size_t budget = 16; budget < 32 * 1024; budget += 64)
            done = try_budget(in, texts[i].kind, budget);
        assert_true(done);
    }
    buf b = cpu_file(8, false, true);
    for (size_t n = 0; n <= b.n; n++) try_cut(buf_view(&b), n);
    for (size_t budget = 16; budget < 32 * 1024; budget += 64)
        try_budget(buf_view(&b), PPROF_LEGACY_CPU, budget);
    buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),       cmocka_unit_test(test_cpu),
        cmocka_unit_test(test_cpu_handler), cmocka_unit_test(test_java_cpu),
        cmocka_unit_test(test_errors),      cmocka_unit_test(test_cuts_and_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
