/* Reads and writes folded stacks and the draft's collapsed form. */
#include "../../support/test.h"

#include "format/folded_text.h"
#include "model/extras.h"
#include "model/merge.h"

#include <inttypes.h>
#include <string.h>

/* ---- a model as text: one line per profile, one line per sample ---- */

static void show_any(buf *b, const any *v)
{
    if (v->kind == ANY_STRING) buf_str(b, any_str(v));
    if (v->kind == ANY_INT) buf_printf(b, "#%" PRId64, v->i);
    if (v->kind != ANY_ARRAY) return;
    for (uint32_t i = 0; i < v->n; i++) {
        buf_putc(b, '|');
        show_any(b, &v->array[i]);
    }
}

static void show_attrs(buf *b, const dict *d, const uint32_t *attrs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const attribute *t = &d->attributes.v[attrs[i]];
        buf_putc(b, ' ');
        buf_str(b, d->strings.v[t->key]);
        buf_putc(b, '=');
        show_any(b, &t->value);
    }
}

static void show_stack(buf *b, const dict *d, uint32_t stack)
{
    span s = dict_stack(d, stack);
    for (uint32_t k = s.n; k-- > 0;) {
        const location *l = &d->locations.v[d->frames.v[s.at + k]];
        for (uint32_t i = l->lines.n; i-- > 0;) {
            buf_str(b, d->strings.v[d->functions.v[d->lines.v[l->lines.at + i].function].name]);
            if (i) buf_putc(b, '>');
        }
        if (l->attrs.n) {
            buf_putc(b, '{');
            show_any(b, &d->attributes.v[d->attr_refs.v[l->attrs.at]].value);
            buf_putc(b, '}');
        }
        if (k) buf_putc(b, ';');
    }
}

static void show(buf *b, const model *m)
{
    const dict *d = &m->dict;
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        buf_str(b, d->strings.v[p->sample_type.type]);
        buf_putc(b, '/');
        buf_str(b, d->strings.v[p->sample_type.unit]);
        show_attrs(b, d, refs_at(&d->attr_refs, p->attrs), p->attrs.n);
        buf_putc(b, '\n');
        for (size_t k = 0; k < p->n_samples; k++) {
            sample s = sample_at(m, p, k);
            show_stack(b, d, s.stack);
            for (uint32_t n = 0; n < s.n_values; n++) buf_printf(b, " %" PRId64, s.values[n]);
            for (uint32_t n = 0; n < s.n_times; n++) buf_printf(b, " @%" PRIu64, s.times[n]);
            if (s.link)
                buf_printf(b, " link %02x..%02x", d->links.v[s.link].trace_id[0],
                           d->links.v[s.link].span_id[7]);
            show_attrs(b, d, s.attrs, s.n_attrs);
            buf_putc(b, '\n');
        }
    }
}

static void show_ledger(buf *b, const ledger *l)
{
    for (size_t i = 0; i < l->n; i++) {
        const loss *x = &l->v[i];
        buf_printf(b, "%s %s %" PRIu64 " (%s) %s%s%s\n", loss_stage_name(x->stage),
                   loss_name(x->concept), x->count, x->path, x->value, x->carried_as ? " as " : "",
                   x->carried_as ? x->carried_as : "");
    }
}

/* Files of `collapsed` start with a mark if their lines alone would be detected as folded stacks;
 * prop/test_detect requires this. */
static void same(const char *name, buf *got, const char *want)
{
    buf_putc(got, '\0');
    size_t skip = str_starts(str_of(got->p), STR(COLLAPSED_MARK)) ? strlen(COLLAPSED_MARK) : 0;
    if (skip) assert_ptr_equal(format_detect(str_of(got->p + skip)), &format_folded);
    if (strcmp(got->p + skip, want) != 0) fail_msg("%s:\n%s\nwanted:\n%s", name, got->p, want);
    buf_free(got);
}

/* ---- reading ---- */

