/* Reads perf.data files: modes, byte orders, compression, truncated and invalid files.
 * tests/e2e/perf_oracle compares real files with `perf script`. */
#include "perf_file.h"

#include <zstd.h>

static void check_standard(const result *r)
{
    const model *m = &r->m;
    assert_int_equal(m->profiles.n, 1);
    const profile *p = &m->profiles.v[0];
    assert_true(is(m, p->sample_type.type, "cpu-clock") &&
                is(m, p->sample_type.unit, "nanoseconds"));
    assert_int_equal(p->n_samples, 3);
    assert_int_equal(p->duration_nano, 31);
    const any *freq =
        attr_of(m, refs_at(&m->dict.attr_refs, p->attrs), p->attrs.n, "kiln.perf.frequency");
    assert_int_equal(freq->i, 999);

    sample s = at(m, 0, 0); /* before the exec */
    assert_int_equal(s.values[0], 10);
    assert_int_equal(s.n_times, 1);
    assert_int_equal(s.times[0], p->time_unix_nano);
    const location *l = frame(m, &s, 0);
    assert_int_equal(l->address, 0x401010);
    const mapping *map = &m->dict.mappings.v[l->mapping];
    assert_true(is(m, map->filename, "/bin/old"));
    assert_int_equal(map->memory_start, 0x400000);
    assert_int_equal(map->memory_limit, 0x402000);
    assert_int_equal(map->file_offset, 0x1000);
    has_text(sample_attr(m, &s, "thread.name"), "old");
    assert_int_equal(sample_attr(m, &s, "thread.id")->i, 7);
    assert_int_equal(sample_attr(m, &s, "cpu.logical_number")->i, 1);
    assert_null(sample_attr(m, &s, "process.pid")); /* with one process, the resource has it */
    assert_true(str_eq(m->resources.v[0].attrs.v[1].key, STR("process.pid")));
    assert_int_equal(m->resources.v[0].attrs.v[1].value.i, 7);

    s = at(m, 0, 1); /* kernel first, then the new program with its build id */
    assert_int_equal(s.values[0], 20);
    l = frame(m, &s, 0);
    assert_true(is(m, m->dict.mappings.v[l->mapping].filename, "[kernel.kallsyms]"));
    has_text(attr_of(m, refs_at(&m->dict.attr_refs, l->attrs), l->attrs.n, "profile.frame.type"),
             "kernel");
    l = frame(m, &s, 1);
    map = &m->dict.mappings.v[l->mapping];
    assert_true(is(m, map->filename, "/bin/new"));
    has_text(attr_of(m, refs_at(&m->dict.attr_refs, map->attrs), map->attrs.n,
                     "process.executable.build_id.gnu"),
             "deadbeef");
    has_text(sample_attr(m, &s, "thread.name"), "new");

    s = at(m, 0, 2); /* the thread has the name of its creator; nothing is mapped at 0x500000 */
    assert_int_equal(sample_attr(m, &s, "thread.id")->i, 8);
    has_text(sample_attr(m, &s, "thread.name"), "new");
    assert_int_equal(frame(m, &s, 1)->mapping, 0);
    assert_true(from_boot(&r->m, 0, &r->l));
    assert_int_equal(lost(&r->l, LOSS_TIMESTAMP), 0);
}

static void test_file(void **state)
{
    (void)state;
    buf data = standard_data(), b = file_of(&cpu_clock, 1, &data);
    assert_int_equal(format_perf_data.detect(buf_view(&b)), 100);
    result r;
    read_ok(&b, &r);
    check_standard(&r);
    assert_int_equal(lost(&r.l, LOSS_TRUNCATED), 0);
    arena_free(&r.a), buf_free(&b), buf_free(&data);
}

static void test_pipe(void **state)
{
    (void)state;
    buf data = standard_data(), b = pipe_of(&cpu_clock, 1, &data);
    result r;
    read_ok(&b, &r);
    check_standard(&r);
    arena_free(&r.a), buf_free(&b), buf_free(&data);
}

