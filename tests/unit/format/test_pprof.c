/* Reads and writes profile.proto: mapping, errors with their positions, memory limits and truncated
 * input. */
#include "../../support/pprof_text.h"
#include "../../support/test.h"

#include "format/pprof.h"
#include "model/builder.h"
#include "wire/carried.h"

/* ---- hand-written messages ---- */

static void put_record(buf *out, uint32_t number, const uint64_t *v, uint32_t n)
{
    buf b = {0};
    for (uint32_t i = 0; i < n; i++)
        if (v[i]) pb_put_uint(&b, i + 1, v[i]);
    pb_put_bytes(out, number, buf_view(&b));
    buf_free(&b);
}
#define RECORD(out, number, ...)                                                                   \
    put_record((out), (number), (uint64_t[]){__VA_ARGS__},                                         \
               sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void put_strings(buf *out, const char *const *v)
{
    for (; *v; v++) pb_put_bytes(out, 6, str_of(*v));
}
#define STRINGS(out, ...) put_strings((out), (const char *const[]){__VA_ARGS__, NULL})

static void raw(buf *out, const char *bytes, size_t n) { buf_put(out, bytes, n); }
#define RAW(out, literal) raw((out), "" literal, sizeof(literal) - 1)

/* Two types, two samples, and every field of a profile. */
static buf full(void)
{
    buf b = {0};
    RECORD(&b, 1, 1, 2);                                   /* samples/count */
    RECORD(&b, 1, 3, 4);                                   /* cpu/nanoseconds */
    RAW(&b, "\x12\x17\x0a\x02\x01\x02\x12\x03\x05\xe8\x07" /* stack 1 2, values 5 1000 */
            "\x1a\x04\x08\x05\x10\x06"                     /* a=b */
            "\x1a\x06\x08\x07\x18\x2a\x20\x08");           /* size=42 By */
    RAW(&b, "\x12\x06\x08\x02\x10\x01\x10\x02");           /* unpacked */
    RECORD(&b, 3, 1, 0x400000, 0x500000, 0x1000, 9, 10, 1, 1, 0, 1);
    RAW(&b, "\x22\x15\x08\x01\x10\x01\x18\x90\x80\x80\x02\x22\x04\x08\x02\x10\x07" /* two lines */
            "\x22\x04\x08\x01\x10\x03");
    RECORD(&b, 4, 2, 1, 0x400020, 0, 1); /* folded */
    RECORD(&b, 5, 1, 11, 12, 13, 14);
    RECORD(&b, 5, 2, 15);
    STRINGS(&b, "", "samples", "count", "cpu", "nanoseconds", "a", "b", "size", "By", "/bin/app",
            "abc123", "main", "_main", "main.c", "drop", "inlined", "keep", "note 1", "note 2",
            "https://x");
    pb_put_uint(&b, 7, 14);
    pb_put_uint(&b, 8, 16);
    pb_put_uint(&b, 9, 1700000000000000000);
    pb_put_uint(&b, 10, 5000000000);
    RECORD(&b, 11, 3, 4);
    pb_put_uint(&b, 12, 10000000);
    RAW(&b, "\x6a\x02\x11\x12");
    pb_put_uint(&b, 14, 1);
    pb_put_uint(&b, 15, 19);
    return b;
}

static model read_ok(str in, arena *a, ledger *l)
{
    model m;
    err e = {0};
    assert_ok(pprof_decode(in, &(pprof_read_opts){.ledger = l}, a, &m, &e), &e);
    assert_true(m.checked);
    return m;
}

static str text_of(const model *m, uint32_t string) { return dict_str(&m->dict, string); }

#define assert_text(got, want)                                                                     \
    do {                                                                                           \
        str got_ = (got), want_ = str_of(want);                                                    \
        if (!str_eq(got_, want_)) fail_msg("%s is \"%.*s\"", #got, STR_ARG(got_));                 \
    } while (0)

static const attribute *attr_named(const model *m, const uint32_t *v, uint32_t n, const char *key)
{
    for (uint32_t i = 0; i < n; i++)
        if (str_eq(text_of(m, m->dict.attributes.v[v[i]].key), str_of(key)))
            return &m->dict.attributes.v[v[i]];
    fail_msg("no attribute %s", key);
    return NULL;
}

static void test_every_field(void **state)
{
    (void)state;
    buf b = full();
    arena a = {0};
    ledger l = {0};
    model m = read_ok(buf_view(&b), &a, &l);
    assert_u64(m.profiles.n, 2);
    const profile *p = &m.profiles.v[0]; /* the default type comes first */
    assert_text(text_of(&m, p->sample_type.type), "samples");
    assert_text(text_of(&m, m.profiles.v[1].sample_type.unit), "nanoseconds");
    assert_u64(p->time_unix_nano, 1700000000000000000);
    assert_u64(p->duration_nano, 5000000000);
    assert_u64(p->period, 10000000);
    assert_text(text_of(&m, p->period_type.type), "cpu");
    const uint32_t *pa = refs_at(&m.dict.attr_refs, p->attrs);
    assert_u64(p->attrs.n, 4);
    const any *comments = &attr_named(&m, pa, 4, PPROF_ATTR_COMMENT)->value;
    assert_u64(comments->n, 2);
    assert_text(any_str(&comments->array[1]), "note 2");
    assert_text(any_str(&attr_named(&m, pa, 4, PPROF_ATTR_DOC_URL)->value), "https://x");
    assert_text(any_str(&attr_named(&m, pa, 4, PPROF_ATTR_DROP_FRAMES)->value), "drop");
    assert_text(any_str(&attr_named(&m, pa, 4, PPROF_ATTR_KEEP_FRAMES)->value), "keep");
    const scope *s = &m.scopes.v[0];
    assert_u64(s->attrs.n, 2);
    assert_text(s->attrs.v[0].key, PPROF_ATTR_SAMPLE_TYPE_ORDER);
    assert_u64(s->attrs.v[0].value.array[1].i, 1);
    assert_text(any_str(&s->attrs.v[1].value), "samples");

    sample x = sample_at(&m, &m.profiles.v[1], 0);
    assert_u64(x.values[0], 1000);
    assert_u64(x.n_attrs, 2);
    const attribute *size = attr_named(&m, x.attrs, x.n_attrs, "size");
    assert_u64(size->value.i, 42);
    assert_text(text_of(&m, size->unit), "By");
    assert_text(any_str(&attr_named(&m, x.attrs, x.n_attrs, "a")->value), "b");
    span stack = dict_stack(&m.dict, x.stack);
    assert_u64(stack.n, 2);
    const location *leaf = &m.dict.locations.v[m.dict.frames.v[stack.at]];
    assert_u64(leaf->address, 0x400010);
    assert_u64(leaf->lines.n, 2);
    const line *inner = &m.dict.lines.v[leaf->lines.at];
    assert_text(text_of(&m, m.dict.functions.v[inner->function].name), "inlined");
    assert_u64(inner->line, 7);
    const mapping *map = &m.dict.mappings.v[leaf->mapping];
    assert_u64(map->file_offset, 0x1000);
    const uint32_t *ma = refs_at(&m.dict.attr_refs, map->attrs);
    assert_u64(map->attrs.n, 4);
    assert_text(any_str(&attr_named(&m, ma, 4, ATTR_BUILD_ID_GNU)->value), "abc123");
    attr_named(&m, ma, 4, PPROF_ATTR_HAS_INLINE_FRAMES);
    const location *root = &m.dict.locations.v[m.dict.frames.v[stack.at + 1]];
    attr_named(&m, refs_at(&m.dict.attr_refs, root->attrs), root->attrs.n, PPROF_ATTR_IS_FOLDED);
    assert_u64(sample_at(&m, p, 1).values[0], 1);
    assert_ptr_equal(m.profiles.v[0].stack, m.profiles.v[1].stack); /* columns are shared */
    assert_false(ledger_lost(&l));
    arena_free(&a);
    buf_free(&b);
}

static buf written(const model *m, const pprof_write_opts *o)
{
    buf out = {0};
    err e = {0};
    assert_ok(pprof_encode(m, o, &out, &e), &e);
    return out;
}

static void test_back(void **state)
{
    (void)state;
    buf b = full();
    arena a = {0};
    model m = read_ok(buf_view(&b), &a, NULL);
    ledger l = {0};
    buf out = written(&m, &(pprof_write_opts){.ledger = &l});
    buf before = pprof_text(buf_view(&b)), after = pprof_text(buf_view(&out));
    assert_u64(l.n, 0);
    assert_int_equal(before.n, after.n);
    assert_memory_equal(before.p, after.p, before.n);
    buf_free(&before), buf_free(&after), buf_free(&out), buf_free(&b);
    arena_free(&a);
}

/* ---- labels ---- */

/* A profile of one sample with these label records. */
static buf labelled(const char *labels, size_t n)
{
    buf b = {0}, s = {0};
    RECORD(&b, 1, 1, 0);
    RAW(&s, "\x10\x01");
    raw(&s, labels, n);
    pb_put_bytes(&b, 2, buf_view(&s));
    STRINGS(&b, "", "n", "k", "v", "w", "By", "trace_id", "0af7651916cd43dd8448eb211c80319c",
            "span_id", "b7ad6b7169203331", "B7AD6B7169203331", "");
    buf_free(&s);
    return b;
}

#define L(literal) "" literal, sizeof(literal) - 1

static void put_any(buf *b, const any *v)
{
    switch ((any_kind)v->kind) {
    case ANY_STRING: buf_printf(b, "\"%.*s\"", (int)v->n, v->s); break;
    case ANY_INT: buf_i64(b, v->i); break;
    case ANY_ARRAY:
        buf_putc(b, '[');
        for (uint32_t i = 0; i < v->n; i++) buf_putc(b, ' '), put_any(b, &v->array[i]);
        buf_putc(b, ']');
        break;
    case ANY_KVLIST:
        buf_putc(b, '{');
        for (uint32_t i = 0; i < v->n; i++) {
            buf_str(b, v->kvlist[i].key);
            put_any(b, &v->kvlist[i].value);
        }
        buf_putc(b, '}');
        break;
    default: buf_z(b, "?");
    }
}

static void test_labels(void **state)
{
    (void)state;
    static const struct {
        const char *name, *labels;
        size_t n;
        const char *want; /* attributes, then the link */
    } cases[] = {
        {"none", L(""), "|"},
        {"text", L("\x1a\x04\x08\x02\x10\x03"), "k\"v\"|"},
        {"number with unit", L("\x1a\x06\x08\x02\x18\x07\x20\x05"), "k7 By|"},
        {"an empty label is the number 0", L("\x1a\x02\x08\x02"), "k0|"},
        {"empty text", L("\x1a\x04\x08\x02\x10\x0b"), "k\"\"|"},
        {"negative", L("\x1a\x0d\x08\x02\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "k-1|"},
        {"text and number", L("\x1a\x06\x08\x02\x10\x03\x18\x07"), "k{str\"v\"num7}|"},
        {"twice", L("\x1a\x04\x08\x02\x10\x03\x1a\x04\x08\x02\x10\x04"), "k[ \"v\" \"w\"]|"},
        {"twice, mixed", L("\x1a\x04\x08\x02\x10\x03\x1a\x04\x08\x02\x18\x04"), "k[ \"v\" 4]|"},
        {"twice, units differ", L("\x1a\x06\x08\x02\x18\x03\x20\x05\x1a\x04\x08\x02\x18\x04"),
         "k[ {num3unit\"By\"} {num4unit\"\"}]|"},
        {"interleaved",
         L("\x1a\x04\x08\x02\x10\x03\x1a\x04\x08\x01\x10\x03\x1a\x04\x08\x02\x10\x04"),
         "k[ \"v\" \"w\"]n\"v\"|"},
        {"a link", L("\x1a\x04\x08\x06\x10\x07\x1a\x04\x08\x08\x10\x09"),
         "|0af7651916cd43dd8448eb211c80319c b7ad6b7169203331"},
        {"a link among others",
         L("\x1a\x04\x08\x02\x10\x03\x1a\x04\x08\x08\x10\x09\x1a\x04\x08\x01\x10\x03\x1a\x04\x08"
           "\x06\x10\x07"),
         "k\"v\"n\"v\"|0af7651916cd43dd8448eb211c80319c b7ad6b7169203331"},
        {"a span alone is a label", L("\x1a\x04\x08\x08\x10\x09"), "span_id\"b7ad6b7169203331\"|"},
        {"upper case stays as written", L("\x1a\x04\x08\x06\x10\x07\x1a\x04\x08\x08\x10\x0a"),
         "trace_id\"0af7651916cd43dd8448eb211c80319c\"span_id\"B7AD6B7169203331\"|"},
        {"two spans are not a link",
         L("\x1a\x04\x08\x06\x10\x07\x1a\x04\x08\x08\x10\x09\x1a\x04\x08\x08\x10\x03"),
         "trace_id\"0af7651916cd43dd8448eb211c80319c\"span_id[ \"b7ad6b7169203331\" \"v\"]|"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        buf b = labelled(cases[i].labels, cases[i].n), got = {0};
        model m = read_ok(buf_view(&b), &a, NULL);
        sample s = sample_at(&m, &m.profiles.v[0], 0);
        for (uint32_t k = 0; k < s.n_attrs; k++) {
            const attribute *t = &m.dict.attributes.v[s.attrs[k]];
            buf_str(&got, text_of(&m, t->key));
            put_any(&got, &t->value);
            if (t->unit) buf_printf(&got, " %.*s", STR_ARG(text_of(&m, t->unit)));
        }
        buf_putc(&got, '|');
        if (s.link) {
            char hex[33];
            hex_encode(m.dict.links.v[s.link].trace_id, 16, hex);
            buf_printf(&got, "%s ", hex);
            hex_encode(m.dict.links.v[s.link].span_id, 8, hex);
            buf_z(&got, hex);
        }
        if (!str_eq(buf_view(&got), str_of(cases[i].want)))
            fail_msg("%s: %.*s", cases[i].name, (int)got.n, got.p);
        ledger l = {0};
        buf out = written(&m, &(pprof_write_opts){.ledger = &l}), x = pprof_text(buf_view(&b)),
            y = pprof_text(buf_view(&out));
        if (!str_eq(buf_view(&x), buf_view(&y)) || l.n)
            fail_msg("%s is not restored", cases[i].name);
        buf_free(&b), buf_free(&got), buf_free(&out), buf_free(&x), buf_free(&y);
        arena_free(&a);
    }
}

/* ---- errors ---- */

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *want;
    } cases[] = {
        {L("\x0a"), "varint runs past the end of the message (byte 1)"},
        {L("\x0a\x05\x08"), "field 1 needs 5 bytes, 1 are left (byte 0)"},
        {L("\x08\x01"), "sample_type (field 1) is a varint, expected length-delimited (byte 0)"},
        {L("\x4a\x00"), "time_nanos (field 9) is length-delimited, expected a varint (byte 0)"},
        {L("\x32\x01x"), "string_table[0] must be empty, but is \"x\" (byte 2)"},
        {L("\x32\x00\x0a\x02\x08\x07"),
         "type is string 7, the table has 1 (byte 4, at sample_type[0])"},
        {L("\x32\x00\x12\x00"),
         "there are samples but no sample_type that defines their values (byte 4)"},
        {L("\x32\x00\x0a\x00\x12\x00"),
         "the sample has 0 values, but there are 1 sample types (byte 6, at sample[0])"},
        {L("\x32\x00\x0a\x00\x12\x03\x12\x01\x01\x12\x04\x12\x02\x01\x02"),
         "the sample has more values than the 1 sample types (byte 14, at sample[1])"},
        {L("\x0a\x00\x0a\x00\x0a\x00\x0a\x00\x0a\x00\x0a\x00\x12\x00\x12\x00\x12\x00\x12\x00"),
         "the sample has fewer values than the 6 sample types (byte 14, at sample[0])"},
        {L("\x32\x00\x0a\x00\x12\x04\x08\x07\x10\x01"),
         "no location has the id 7 (byte 6, at sample[0])"},
        {L("\x32\x00\x0a\x00\x12\x05\x0a\x01\x00\x10\x01"),
         "location_id 0 does not name a location (byte 8, at sample[0])"},
        {L("\x32\x00\x0a\x00\x12\x08\x10\x01\x1a\x04\x08\x00\x10\x05"),
         "str is string 5, the table has 1 (byte 12, at sample[0].label[0])"},
        {L("\x32\x00\x22\x00"),
         "a location has the id 0, which means none (byte 4, at location[0])"},
        {L("\x32\x00\x2a\x02\x08\x01\x2a\x02\x08\x01"),
         "a second function has the id 1 (byte 8, at function[1])"},
        {L("\x32\x00\x22\x04\x08\x01\x10\x03"), "no mapping has the id 3 (byte 6, at location[0])"},
        {L("\x32\x00\x22\x06\x08\x01\x22\x02\x08\x09"),
         "no function has the id 9 (byte 8, at location[0].line[0])"},
        {L("\x32\x00\x70\x09"), "default_sample_type is string 9, the table has 1 (byte 2)"},
        {L("\x32\x00\x6a\x02\x00\x09"),
         "comment is string 9, the table has 1 (byte 5, at comment[1])"},
        {L("\x48\x01\x48\x01"),
         "time_nanos occurs twice: several profiles were concatenated; split them "
         "and convert each (byte 2)"},
        {L("\x2b"), "field 5 has wire type 3, which proto3 never uses (byte 0)"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (int padded = 0; padded < 2;
             padded++) { /* padded: far from the end, so that the fast reader starts */
            arena a = {0};
            buf b = {0};
            raw(&b, cases[i].bytes, cases[i].n);
            bool other =
                i < 2 || strstr(cases[i].want, "table has 1") || strstr(cases[i].want, "fewer");
            if (padded && other) goto next; /* the bytes that follow change the result */
            for (int k = 0; padded && k < 60; k++) RAW(&b, "\x32\x00");
            model m;
            err e = {0};
            char text[512];
            assert_false(pprof_decode(buf_view(&b), &(pprof_read_opts){0}, &a, &m, &e));
            err_text(&e, text, sizeof text);
            if (strcmp(text, cases[i].want)) fail_msg("case %zu: %s", i, text);
next:
            buf_free(&b);
            arena_free(&a);
        }
}

static void test_lenient(void **state)
{
    (void)state;
    static const char bytes[] = "\x32\x00\x0a\x02\x08\x07\x12\x06\x08\x07\x10\x01\x10\x02\x12\x00";
    arena a = {0};
    model m;
    err e = {0};
    ledger l = {0};
    pprof_read_opts o = {.lenient = true, .ledger = &l};
    assert_ok(pprof_decode((str){bytes, sizeof bytes - 1}, &o, &a, &m, &e), &e);
    assert_u64(m.profiles.v[0].n_samples, 2);
    assert_u64(sample_at(&m, &m.profiles.v[0], 0).values[0], 1);
    assert_true(ledger_lost(&l));
    arena_free(&a);
}

static void test_odd_but_legal(void **state)
{
    (void)state;
    arena a = {0};
    ledger l = {0};
    buf b = {0};
    RECORD(&b, 1, 1, 0);
    RECORD(&b, 4, 0xfffffffffffffff0, 0, 5); /* ids of any size */
    RECORD(&b, 4, 17, 0, 6);
    RAW(&b, "\x12\x12\x0a\x0b\xf0\xff\xff\xff\xff\xff\xff\xff\xff\x01\x11\x12\x01\x03\x20\x05");
    RAW(&b, "\x9a\x06\x01x"); /* an unknown field */
    STRINGS(&b, "", "bad \xff text");
    pb_put_uint(&b, 9, (uint64_t)-5);
    model m = read_ok(buf_view(&b), &a, &l);
    assert_text(text_of(&m, m.profiles.v[0].sample_type.type), "bad \xef\xbf\xbd text");
    assert_u64(m.profiles.v[0].time_unix_nano, 0);
    assert_u64(m.n_unknown, 2);
    span s = dict_stack(&m.dict, m.profiles.v[0].stack[0]);
    assert_u64(m.dict.locations.v[m.dict.frames.v[s.at]].address, 5);
    assert_u64(m.dict.locations.v[m.dict.frames.v[s.at + 1]].address, 6);
    unsigned seen = 0;
    for (size_t i = 0; i < l.n; i++)
    seen |= l.v[i].concept == LOSS_ARBITRARY_ID    ? 1u
            : l.v[i].concept == LOSS_TEXT          ? 2u
            : l.v[i].concept == LOSS_TIME          ? 4u
            : l.v[i].concept == LOSS_UNKNOWN_FIELD ? 8u
                                                   : 0u;
    assert_u64(seen, 15);
    buf_free(&b);
    arena_free(&a);
}

/* ---- truncation and memory ---- */

static void test_cut_anywhere(void **state)
{
    (void)state;
    buf b = full();
    for (size_t n = 0; n < b.n; n++) {
        char *cut = malloc(n + 1); /* exactly n: a sanitizer detects a read past the end */
        cut = realloc(cut, n ? n : 1);
        memcpy(cut, b.p, n);
        arena a = {0};
        model m;
        err e = {0};
        if (!pprof_decode((str){cut, n}, &(pprof_read_opts){0}, &a, &m, &e)) {
            assert_int_equal(e.code, ERR_MALFORMED);
            assert_true(e.offset <= n && e.msg[0]);
        }
        arena_free(&a);
        free(cut);
    }
    buf_free(&b);
}

static void test_memory(void **state)
{
    (void)state;
    buf b = full();
    bool done = false;
    for (size_t budget = 16; budget < 64 * 1024; budget += 48) {
        arena a = {.budget = budget};
        model m;
        err e = {0};
        done = pprof_decode(buf_view(&b), &(pprof_read_opts){0}, &a, &m, &e);
        assert_true(done || err_exhausted(&e));
        arena_free(&a);
    }
    assert_true(done);
    buf_free(&b);
}

/* ---- writing models that were not pprof ---- */

typedef struct made {
    builder b;
    arena a;
} made;

static void add_samples(builder *b, const char *type, int64_t first, int64_t second)
{
    profile *p = builder_profile(b);
    p->sample_type = (value_type){builder_string(b, str_of(type)), builder_string(b, STR("count"))};
    uint32_t locations[2] = {builder_location(b, 0, 1, NULL, 0, NULL, 0),
                             builder_location(b, 0, 2, NULL, 0, NULL, 0)};
    for (uint32_t i = 0; i < 2; i++) {
        int64_t v = i ? second : first;
        if (v)
            builder_sample(b, &(sample){.stack = builder_stack(b, &locations[i], 1),
                                        .values = &v,
                                        .n_values = 1});
    }
}

static void expect_text(made *x, const pprof_write_opts *o, const char *want)
{
    model m;
    err e = {0};
    assert_ok(builder_finish(&x->b, &m, &e), &e);
    buf out = written(&m, o), got = pprof_text(buf_view(&out));
    buf_putc(&got, '\0');
    if (!strstr(got.p, want)) fail_msg("%s", got.p);
    buf_free(&out), buf_free(&got);
    arena_free(&x->a);
}

static void begin(made *x)
{
    *x = (made){0};
    assert_true(builder_init(&x->b, &x->a));
}

static void test_first_profile_becomes_last_type(void **state)
{
    (void)state;
    made x;
    begin(&x);
    add_samples(&x.b, "cpu", 10, 20);
    add_samples(&x.b, "samples", 1, 2);
    ledger l = {0};
    expect_text(&x, &(pprof_write_opts){.ledger = &l},
                "type \"samples\"\"count\"\ntype \"cpu\"\"count\"\n");
    assert_u64(l.n, 0);
}

static void test_join(void **state)
{
    (void)state;
    made x;
    begin(&x);
    add_samples(&x.b, "cpu", 10, 20); /* rows differ: joined by stack */
    add_samples(&x.b, "wall", 0, 5);
    ledger l = {0};
    expect_text(&x, &(pprof_write_opts){.ledger = &l},
                "  sample 10 0\n    loc  1\n  sample 20 5\n    loc  2\n");
    assert_u64(l.n, 1);
    assert_int_equal(l.v[0].concept, LOSS_MIXED_SHAPE);
}

static void test_resources(void **state)
{
    (void)state;
    keyvalue kv = {.key = STR("service.name"), .value = {.kind = ANY_STRING, .n = 1, .s = "a"}};
    resource r = {.attrs = {&kv, 1}};
    made x;
    begin(&x);
    builder_resource(&x.b, &r);
    add_samples(&x.b, "cpu", 1, 0);
    expect_text(&x, &(pprof_write_opts){0}, "comment \"service.name=a\"");
    begin(&x);
    builder_resource(&x.b, &r);
    builder_scope(&x.b, NULL);
    add_samples(&x.b, "cpu", 1, 0);
    kv.value.s = "b";
    builder_resource(&x.b, &r);
    builder_scope(&x.b, NULL);
    add_samples(&x.b, "cpu", 2, 0);
    ledger l = {0};
    expect_text(&x, &(pprof_write_opts){.ledger = &l},
                "  sample 1\n    loc  1\n    label \"service.name\"=\"a\" 0 \"\"\n"
                "  sample 2\n    loc  1\n    label \"service.name\"=\"b\" 0 \"\"\n");
}

static void add_timed(builder *b)
{
    profile *p = builder_profile(b);
    p->sample_type.type = builder_string(b, STR("cpu"));
    builder_sample(b, &(sample){.values = (int64_t[]){3, 4},
                                .n_values = 2,
                                .times = (uint64_t[]){100, 200},
                                .n_times = 2});
}

static void test_timestamps(void **state)
{
    (void)state;
    made x;
    ledger l = {0};
    begin(&x);
    add_timed(&x.b);
    expect_text(&x, &(pprof_write_opts){.ledger = &l}, "  sample 7\n");
    assert_u64(l.n, 2);
    assert_int_equal(l.v[0].concept, LOSS_TIMESTAMP);
    assert_u64(l.v[0].count, 2);
    assert_int_equal(l.v[1].concept, LOSS_SAMPLE_SHAPE);
    assert_true(ledger_lost(&l));
    l = (ledger){0};
    begin(&x);
    add_timed(&x.b);
    expect_text(&x, &(pprof_write_opts){.timestamps = true, .ledger = &l},
                "  sample 3\n    label \"timestamp\" 100 \"nanoseconds\"\n"
                "  sample 4\n    label \"timestamp\" 200 \"nanoseconds\"\n");
    assert_u64(l.n, 2);
    assert_false(ledger_lost(&l));
}

/* Values without a label form become text, and the ledger lists them. */
static void test_other_values(void **state)
{
    (void)state;
    made x;
    begin(&x);
    profile *p = builder_profile(&x.b);
    p->sample_type.type = builder_string(&x.b, STR("cpu"));
    any list = {.kind = ANY_ARRAY, .n = 1, .array = (any[]){{.kind = ANY_INT, .i = 1}}};
    any real = {.kind = ANY_DOUBLE, .d = 0.5};
    uint32_t attrs[] = {builder_attribute_bool(&x.b, STR("bool"), true),
                        builder_attribute(&x.b, STR("list"), &list, (str){0}),
                        builder_attribute(&x.b, STR("real"), &real, STR("s"))};
    builder_sample(
        &x.b, &(sample){.values = (int64_t[]){1}, .n_values = 1, .attrs = attrs, .n_attrs = 3});
    ledger l = {0};
    expect_text(&x, &(pprof_write_opts){.ledger = &l},
                "    label \"bool\"=\"true\" 0 \"\"\n    label \"list\"=\"[1]\" 0 \"\"\n"
                "    label \"real\"=\"0.5\" 0 \"s\"\n");
    assert_u64(l.n, 1);
    assert_int_equal(l.v[0].concept, LOSS_ATTRIBUTE_TYPE);
    assert_u64(l.v[0].count, 3);
}

/* ---- detection ---- */

static void test_detection(void **state)
{
    (void)state;
    buf b = full();
    assert_ptr_equal(format_detect(buf_view(&b)), &format_pprof);
    assert_ptr_equal(format_detect((str){b.p, 40}), &format_pprof); /* truncated, still pprof */
    buf otlp = test_vector("v1_10/basic.bin");
    assert_ptr_equal(format_detect(buf_view(&otlp)), &format_otlp);
    assert_u64(format_pprof.detect(buf_view(&otlp)), 0);
    assert_u64(format_pprof.detect(STR("plain text")), 0);
    assert_u64(format_pprof.detect(STR("{\"a\":1}")), 0);
    assert_u64(format_pprof.detect(STR("")), 0);
    assert_ptr_equal(format_for_path(STR("a.pprof")), &format_pprof);
    assert_ptr_equal(format_for_path(STR("a.pb.gz")), &format_pprof);
    assert_ptr_equal(format_for_path(STR("a.pb")), &format_otlp);
    buf_free(&otlp);
    buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_field),
        cmocka_unit_test(test_back),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_lenient),
        cmocka_unit_test(test_odd_but_legal),
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_first_profile_becomes_last_type),
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_resources),
        cmocka_unit_test(test_timestamps),
        cmocka_unit_test(test_other_values),
        cmocka_unit_test(test_detection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