typedef struct read_case {
    const char *name, *text;
    size_t n; /* 0: strlen */
    const char *want, *losses;
    bool percent;
} read_case;

static str case_text(const read_case *c) { return (str){c->text, c->n ? c->n : strlen(c->text)}; }

static void reads(const format *f, const read_case *c)
{
    arena a = {0};
    model m;
    err e = {0};
    ledger l = {0};
    read_opts o = {.ledger = &l, .percent = c->percent};
    bool ok = f->read(f, case_text(c), &o, &a, &m, NULL, &e);
    if (!ok) fail_msg("%s: %s", c->name, e.msg);
    assert_true(m.checked);
    buf b = {0};
    show(&b, &m);
    same(c->name, &b, c->want);
    show_ledger(&b, &l);
    same(c->name, &b, c->losses ? c->losses : "");
    arena_free(&a);
}

static const read_case folded_cases[] = {
    {"one line", "a;b;c 3\n", 0, "samples/count\na;b;c 3\n", NULL, 0},
    {"no line end", "a 3", 0, "samples/count\na 3\n", NULL, 0},
    {"CRLF and blank lines", "a;b 1\r\n\r\na;b 2\r\n", 0, "samples/count\na;b 3\n", NULL, 0},
    {"blanks in names", "a b;operator new(unsigned long) 7\n", 0,
     "samples/count\na b;operator new(unsigned long) 7\n", NULL, 0},
    {"blanks after the number, a tab before it", "a;b\t7  \n", 0, "samples/count\na;b 7\n", NULL,
     0},
    {"equal lines add up", "a;b 1\na;c 2\na;b 4\n", 0, "samples/count\na;b 5\na;c 2\n", NULL, 0},
    {"negative", "a -5\n", 0, "samples/count\na -5\n", NULL, 0},
    {"a name that is a number", "12 5\n", 0, "samples/count\n12 5\n", NULL, 0},
    {"annotations", "main;f_[k];g_[j];h_[i];w_[w];x_[0];y_[1] 1\n", 0,
     "samples/count\nmain;f{kernel};g{j};h{i};w{w};x{0};y{1} 1\n",
     "read frame_type 6 (frame) f_[k] as profile.frame.type\n", 0},
    {"no annotations", "_[k];f_[z];_[;a_[k 1\n", 0, "samples/count\n_[k];f_[z];_[;a_[k 1\n", NULL,
     0},
    {"comments and other lines", "# one\n// two\na 1\nnothing here\n#\n", 0,
     "samples/count pprof.profile.comment=|one|two|\na 1\n",
     "read text_line 1 (line 4: no number at the end of the line) nothing here\n"
     "read comments 3 (comment) one as pprof.profile.comment\n",
     0},
    {"austin", "# mode: cpu\n# interval: 100\nP1;T2;f 5\nP1;T0:3;f 6\n", 0,
     "cpu/microseconds pprof.profile.comment=|mode: cpu|interval: 100\n"
     "P1;T2;f 5 process.pid=#1 thread.id=#2\nP1;T0:3;f 6 process.pid=#1 thread.id=#3\n",
     "read comments 2 (comment) mode: cpu as pprof.profile.comment\n", 0},
    {"async-profiler's threads", "[main tid=7];f 1\n[GC Thread#0 tid=8];f 2\n", 0,
     "samples/count\n[main tid=7];f 1 thread.name=main thread.id=#7\n"
     "[GC Thread#0 tid=8];f 2 thread.name=GC Thread#0 thread.id=#8\n",
     NULL, 0},
    {"not every stack has a thread", "[main tid=7];f 1\nf 2\n", 0,
     "samples/count\n[main tid=7];f 1\nf 2\n", NULL, 0},
    {"stackcollapse-perf --tid", "my-app-12/34;f 1\nperl-?/35;g 1\n", 0,
     "samples/count\nmy-app-12/34;f 1 thread.name=my-app process.pid=#12 thread.id=#34\n"
     "perl-?/35;g 1 thread.name=perl thread.id=#35\n",
     NULL, 0},
    {"before and after", "a;b 1 2\na;c 0 7\na;b 3 0\n", 0,
     "samples/count kiln.profile.name=before\na;b 4\na;c 0\n"
     "samples/count kiln.profile.name=after\na;b 2\na;c 7\n",
     NULL, 0},
    {"not all have two", "a;f 1 2\nb 3\n", 0, "samples/count\na;f 1 2\nb 3\n", NULL, 0},
    {"fractions", "a 1.5\nb 2\nc 0.250\n", 0,
     "samples/count kiln.value_scale=#100\na 150\nb 200\nc 25\n",
     "read value_scale 1 (value)  as kiln.value_scale\n", 0},
    {"whole fractions", "a 1.0\nb 2.\n", 0, "samples/count\na 1\nb 2\n", NULL, 0},
    {"exponents", "a 1e3\nb 25e-1\n", 0, "samples/count kiln.value_scale=#10\na 10000\nb 25\n",
     "read value_scale 1 (value)  as kiln.value_scale\n", 0},
    {"more digits than are stored", "a 0.12345678949\n", 0,
     "samples/count kiln.value_scale=#1000000000\na 123456789\n",
     "read rounded 1 (value) a 0.12345678949\nread value_scale 1 (value)  as kiln.value_scale\n",
     0},
    {"too large", "a 9223372036854775807\nb 9223372036854775808\n", 0,
     "samples/count\na 9223372036854775807\n",
     "read text_line 1 (line 2: the number does not fit in 64 bits) b 9223372036854775808\n", 0},
    {"sums that do not fit", "a 9223372036854775807\na 1\n", 0,
     "samples/count\na 9223372036854775807\n", "read value_saturated 1 (samples[].values) \n", 0},
    {"frames without a name", ";a;;b 1\n", 0, "samples/count\n[unknown];a;[unknown];b 1\n",
     "read name 1 (frame without a name) \n", 0},
    {"UTF-8 with a byte order mark",
     "\xef\xbb\xbf"
     "a 1\n",
     0, "samples/count\na 1\n", NULL, 0},
    {"bytes that are not UTF-8", "a\xff;b 1\n", 0, "samples/count\na\xef\xbf\xbd;b 1\n",
     "read text 1 (text) \n", 0},
    {"UTF-16, little",
     "\xff\xfe"
     "a\0;\0\x08\xff \0"
     "1\0\n\0",
     14, "samples/count\na;\xef\xbc\x88 1\n", NULL, 0},
    {"UTF-16, big, beyond 16 bits",
     "\xfe\xff\xd8\x3d\xde\x00\0 \0"
     "5",
     10, "samples/count\n\xf0\x9f\x98\x80 5\n", NULL, 0},
    {"malformed UTF-16",
     "\xff\xfe"
     "\x3d\xd8 \0"
     "5\0\n\0x",
     11, "samples/count\n\xef\xbf\xbd 5\n",
     "read text 2 (text) \nread text_line 1 (line 2: no number at the end of the line) "
     "\xef\xbf\xbd\n",
     0},
    {"percent", "a%3Bb;c%20d%zz%ff 1\n", 0, "samples/count\na;b;c%20d%zz%ff 1\n", NULL, true},
    {"percent, without the option", "a%3Bb 1\n", 0, "samples/count\na%3Bb 1\n", NULL, 0},
    {"nothing", "\n\n", 0, "samples/count\n", NULL, 0},
};

