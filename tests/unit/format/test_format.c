#include "format/foreign.h"
#include "format/format.h"

#include "query/facts.h"
#include "sys/file.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static file_bytes example;

static int setup(void **state)
{
    (void)state;
    char path[512];
    const char *src = getenv("KILN_SRC");
    snprintf(path, sizeof path, "%s/examples/checkout.otlp", src ? src : ".");
    err e = {0};
    return file_read(path, 0, &example, &e) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    file_release(&example);
    return 0;
}

static void put_frame(buf *b, str s)
{
    buf_put(
        b,
        (uint8_t[]){(uint8_t)(s.n >> 24), (uint8_t)(s.n >> 16), (uint8_t)(s.n >> 8), (uint8_t)s.n},
        4);
    buf_str(b, s);
}

static buf packed(codec c, str s)
{
    buf b = {0};
    err e = {0};
    assert_true(pack(c, s, &b, &e));
    return b;
}

/* Returns "N/T": the number of profiles and the total of the first, to recognize equal data. */
static int64_t total(const model *m, size_t i)
{
    arena a = {0};
    profile_facts *f;
    err e = {0};
    assert_true(facts_of(m, &a, &f, &e));
    int64_t t = f[i].total;
    arena_free(&a);
    return t;
}

static void reads(str in, const char *format_name, size_t parts, framing framing_wanted)
{
    arena a = {0};
    document d;
    err e = {0};
    if (!format_read(in, NULL, &a, &d, &e)) fail_msg("%s", e.msg);
    assert_string_equal(d.format->name, format_name);
    assert_int_equal(d.parts.n, parts);
    assert_int_equal(d.framing, framing_wanted);
    assert_int_equal(d.model.profiles.n, 2 * parts);
    for (size_t i = 0; i < parts; i++) {
        assert_int_equal(d.parts.v[i].verdict.layout, LAYOUT_CURRENT);
        assert_int_equal(total(&d.model, 2 * i), total(&d.parts.v[0].model, 0));
    }
    arena_free(&a);

    /* A stream must give the same result. */
    memory_source m = memory_source_of(in);
    format_stream s;
    assert_true(format_stream_open(&s, &m.s, NULL, &a, &e));
    size_t n = 0;
    for (part p; format_stream_next(&s, &p, &e); n++) {
        assert_int_equal(p.model.profiles.n, 2);
        assert_true(total(&p.model, 0) > 0);
    }
    assert_int_equal(e.code, ERR_OK);
    assert_int_equal(n, parts);
    format_stream_close(&s);
    arena_free(&a);
}

static void test_compression_and_framing(void **state)
{
    (void)state;
    str plain = example.bytes;
    reads(plain, "otlp", 1, FRAMING_NONE);

    buf gz = packed(CODEC_GZIP, plain), zs = packed(CODEC_ZSTD, plain), framed = {0};
    reads(buf_view(&gz), "otlp", 1, FRAMING_NONE);
    reads(buf_view(&zs), "otlp", 1, FRAMING_NONE);

    put_frame(&framed, plain);
    reads(buf_view(&framed), "otlp", 1, FRAMING_LENGTHS);
    put_frame(&framed, buf_view(&zs));
    put_frame(&framed, buf_view(&gz));
    reads(buf_view(&framed), "otlp", 3, FRAMING_LENGTHS);
    buf all = packed(CODEC_GZIP, buf_view(&framed));
    reads(buf_view(&all), "otlp", 3, FRAMING_LENGTHS);

    arena a = {0};
    document d;
    err e = {0};
    buf json = {0};
    assert_true(format_read(plain, NULL, &a, &d, &e));
    assert_true(format_otlp_json.write(&format_otlp_json, &d.model, &(write_opts){0}, &json, &e));
    reads(buf_view(&json), "otlp-json", 1, FRAMING_JSON);
    size_t one = json.n;
    assert_true(buf_reserve(&json, one));
    buf_put(&json, json.p, one);
    reads(buf_view(&json), "otlp-json", 2, FRAMING_JSON);
    buf jz = packed(CODEC_ZSTD, (str){json.p, one}), jf = {0};
    put_frame(&jf, buf_view(&jz));
    reads(buf_view(&jf), "otlp-json", 1, FRAMING_LENGTHS);

    buf *bufs[] = {&gz, &zs, &framed, &all, &json, &jz, &jf};
    for (size_t i = 0; i < ARRAY_LEN(bufs); i++) buf_free(bufs[i]);
    arena_free(&a);
}

/* Drafts, log records and pprof may be in the Collector's frames together with OTLP. The bytes of
 * each payload decide its format, in memory and as a stream. */