static void test_other_byte_order(void **state)
{
    (void)state;
    buf data = standard_data(), plain = file_of(&cpu_clock, 1, &data);
    swapped = true;
    buf data2 = standard_data(), b = file_of(&cpu_clock, 1, &data2);
    swapped = false;
    assert_memory_equal(b.p, "2ELIFREP", 8);
    result r, other;
    read_ok(&plain, &r);
    read_ok(&b, &other);
    check_standard(&other);
    assert_true(model_equal(&r.m, &other.m, &r.e));
    arena_free(&r.a), arena_free(&other.a);
    buf_free(&b), buf_free(&plain), buf_free(&data), buf_free(&data2);
}

/* data.size 0 means that the recorder was killed. All records up to the end are read, except
 * zeros. */
static void test_killed(void **state)
{
    (void)state;
    buf data = standard_data(), b = file_of(&cpu_clock, 1, &data);
    memset(b.p + 48, 0, 8);
    result r;
    read_ok(&b, &r);
    check_standard(&r);
    assert_int_equal(lost(&r.l, LOSS_TRUNCATED), 1);
    arena_free(&r.a);
    zeros(&b, 64);
    read_ok(&b, &r);
    check_standard(&r);
    arena_free(&r.a), buf_free(&b), buf_free(&data);
}

/* Every prefix gives an error, or the complete samples and a ledger entry; a longer one never gives
 * fewer samples. */
static void test_cut_at_every_byte(void **state)
{
    (void)state;
    buf data = standard_data(), file = file_of(&cpu_clock, 1, &data),
        pipe = pipe_of(&cpu_clock, 1, &data);
    for (int mode = 0; mode < 2; mode++) {
        const buf *b = mode ? &pipe : &file;
        size_t most = 0;
        for (size_t n = 0; n < b->n; n++) {
            char *copy = malloc(n + 1); /* separate memory, so that a sanitizer detects a read past
                                         * the end */
            memcpy(copy, b->p, n);
            result r;
            read_opts_into((str){copy, n}, (read_opts){0}, 0, &r);
            if (r.ok) {
                size_t samples = r.m.profiles.v[0].n_samples;
                assert_true(samples >= most);
                most = samples;
                if (!mode) assert_int_equal(lost(&r.l, LOSS_TRUNCATED), 1);
            } else {
                assert_int_equal(r.e.code, ERR_MALFORMED);
                assert_true(r.e.offset <= n || r.e.offset == NO_OFFSET);
                assert_int_equal(most, 0);
            }
            arena_free(&r.a);
            free(copy);
        }
        assert_int_equal(most, 2); /* the last record is the third sample */
    }
    buf_free(&file), buf_free(&pipe), buf_free(&data);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    buf data = standard_data(), b = file_of(&cpu_clock, 1, &data);
    bool once = false;
    for (size_t budget = 64; budget < 128 * 1024; budget += 64) {
        result r;
        read_opts_into(buf_view(&b), (read_opts){0}, budget, &r);
        if (r.ok)
            check_standard(&r), once = true;
        else
            assert_int_equal(r.e.code, ERR_MEMORY);
        arena_free(&r.a);
    }
    assert_true(once);
    buf_free(&b), buf_free(&data);
}

/* ---- compressed records ---- */

static buf compressed(const buf *data, size_t slice, uint32_t type)
{
    buf b = {0}, z = {0};
    assert_true(buf_reserve(&z, ZSTD_compressBound(data->n) + 64));
    z.n = ZSTD_compress(z.p, z.cap, data->p, data->n, 3);
    for (size_t at_byte = 0; at_byte < z.n; at_byte += slice) {
        size_t n = z.n - at_byte < slice ? z.n - at_byte : slice, at_rec = begin(&b, type, 0);
        if (type == REC_COMPRESSED2) u64(&b, n);
        buf_put(&b, z.p + at_byte, n);
        if (type == REC_COMPRESSED2) zeros(&b, (8 - n % 8) % 8);
        end(&b, at_rec);
    }
    buf_free(&z);
    return b;
}

static void test_compressed(void **state)
{
    (void)state;
    buf data = standard_data();
    for (size_t slice = 1; slice < 200; slice = slice * 2 + 1) {
        for (uint32_t type = REC_COMPRESSED; type <= REC_COMPRESSED2; type += 2) {
            buf packed = compressed(&data, slice, type), b = file_of(&cpu_clock, 1, &packed);
            result r;
            read_ok(&b, &r);
            check_standard(&r);
            assert_int_equal(lost(&r.l, LOSS_TRUNCATED), 0);
            arena_free(&r.a), buf_free(&b), buf_free(&packed);
        }
    }
    buf_free(&data);
}