static void test_folded_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(folded_cases); i++) reads(&format_folded, &folded_cases[i]);
}

#define IDS "trace_id=0x01020304010203040102030401020304,span_id=0x9999999999999999"
#define EXAMPLE "foo;bar;baz 100 region=us," IDS " 1687841528000000\nfoo;bar 200 region=us\n"
#define BAD_FORM "expected `frame;frame 12 key=value 1687841528000000`"

static const read_case collapsed_cases[] = {
    {"the draft's example", EXAMPLE, 0,
     "/\nfoo;bar;baz 100 @1687841528000000000 link 01..99 region=us\nfoo;bar 200 region=us\n", NULL,
     0},
    {"time before attributes", "a 1 1687841528000000 k=v\n", 0, "/\na 1 @1687841528000000000 k=v\n",
     NULL, 0},
    {"only a time", "a 1 1687841528\n", 0, "/\na 1 @1687841528000000000\n", NULL, 0},
    {"milliseconds", "a 1 1687841528123\n", 0, "/\na 1 @1687841528123000000\n", NULL, 0},
    {"nanoseconds", "a 1 1687841528123456789\n", 0, "/\na 1 @1687841528123456789\n", NULL, 0},
    {"a time beyond 64 bits", "a 1\nb 1 99999999999999999999\nc 1 99999999999\n", 0, "/\na 1\n",
     "read text_line 2 (line 2: the time does not fit in 64 bits) b 1 99999999999999999999\n", 0},
    {"blanks in names", "operator new(unsigned long);f g 5 k=v\n", 0,
     "/\noperator new(unsigned long);f g 5 k=v\n", NULL, 0},
    {"blanks and a time", "a b 5 1687841528000000\n", 0, "/\na b 5 @1687841528000000000\n", NULL,
     0},
    {"blanks, attributes and a time", "a b 5 k=v 1687841528000000\n", 0,
     "/\na b 5 @1687841528000000000 k=v\n", NULL, 0},
    {"a large value is not a time", "a b 1687841528000000\n", 0, "/\na b 1687841528000000\n", NULL,
     0},
    {"a number inside a name", "a 12 b 5\n", 0, "/\na 12 b 5\n", NULL, 0},
    {"split at the first =", "a 1 k=x=y\n", 0, "/\na 1 k=x=y\n", NULL, 0},
    {"the last of equal keys", "a 1 k=1,l=2,k=3\n", 0, "/\na 1 k=3 l=2\n", NULL, 0},
    {"empty value", "a 1 k=\n", 0, "/\na 1 k=\n", NULL, 0},
    {"not key=value", "a 1\na 1 k=v,w\nb 1 =v\n", 0, "/\na 1\n",
     "read text_line 2 (line 2: an attribute is not key=value) a 1 k=v,w\n", 0},
    {"one id", "a 1 trace_id=0x01020304010203040102030401020304\n", 0,
     "/\na 1 trace_id=0x01020304010203040102030401020304\n", NULL, 0},
    {"invalid ids", "a 1 trace_id=12,span_id=0x9999999999999999\n", 0,
     "/\na 1 trace_id=12 span_id=0x9999999999999999\n", NULL, 0},
    {"ids of zeros", "a 1 trace_id=00000000000000000000000000000000,span_id=9999999999999999\n", 0,
     "/\na 1 trace_id=00000000000000000000000000000000 span_id=9999999999999999\n", NULL, 0},
    {"ids without 0x, upper case",
     "a 1 trace_id=AB020304010203040102030401020304,span_id=99999999999999CD\n", 0,
     "/\na 1 link ab..cd\n", NULL, 0},
    {"observations of one identity", "a 1 1687841528000000\nb 1\na 2 1687841528000001\na 4\na 8\n",
     0, "/\na 1 2 @1687841528000000000 @1687841528000001000\nb 1\na 12\n", NULL, 0},
    {"bad values", "a b c\na 1.5\na 9999999999999999999\nb 1\n\n", 0, "/\nb 1\n",
     "read text_line 3 (line 1: " BAD_FORM ") a b c\n", 0},
    {"percent", "a%3Bb%20c 1 k%3D=x%2Cy\n", 0, "/\na;b c 1 k==x,y\n", NULL, true},
};