static void test_payloads_of_any_format(void **state)
{
    (void)state;
    static const format *const of[] = {&format_otlp,   &format_arrays,      &format_otep239,
                                       &format_events, &format_splunk_logs, &format_pprof,
                                       &format_otlp};
    arena a = {0}, b = {0};
    document one, d;
    err e = {0};
    buf framed = {0};
    assert_true(format_read(example.bytes, NULL, &a, &one, &e));
    for (size_t i = 0; i < ARRAY_LEN(of); i++) {
        buf bytes = {0};
        assert_true(of[i]->write(of[i], &one.model, &(write_opts){0}, &bytes, &e));
        buf gz = packed(CODEC_GZIP, buf_view(&bytes));
        put_frame(&framed, i % 2 ? buf_view(&gz) : buf_view(&bytes));
        buf_free(&bytes), buf_free(&gz);
    }
    if (!format_read(buf_view(&framed), NULL, &b, &d, &e)) fail_msg("%s: %s", e.path, e.msg);
    assert_int_equal(d.parts.n, ARRAY_LEN(of));
    for (size_t i = 0; i < d.parts.n; i++) {
        /* Dialect B in its container is layout 1.3 of OTLP. */
        const format *want = of[i] == &format_otep239 ? &format_otlp : of[i];
        assert_string_equal(d.parts.v[i].format->name, want->name);
        assert_int_equal(total(&d.parts.v[i].model, 0), total(&one.model, 0));
    }
    arena_reset(&b);
    memory_source m = memory_source_of(buf_view(&framed));
    format_stream s;
    assert_true(format_stream_open(&s, &m.s, NULL, &b, &e));
    size_t n = 0;
    for (part p; format_stream_next(&s, &p, &e); n++)
        assert_int_equal(total(&p.model, 0), total(&one.model, 0));
    assert_int_equal(e.code, ERR_OK);
    assert_int_equal(n, ARRAY_LEN(of));
    format_stream_close(&s);
    arena_free(&a), arena_free(&b);
    buf_free(&framed);
}

/* --from names the format inside the frames; without it an unknown payload gives an error with an
 * offset. */
static void test_forced_inside_frames(void **state)
{
    (void)state;
    arena a = {0};
    document one, d;
    err e = {0};
    buf logs = {0}, framed = {0};
    assert_true(format_read(example.bytes, NULL, &a, &one, &e));
    assert_true(
        format_splunk_logs.write(&format_splunk_logs, &one.model, &(write_opts){0}, &logs, &e));
    put_frame(&framed, buf_view(&logs));
    put_frame(&framed, buf_view(&logs));
    read_opts o = {.from = &format_splunk_logs};
    if (!format_read(buf_view(&framed), &o, &a, &d, &e)) fail_msg("%s: %s", e.path, e.msg);
    assert_int_equal(d.parts.n, 2);
    assert_ptr_equal(d.parts.v[1].format, &format_splunk_logs);
    buf_free(&logs), buf_free(&framed);
    arena_free(&a);
}

static void fails(str in, const read_opts *o, err_code code, const char *message)
{
    arena a = {0};
    document d;
    err e = {0};
    char text[400];
    assert_false(format_read(in, o, &a, &d, &e));
    assert_int_equal(e.code, code);
    err_text(&e, text, sizeof text);
    if (strcmp(text, message) != 0) fail_msg("message `%s`", text);
    arena_free(&a);
}

static void test_error_offsets(void **state)
{
    (void)state;
    fails(STR(""), NULL, ERR_MALFORMED, "the input is empty");
    fails(STR("hello, world"), NULL, ERR_UNSUPPORTED,
          "unknown format (`kiln formats` lists the formats; --from selects one)");
    buf framed = {0};
    put_frame(&framed, STR("\x0a\x00"));
    put_frame(&framed, STR("\x12\x03\x0a\x7f\x00"));
    fails(buf_view(&framed), NULL, ERR_MALFORMED,
          "field 1 needs 127 bytes, 1 are left (byte 12, at payload[1].dictionary)");
    buf_free(&framed);
    fails(example.bytes, &(read_opts){.from = &format_otlp_json}, ERR_MALFORMED,
          "expected a value, found byte 0xf2 (byte 1)");
}