static void test_compressed_limits(void **state)
{
    (void)state;
    buf data = {0};
    for (int i = 0; i < 20000; i++) SAMPLE(&data, 7, 7, 40, 10, CONTEXT_USER, 0x401010);
    buf packed = compressed(&data, 4096, REC_COMPRESSED), b = file_of(&cpu_clock, 1, &packed);
    result r;
    read_opts_into(buf_view(&b), (read_opts){.max_bytes = 100000}, 0, &r);
    assert_false(r.ok);
    assert_int_equal(r.e.code, ERR_LIMIT);
    assert_string_equal(r.e.hint, "--max-bytes");
    arena_free(&r.a);
    b.p[104 + ATTR + 16 + 9] ^= 0x55;
    read_into(&b, &r);
    assert_false(r.ok);
    assert_non_null(strstr(r.e.msg, "compressed records are damaged"));
    assert_string_equal(r.e.path, "records[0]");
    arena_free(&r.a), buf_free(&b), buf_free(&packed), buf_free(&data);
}

/* ---- invalid files ---- */

static void overlap(buf *b) { memset(b->p + 24, 0, 8), b->p[24] = 61; }
static void beyond(buf *b) { b->p[32] = 1, b->p[35] = 1; }
static void odd_header(buf *b) { b->p[8] = 77; }
static void small_attr(buf *b) { b->p[104 + 4] = 8; }
static void big_attr(buf *b) { b->p[104 + 5] = 8; }
static void no_attrs(buf *b) { memset(b->p + 32, 0, 8); }
static void empty_record(buf *b) { memset(b->p + 104 + ATTR + 16 + 6, 0, 2); }
static void huge_chain(buf *b) { b->p[b->n - 1 - 3 * 8] = 1; }
static void short_comm(buf *b)
{
    b->n = 104 + ATTR + 16;
    b->p[48] = 8, b->p[49] = 0;
    size_t at_rec = begin(b, REC_COMM, 0);
    end(b, at_rec);
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        void (*spoil)(buf *);
        const char *msg, *path;
        uint64_t offset;
    } cases[] = {
        {overlap, "the attrs section begins at byte 61, inside the header", "header", 24},
        {beyond, "the attrs section ends beyond the file", "header", 24},
        {odd_header, "the header has 77 bytes, expected 104 (file) or 16 (pipe)", "", 8},
        {small_attr, "an event claims 8 bytes; the attribute section has 144", "attrs[0]", 108},
        {big_attr, "an event claims 2176 bytes; the attribute section has 144", "attrs[0]", 108},
        {no_attrs, "this perf.data contains no events", "", NO_OFFSET},
        {empty_record, "a record size of 0 bytes is smaller than its header of 8", "records[0]",
         248},
        {short_comm, "a COMM record of 8 bytes is too short", "", 256},
        {huge_chain, "a sample of 80 bytes ends inside its call chain", "", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf data = {0};
        comm(&data, 7, 7, "x", false, 0);
        SAMPLE(&data, 7, 7, 40, 10, CONTEXT_USER, 0x401010, 0x401020);
        buf b = file_of(&cpu_clock, 1, &data);
        cases[i].spoil(&b);
        result r;
        read_into(&b, &r);
        assert_false(r.ok);
        assert_string_equal(r.e.msg, cases[i].msg);
        assert_string_equal(r.e.path, cases[i].path);
        if (cases[i].offset) assert_int_equal(r.e.offset, cases[i].offset);
        arena_free(&r.a), buf_free(&b), buf_free(&data);
    }
    result r;
    read_opts_into(STR("PERFILE"), (read_opts){0}, 0, &r);
    assert_string_equal(r.e.msg, "expected PERFILE2 at the start of perf.data");
    arena_free(&r.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_other_byte_order),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_cut_at_every_byte),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_compressed),
        cmocka_unit_test(test_compressed_limits),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