static void test_collapsed_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(collapsed_cases); i++)
        reads(&format_collapsed, &collapsed_cases[i]);
}

static void test_types_from_options(void **state)
{
    (void)state;
    arena a = {0};
    model m;
    err e = {0};
    read_opts o = {.sample_type = STR("cpu"), .sample_unit = STR("nanoseconds")};
    const format *const both[] = {&format_folded, &format_collapsed};
    for (size_t i = 0; i < 2; i++) {
        assert_ok(both[i]->read(both[i], STR("a 1\n"), &o, &a, &m, NULL, &e), &e);
        buf b = {0};
        show(&b, &m);
        same("types", &b, "cpu/nanoseconds\na 1\n");
    }
    arena_free(&a);
}

/* ---- errors ---- */

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const format *f;
        const char *text, *message;
    } cases[] = {
        {&format_folded, "# c\n\nhello\nworld\n",
         "no line has the form `frame;frame 12` (byte 5, at line 3)"},
        {&format_folded, "\xef\xbb\xbfhello\n",
         "no line has the form `frame;frame 12` (byte 3, at line 1)"},
        {&format_folded, "hell\xff\n", "no line has the form `frame;frame 12` (at line 1)"},
        {&format_collapsed, "\nhello world\n",
         "no line has the form `frame;frame 12 key=value 1687841528000000` (byte 1, at line 2)"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        model m;
        err e = {0};
        char text[400];
        const format *f = cases[i].f;
        assert_false(f->read(f, str_of(cases[i].text), &(read_opts){0}, &a, &m, NULL, &e));
        assert_int_equal(e.code, ERR_MALFORMED);
        assert_string_equal(err_text(&e, text, sizeof text), cases[i].message);
        arena_free(&a);
    }
}