static void test_limits(void **state)
{
    (void)state;
    buf gz = packed(CODEC_GZIP, example.bytes);
    arena a = {0};
    document d;
    err e = {0};
    assert_false(format_read(buf_view(&gz), &(read_opts){.max_bytes = 1000}, &a, &d, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    arena_free(&a);
    bool done = false;
    for (size_t budget = 1024; budget < 1 << 20; budget += 4096) {
        arena small = {.budget = budget};
        e = (err){0};
        done = format_read(buf_view(&gz), NULL, &small, &d, &e);
        assert_true(done || err_exhausted(&e));
        arena_free(&small);
    }
    assert_true(done);
    buf_free(&gz);
}

static void test_stream_memory_is_bounded(void **state)
{
    (void)state;
    buf framed = {0};
    for (int i = 0; i < 50; i++) put_frame(&framed, example.bytes);
    memory_source m = memory_source_of(buf_view(&framed));
    arena a = {0};
    format_stream s;
    err e = {0};
    assert_true(format_stream_open(&s, &m.s, NULL, &a, &e));
    size_t n = 0, peak = 0;
    for (part p; format_stream_next(&s, &p, &e); n++) {
        if (n == 0) peak = a.peak;
        assert_int_equal(a.peak, peak);
    }
    assert_int_equal(n, 50);
    assert_true(s.frames.cap < 1 << 20);
    format_stream_close(&s);
    arena_free(&a);
    buf_free(&framed);
}

/* ---- files of other tools ---- */

#define HEAD(bytes)                                                                                \
    {                                                                                              \
        bytes, sizeof bytes - 1                                                                    \
    }

static const struct {
    str head;
    const char *message;
} foreign_files[] = {
    {HEAD("go 1.24 trace\0\0\0\x01"), "a Go execution trace: `go tool trace -pprof=sched"},
    {HEAD("JAVA PROFILE 1.0.2\0"), "a Java heap dump (HPROF)"},
    {HEAD("# callgrind format\nversion: 1\n"), "a Callgrind profile: https://www.speedscope.app"},
    {HEAD("version: 1\ncreator: xdebug\nevents: Time\n"), "a profile in Callgrind's format"},
    {HEAD("desc: --massif-out-file=x\ncmd: ./a\nsnapshot=0\n"), "a Massif profile"},
    {HEAD("desc: I1 cache: 32768 B\ncmd: ./a\nevents: Ir\n"), "a Cachegrind profile"},
    {HEAD("{\"dhatFileVersion\":2\n,\"mode\":\"heap\""), "a DHAT profile"},
    {HEAD("v 10400 3\nX ./a\nI 1000 5e27ec\n"), "a heaptrack recording: `heaptrack_print -F"},
    {HEAD("gmon\x01\0\0\0"), "a gprof recording (gmon.out)"},
    {HEAD("Flat profile:\n\nEach sample"), "a gprof report"},
    {HEAD("\xfb\x29\x03\xfa\x08<string>"), "a cProfile recording (pstats): `flameprof"},
    {HEAD("SIMPLEPERF\x01\0X\0\0\0"), "a simpleperf report"},
    {HEAD("Nettrace\x14\0\0\0!FastSerialization.1"), "a .NET trace (nettrace): `dotnet-trace"},
    {HEAD("Running Time\tSelf (ms)\t\tSymbol Name\n"), "a call tree copied from Instruments"},
    {HEAD("<?xml version=\"1.0\"?>\n<trace-query-result>"), "an xctrace export (Instruments)"},
    {HEAD("Analysis of sampling app (pid 1)"), "a macOS sample report"},
    {HEAD("CPU     ID                    FUNCTION:NAME\n"), "DTrace output"},
    {HEAD("Attaching 1 probe...\n@[\n    main+12\n]: 3\n"), "bpftrace output"},
    {HEAD("@ inst_retired.any [35705 samples]\n\n20.86%"), "pmcstat output"},
    {HEAD("2024-01-01 00:00:00\nFull thread dump OpenJDK"), "a Java thread dump"},
    {HEAD("goroutine 41 [running]:\nruntime/pprof"), "a goroutine dump"},
    {HEAD("v8-version,6,0,287,53,0\n"), "a V8 log (--prof)"},
    {HEAD("{\"version\":1.2,\"mode\":\"wall\",\"gc_samples\":4"), "a stackprof dump in JSON"},
    {HEAD("\x04\x08{\x0d:\x0cversion"), "a stackprof dump: `stackprof --stackcollapse"},
    {HEAD("SLOW\xf3\0\x20\0"), "an Android method trace"},
    {HEAD("\n\x1e\x50\0\x82\x47\x7a\x76\xb2\x8d\x42\xba\x81\xdc\x33\x32"), "a Perfetto trace"},
    {HEAD("\x7f"
          "ELF\2\1\1\0\0\0\0\0\0\0\0\0\4\0\x3e\0"),
     "a core dump: `gdb"},
    {HEAD("\x7f"
          "ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\x3e\0"),
     "an ELF program or library"},
    {HEAD("\xcf\xfa\xed\xfe\x07\0\0\1"), "a Mach-O program or library, not a profile"},
    {HEAD("MZ\x90\0\0\0PE\0\0"), "a Windows program or library"},
    {HEAD("\0"
          "asm\1\0\0\0"),
     "a WebAssembly module"},
    {HEAD("\xfd"
          "7zXZ\0\0\4"),
     "an xz archive: `xz -d` unpacks it"},
    {HEAD("BZh91AY&SY\x12\x34"), "a bzip2 archive: `bzip2 -d` unpacks it"},
    {HEAD("\x04\x22\x4d\x18\x64\x40"), "an lz4 archive"},
    {HEAD("PK\x03\x04\x14\0"), "a zip archive: `unzip` unpacks it"},
    {HEAD("7z\xbc\xaf\x27\x1c\0\4"), "a 7-Zip archive"},
    {HEAD("SQLite format 3\0\x10\0"), "an SQLite database"},
    {HEAD("\x89PNG\r\n\x1a\n"), "a PNG picture, not a profile"},
    {HEAD("\xff\xd8\xff\xe0\0\x10JFIF"), "a JPEG picture"},
    {HEAD("%PDF-1.7\n"), "a PDF document"},
    {HEAD("<?xml version=\"1.0\"?>\n<svg width=\"1\">"), "an SVG picture"},
    {HEAD("<!DOCTYPE html>\n<html>"), "a web page"},
    {HEAD("\n\n \n"), "contains only whitespace"},
};

/* The library and /upload return these messages too, so they mention no command-line option. */
static void test_foreign_files(void **state)
{
    (void)state;
    assert_true(ARRAY_LEN(foreign_files) >= 30);
    for (size_t i = 0; i < ARRAY_LEN(foreign_files); i++) {
        arena a = {0};
        document d;
        err e = {0};
        char text[400];
        if (format_read(foreign_files[i].head, NULL, &a, &d, &e))
            fail_msg("%s was read as %s", foreign_files[i].message, d.format->name);
        err_text_plain(&e, text, sizeof text);
        if (e.code != ERR_UNSUPPORTED || !strstr(text, foreign_files[i].message))
            fail_msg("%s: message `%s`", foreign_files[i].message, text);
        if (strstr(text, "--from") || strstr(text, "kiln formats")) fail_msg("%s", text);
        arena_free(&a);
    }
    /* An OTLP message is detected as OTLP whatever words it contains. */
    assert_null(foreign_find(STR("\n@\n\x10"
                                 "Full thread dump ]: \x12\x01")));
    err e = {0};
    char text[400];
    foreign_reject(STR("hello"), &e);
    assert_string_equal(err_text_plain(&e, text, sizeof text), "unknown format");
}

/* An input with unknown fields and no sample is rejected as another or a newer format. */
static void test_unknown_fields_without_samples(void **state)
{
    (void)state;
    static const char unknown[] = "\x0a\x09\x12\x07\x12\x05\xf2\x07\x02hi";
    arena a = {0};
    document d;
    err e = {0};
    assert_false(format_read((str){unknown, sizeof unknown - 1}, NULL, &a, &d, &e));
    assert_int_equal(e.code, ERR_MALFORMED);
    assert_non_null(strstr(e.msg, "no samples, and 1 field unknown to otlp"));
    arena_free(&a);
}

static void test_zeros_and_suffixes(void **state)
{
    (void)state;
    static const char zeros[4096];
    fails((str){zeros, sizeof zeros}, NULL, ERR_MALFORMED,
          "the input has only zero bytes (4096): file systems leave such files after a crash");
    buf gz = packed(CODEC_GZIP, (str){zeros, sizeof zeros});
    fails(buf_view(&gz), NULL, ERR_MALFORMED,
          "the input has only zero bytes (4096): file systems leave such files after a crash");
    buf_free(&gz);
    /* Folded stacks without attributes are valid `collapsed` too: a comment identifies it, as
     * async-profiler uses .collapsed for its folded stacks. */
    str text = STR("main;a 1\nmain;b 2\n");
    assert_ptr_equal(format_detect_named(text, STR("x")), &format_folded);
    assert_ptr_equal(format_detect_named(text, STR("x.collapsed")), &format_folded);
    str marked = STR("# collapsed stacks of the OTLP profiles draft\nmain;a 1\nmain;b 2\n");
    assert_ptr_equal(format_detect_named(marked, STR("x")), &format_collapsed);
    assert_ptr_equal(format_detect_named(text, STR("x.arrays")),
                     &format_folded); /* the bytes do not fit the suffix */
    assert_ptr_equal(format_detect_named(example.bytes, STR("x.arrays")), &format_otlp);
}

static void test_names(void **state)
{
    (void)state;
    assert_ptr_equal(format_named(STR("otlp")), &format_otlp);
    assert_ptr_equal(format_named(STR("otlp-1.9")), &format_otlp_1_9);
    assert_null(format_named(STR("perf")));
    assert_ptr_equal(format_for_path(STR("a/b.otlp")), &format_otlp);
    assert_ptr_equal(format_for_path(STR("b.pb.gz")), &format_pprof);
    assert_ptr_equal(format_for_path(STR("b.json.zst")), &format_otlp_json);
    assert_ptr_equal(format_for_path(STR("b.jsonl")), &format_otlp_json);
    assert_null(format_for_path(STR("b.txt")));
    assert_null(format_for_path(STR("-")));
    assert_null(format_detect(STR("plain text")));
}

/* The unchanged input is stored with the format name of the specification or of Kiln; pprof only if
 * the option is given twice. */
static void test_keeps_the_original(void **state)
{
    (void)state;
    static const char speedscope[] =
        "{\"$schema\":\"https://www.speedscope.app/"
        "file-format-schema.json\",\"shared\":{\"frames\":"
        "[{\"name\":\"f\"}]},\"profiles\":[{\"type\":\"sampled\",\"name\":\"p\",\"unit\":\"none\","
        "\"startValue\":0,\"endValue\":1,\"samples\":[[0]],\"weights\":[1]}]}";
    static const char chrome[] =
        "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":1}]";
    /* sample_type {samples, count}, one sample, no location */
    static const char pprof[] = "\x0a\x04\x08\x01\x10\x02\x12\x03\x12\x01\x05"
                                "\x32\x00\x32\x07samples\x32\x05"
                                "count";
    static const struct {
        str in;
        unsigned asked;
        const char *name; /* NULL: not stored */
    } cases[] = {
        {{"main;work 3\n", 12}, 1, "folded"},
        {{speedscope, sizeof speedscope - 1}, 1, "speedscope"},
        {{speedscope, sizeof speedscope - 1}, 0, NULL},
        {{chrome, sizeof chrome - 1}, 1, "chrome"},
        {{pprof, sizeof pprof - 1}, 1, NULL},
        {{pprof, sizeof pprof - 1}, 2, "pprof"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        err e = {0};
        document d;
        ledger l = {0};
        read_opts o = {.keep_original = cases[i].asked, .ledger = &l};
        if (!format_read(cases[i].in, &o, &a, &d, &e)) fail_msg("case %zu: %s", i, e.msg);
        const profile *p = &d.model.profiles.v[0];
        str name = str_of(cases[i].name ? cases[i].name : "");
        assert_true(str_eq(p->original_payload_format, name));
        assert_true(str_eq(p->original_payload, cases[i].name ? cases[i].in : (str){0}));
        for (size_t k = 1; k < d.model.profiles.n; k++)
            assert_int_equal(d.model.profiles.v[k].original_payload.n, 0);
        arena_free(&a);
    }
}

/* If the original file is stored, losses count as carried. A truncated file still counts as
 * damaged. */
static void test_original_carries_losses(void **state)
{
    (void)state;
    static const char trace[] =
        "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":1},"
        "{\"ph\":\"s\",\"name\":\"flow\",\"id\":1,\"ts\":1,\"pid\":1,\"tid\":1}";
    for (unsigned keep = 0; keep < 2; keep++) {
        arena a = {0};
        err e = {0};
        document d;
        ledger l = {0};
        read_opts o = {.keep_original = keep, .ledger = &l};
        if (!format_read(str_of(trace), &o, &a, &d, &e)) fail_msg("%s", e.msg);
        size_t lost = 0, carried = 0;
        for (size_t i = 0; i < l.n; i++) {
            lost += l.v[i].concept == LOSS_EVENT && !l.v[i].carried_as;
            carried += l.v[i].concept == LOSS_EVENT && l.v[i].carried_as &&
                       !strcmp(l.v[i].carried_as, "original_payload");
        }
        assert_int_equal(lost, !keep);
        assert_int_equal(carried, keep);
        arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compression_and_framing),
        cmocka_unit_test(test_error_offsets),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_stream_memory_is_bounded),
        cmocka_unit_test(test_foreign_files),
        cmocka_unit_test(test_unknown_fields_without_samples),
        cmocka_unit_test(test_zeros_and_suffixes),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_keeps_the_original),
        cmocka_unit_test(test_original_carries_losses),
        cmocka_unit_test(test_payloads_of_any_format),
        cmocka_unit_test(test_forced_inside_frames),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