#define MIXED "# c\na;b_[k] 1.5\n[t tid=1];c 2\n" EXAMPLE "d 3 4\nx\n"

/* Every prefix of a file is accepted, or rejected with an error. */
static void test_truncated(void **state)
{
    (void)state;
    const format *const both[] = {&format_folded, &format_collapsed};
    for (size_t i = 0; i < 2; i++)
        for (size_t n = 0; n <= sizeof MIXED - 1; n++) {
            arena a = {0};
            model m;
            err e = {0};
            bool ok = both[i]->read(both[i], (str){MIXED, n}, &(read_opts){0}, &a, &m, NULL, &e);
            assert_true(ok || e.code == ERR_MALFORMED);
            assert_true(ok ? m.checked : e.offset <= n);
            arena_free(&a);
        }
}

static void test_memory(void **state)
{
    (void)state;
    const format *const both[] = {&format_folded, &format_collapsed};
    for (size_t i = 0; i < 2; i++) {
        bool done = false;
        for (size_t budget = 16; budget < 64 * 1024; budget += 64) {
            arena a = {.budget = budget};
            model m;
            err e = {0};
            done = both[i]->read(both[i], STR(MIXED), &(read_opts){0}, &a, &m, NULL, &e);
            assert_true(done || err_exhausted(&e));
            arena_free(&a);
        }
        assert_true(done);
    }
}

/* ---- detection ---- */

static void test_detect(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const format *f; /* NULL: neither of the two */
    } cases[] = {
        {"a;b 1\n", &format_folded},
        {"a 1\nb 2\n", &format_folded},
        {"\n# c\na;b 1\r\n", &format_folded},
        {"a;b 1 2\n", &format_folded},
        {"a;b 1.5\nnothing\nc;d 2\n", &format_folded},
        {"[t tid=1];f 1\n", &format_folded},
        {"name x=1;b 5\n", &format_folded},
        {EXAMPLE, &format_collapsed},
        {"a;b 1 1687841528000000\n", &format_collapsed},
        {"a;b 1 1687841528000000\na;c 1\n", &format_folded},
        {"hello, world\n", NULL},
        {"", NULL},
        {"# only a comment\n", NULL},
        {"goroutine profile: total 12\n1 @ 0x1 0x2\n", NULL},
        {"dd 29776 666709.77:   10101010 cpu-clock: \n\t 414b3b f (/x)\n\t 1 g (/y)\n", NULL},
        {"a;b 1\nx\ny\nz\n", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        str s = str_of(cases[i].text);
        unsigned folded = format_folded.detect(s), collapsed = format_collapsed.detect(s);
        const format *got = !folded && !collapsed ? NULL
                            : collapsed > folded  ? &format_collapsed
                                                  : &format_folded;
        if (got != cases[i].f) fail_msg("`%s`: %u, %u", cases[i].text, folded, collapsed);
    }
    assert_int_equal(format_folded.detect((str){"a;b 1\n\0", 7}), 0);
}

/* ---- writing ---- */

static void writes(const char *name, const format *from, const char *in, const format *to,
                   write_opts o, const char *want, const char *losses)
{
    arena a = {0};
    model m;
    err e = {0};
    ledger l = {0};
    buf b = {0};
    o.ledger = &l;
    assert_ok(from->read(from, str_of(in), &(read_opts){0}, &a, &m, NULL, &e), &e);
    assert_ok(to->write(to, &m, &o, &b, &e), &e);
    same(name, &b, want);
    show_ledger(&b, &l);
    same(name, &b, losses);
    arena_free(&a);
}

static void test_write_back(void **state)
{
    (void)state;
    const format *f = &format_folded, *c = &format_collapsed;
    writes("sorted from the root, names by bytes", f, "b;a 1\na;b 2\na 3\na;b.c;d 4\n", f,
           (write_opts){0}, "a 3\na;b 2\na;b.c;d 4\nb;a 1\n", "");
    writes("annotations", f, "f_[k];g_[j];h 1\n", f, (write_opts){0}, "f_[k];g_[j];h 1\n", "");
    writes("fractions", f, "a 1.25\nb -0.5\nc 3\n", f, (write_opts){0}, "a 1.25\nb -0.5\nc 3\n",
           "");
    writes("differences", f, "a;b 1 2\nc 3 0\n", f, (write_opts){0}, "a;b 1 2\nc 3 0\n", "");
    writes("the draft's example", c, EXAMPLE, c, (write_opts){0}, EXAMPLE, "");
    writes("observations", c, "a 1 1687841528000000\na 2 1687841528000001002\na 4\n", c,
           (write_opts){0}, "a 1 1687841528000000\na 2 1687841528000001002\na 4\n", "");
    writes("names that end in a number", f, "a b 5\nx 1 5\n", f, (write_opts){0}, "a b 5\nx 1 5\n",
           "");
    writes("collapsed to folded", c, EXAMPLE, f, (write_opts){0}, "foo;bar 200\nfoo;bar;baz 100\n",
           "write timestamp 1 (samples[0].timestamps_unix_nano) \n"
           "write attribute 2 (samples[0]) region\n"
           "write link 1 (samples[0].link_index) \n"
           "write value_type 1 (profiles[0].sample_type) \n");
    writes("folded to collapsed", f, "[main tid=7];f_[k] 1\n", c, (write_opts){0},
           "[main tid=7];f_[k] 1 thread.name=main,thread.id=7\n",
           "write value_type 1 (profiles[0].sample_type) samples\n"
           "write attribute_type 1 (samples[].attributes) \n");
    writes("threads", c, "f 1 thread.name=main\nf 2\n", f, (write_opts){.threads = true},
           "[main];f 1\nf 2\n",
           "write attribute 1 (samples[0]) thread.name\n"
           "write value_type 1 (profiles[0].sample_type) \n");
}

/* A model with contents that text cannot represent. */
static void make_model(arena *a, model *m)
{
    builder b;
    err e = {0};
    assert_true(builder_init(&b, a));
    function f[] = {
        {.name = builder_string(&b, STR("a;b"))},
        {.name = builder_string(&b, STR("inner")), .filename = builder_string(&b, STR("x.c"))},
        {.name = builder_string(&b, STR("# outer 12")),
         .system_name = builder_string(&b, STR("_Z5outer"))}};
    line inlined[] = {{.line = 3, .function = builder_function(&b, &f[1])},
                      {.function = builder_function(&b, &f[2])}};
    line plain = {.function = builder_function(&b, &f[0])};
    uint32_t id = builder_attribute_str(&b, STR("process.executable.build_id.gnu"), STR("ab"));
    mapping map = {.filename = builder_string(&b, STR("/bin/x"))};
    uint32_t at[] = {
        builder_location(&b, 0, 0, &plain, 1, NULL, 0),
        builder_location(&b, builder_mapping(&b, &map, &id, 1), 16, inlined, 2, NULL, 0),
        builder_location(&b, 0, 0xbeef, NULL, 0, NULL, 0)};
    resource r = {.schema_url = STR("x"), .present = true};
    builder_resource(&b, &r);
    builder_scope(&b, NULL);
    for (int i = 0; i < 2; i++) {
        profile *p = builder_profile(&b);
        p->sample_type = (value_type){builder_string(&b, i ? STR("alloc") : STR("samples")),
                                      builder_string(&b, STR("count"))};
        p->time_unix_nano = 5, p->period = 1, p->profile_id[0] = 1;
        int64_t v[] = {1, 2};
        uint32_t n = builder_attribute_int(&b, STR("n n"), 5),
                 blob = builder_attribute(&b, STR("z"), &(any){.kind = ANY_BYTES, .s = "x", .n = 1},
                                          (str){0});
        sample s = {.stack = builder_stack(&b, at, 2),
                    .values = v,
                    .n_values = 2,
                    .attrs = (uint32_t[]){n, blob},
                    .n_attrs = 2};
        builder_sample(&b, &s);
        s = (sample){.stack = builder_stack(&b, at + 2, 1), .times = (uint64_t[]){7}, .n_times = 1};
        builder_sample(&b, &s);
        s = (sample){.values = v, .n_values = 1};
        builder_sample(&b, &s);
    }
    assert_ok(builder_finish(&b, m, &e), &e);
}

static void test_write_losses(void **state)
{
    (void)state;
    arena a = {0};
    model m;
    make_model(&a, &m);
    static const struct {
        const format *f;
        bool percent;
        const char *want, *losses;
    } cases[] = {
        {&format_folded, false, "[unknown] 1\n_ outer 12;inner;a:b 3\n0xbeef 1\n",
         "write build_id 1 (mapping_table[1]) process.executable.build_id.gnu\n"
         "write time 1 (profiles[0].time_unix_nano) \n"
         "write timestamp 1 (samples[1].timestamps_unix_nano) \n"
         "write resource 1 (profiles[0]) \n"
         "write profile_id 1 (profiles[0].profile_id) \n"
         "write period 1 (profiles[0].period) \n"
         "write attribute 2 (samples[0]) n n\n"
         "write mapping 1 (location_table[2]) \n"
         "write value_type 1 (profiles[1].sample_type) alloc\n"
         "write source_line 1 (location_table[2].lines) \n"
         "write system_name 1 (location_table[2].lines) \n"
         "write inlined 1 (location_table[2].lines) \n"
         "write name 3 (frame) a;b\n"
         "write observations 2 (samples[0].values) \n"},
        {&format_collapsed, true,
         "_%20outer%2012;inner;a%3Bb 1 n%20n=5\n_%20outer%2012;inner;a%3Bb 2 n%20n=5\n0xbeef 1\n"
         "[unknown] 1\n",
         NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf b = {0};
        ledger l = {0};
        err e = {0};
        write_opts o = {.ledger = &l, .percent = cases[i].percent};
        assert_ok(cases[i].f->write(cases[i].f, &m, &o, &b, &e), &e);
        same("losses", &b, cases[i].want);
        if (cases[i].losses) show_ledger(&b, &l), same("losses", &b, cases[i].losses);
        buf_free(&b);
        assert_true(ledger_lost(&l));
    }
    arena_free(&a);
}

/* A name must not change how its line is split when it is read again. */
static void test_ambiguous_names(void **state)
{
    (void)state;
    static const struct {
        const char *in, *folded, *collapsed;
    } cases[] = {
        {"a%201 5\n", "a_1 5\n", "a_1 5\n"},
        {"a%201 5\nb 6\n", "a 1 5\nb 6\n", "a_1 5\nb 6\n"},
        {"a%20b%201 5\n", "a b_1 5\n", "a b 1 5\n"},
        {"a%20b%201 12345678901\n", "a b_1 12345678901\n", "a b_1 12345678901\n"},
        {"a%20b%201%20k=v 12345678901\n", "a b 1 k=v 12345678901\n", "a b 1_k=v 12345678901\n"},
        {"a%20k=v 12345678901\n", "a k=v 12345678901\n", "a k=v 12345678901\n"},
        {"a%201%202 5 k=v\n", "a 1_2 5\n", "a 1 2 5 k=v\n"},
        {"%23a;b 5\n", "_a;b 5\n", "_a;b 5\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        model m;
        err e = {0};
        buf b = {0};
        const format *c = &format_collapsed, *f = &format_folded;
        read_opts o = {.percent = true};
        assert_ok(c->read(c, str_of(cases[i].in), &o, &a, &m, NULL, &e), &e);
        assert_ok(f->write(f, &m, &(write_opts){0}, &b, &e), &e);
        same(cases[i].in, &b, cases[i].folded);
        assert_ok(c->write(c, &m, &(write_opts){0}, &b, &e), &e);
        same(cases[i].in, &b, cases[i].collapsed);
        assert_ok(c->write(c, &m, &(write_opts){.percent = true}, &b, &e), &e);
        buf_free(&b);
        arena_free(&a);
    }
}

static void test_original(void **state)
{
    (void)state;
    builder b;
    arena a = {0};
    model m;
    err e = {0};
    buf out = {0};
    const format *f = &format_original;
    assert_true(builder_init(&b, &a));
    builder_profile(&b);
    builder_profile(&b);
    assert_ok(builder_finish(&b, &m, &e), &e);
    assert_false(f->write(f, &m, &(write_opts){0}, &out, &e));
    assert_int_equal(e.code, ERR_UNSUPPORTED);
    m.profiles.v[1].original_payload = STR("PERFILE2");
    e = (err){0};
    assert_ok(f->write(f, &m, &(write_opts){0}, &out, &e), &e);
    same("original", &out, "PERFILE2");
    m.profiles.v[0].original_payload = STR("other");
    assert_false(f->write(f, &m, &(write_opts){0}, &out, &e));
    assert_string_equal(e.path, "profiles[1].original_payload");
    arena_free(&a);
}

/* ---- --no-extras ---- */

static void test_no_extras(void **state)
{
    (void)state;
    arena a = {0};
    model m, bare;
    err e = {0};
    uint64_t n;
    str text = STR("a_[k];b_[j] 1.5\nb_[i];a 2\n");
    assert_ok(format_folded.read(&format_folded, text, &(read_opts){0}, &a, &m, NULL, &e), &e);
    assert_ok(model_without(&m, STR("kiln."), &a, &bare, &n, &e), &e);
    assert_u64(n, 3);
    assert_true(bare.checked && bare.dict.locations.n < m.dict.locations.n);
    buf b = {0};
    show(&b, &bare);
    same("without", &b, "samples/count\na{kernel};b 15\nb;a 20\n");
    assert_ok(model_without(&bare, STR("kiln."), &a, &m, &n, &e), &e);
    assert_u64(n, 0);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folded_read),
        cmocka_unit_test(test_collapsed_read),
        cmocka_unit_test(test_types_from_options),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_detect),
        cmocka_unit_test(test_write_back),
        cmocka_unit_test(test_write_losses),
        cmocka_unit_test(test_ambiguous_names),
        cmocka_unit_test(test_original),
        cmocka_unit_test(test_no_extras),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
