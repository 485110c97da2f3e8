#include "support/test.h"

#include "model/builder.h"
#include "symbol/symbolize.h"
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[256];

__attribute__((noinline)) static int marked(int x)
{
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}

static int begin(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/kiln-symbolize-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    char cmd[300];
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    return system(cmd);
}

/* Returns the mapping of this program that contains `address`. */
static mapping own_mapping(uint64_t address, char *path, size_t cap)
{
    mapping m = {0};
    FILE *f = fopen("/proc/self/maps", "r");
    assert_non_null(f);
    for (char l[4096]; fgets(l, sizeof l, f);) {
        unsigned long long lo, hi, off;
        int at = 0;
        if (sscanf(l, "%llx-%llx %*s %llx %*s %*s %n", &lo, &hi, &off, &at) < 3) continue;
        if (address < lo || address >= hi) continue;
        m = (mapping){.memory_start = lo, .memory_limit = hi, .file_offset = off};
        snprintf(path, cap, "%.*s", (int)strcspn(l + at, "\n"), l + at);
    }
    fclose(f);
    assert_true(m.memory_limit);
    return m;
}

typedef struct made {
    arena a;
    builder b;
    model m;
    symbolize_report r;
} made;

static uint32_t add_mapping(made *x, mapping m, const char *name, const char *key, const char *id)
{
    uint32_t attr = id ? builder_attribute_str(&x->b, str_of(key), str_of(id)) : 0;
    m.filename = builder_string(&x->b, str_of(name));
    return builder_mapping(&x->b, &m, &attr, attr != 0);
}

static void begin_model(made *x)
{
    *x = (made){0};
    assert_true(builder_init(&x->b, &x->a));
}

static void end_model(made *x, const uint32_t *locations, size_t n, int64_t pid)
{
    err e = {0};
    keyvalue pid_attr = {.key = STR("process.pid"), .value = {.kind = ANY_INT, .i = pid}};
    resource r = {.attrs = {&pid_attr, pid ? 1 : 0}};
    builder_resource(&x->b, &r);
    builder_scope(&x->b, NULL);
    builder_profile(&x->b);
    for (size_t i = 0; i < n; i++) {
        uint32_t stack = builder_stack(&x->b, &locations[i], 1);
        int64_t one = 1;
        builder_sample(&x->b, &(sample){.stack = stack, .values = &one, .n_values = 1});
    }
    assert_ok(builder_finish(&x->b, &x->m, &e), &e);
}

static void run(made *x, symbolize_opts o)
{
    err e = {0};
    o.cache_dir = dir;
    assert_ok(symbolize(&x->m, &o, &x->a, &x->r, &e), &e);
}

static str name_of(const model *m, uint32_t at)
{
    const dict *d = &m->dict;
    span s = d->locations.v[at].lines;
    if (!s.n) return STR("");
    return dict_str(d, d->functions.v[d->lines.v[s.at + s.n - 1].function].name);
}

/* ---- a file ---- */

static void test_self(void **state)
{
    (void)state;
    for (unsigned again = 0; again < 2;
         again++) { /* the second time, the index comes from the cache */
        made x;
        char path[4096];
        uint64_t address = (uint64_t)(uintptr_t)&marked + 1;
        mapping m = own_mapping(address, path, sizeof path);
        begin_model(&x);
        uint32_t map = add_mapping(&x, m, path, NULL, NULL);
        uint32_t l = builder_location(&x.b, map, address, NULL, 0, NULL, 0);
        uint32_t fn =
            builder_function(&x.b, &(function){.name = builder_string(&x.b, STR("kept"))});
        uint32_t had =
            builder_location(&x.b, map, address + 1, &(line){.function = fn}, 1, NULL, 0);
        end_model(&x, (uint32_t[]){l, had}, 2, 0);
        run(&x, (symbolize_opts){0});
        assert_true(str_eq(name_of(&x.m, l), STR("marked")));
        assert_true(str_eq(name_of(&x.m, had), STR("kept")));
        assert_u64(x.r.n_found, 1);
        assert_u64(x.r.n_already, 1);
        assert_u64(x.r.v.n, 1);
        assert_true(x.r.v.v[0].trusted);
        assert_u64(x.r.v.v[0].cached, again);
        const dict *d = &x.m.dict;
        bool hash = false;
        for (size_t i = 0; i < d->attributes.n; i++)
            hash |= str_eq(dict_str(d, d->attributes.v[i].key),
                           STR("process.executable.build_id.htlhash"));
        assert_true(hash);
        (void)marked(1);
        arena_free(&x.a);
    }
}

/* Tests the use inside another program's process: only names when the debug information is too
 * large, modules that stay open for the next call, and addresses that are looked up unchanged. */
static void test_module_cache(void **state)
{
    (void)state;
    module_cache modules = {0};
    char path[4096];
    uint64_t address = (uint64_t)(uintptr_t)&marked;
    mapping m = own_mapping(address, path, sizeof path);
    for (unsigned again = 0; again < 3; again++) {
        made x;
        begin_model(&x);
        uint32_t map = add_mapping(&x, m, path, NULL, NULL);
        uint32_t l[] = {builder_location(&x.b, map, address + 1, NULL, 0, NULL, 0),
                        builder_location(&x.b, map, address, NULL, 0, NULL, 0)};
        uint32_t stack = builder_stack(&x.b, l, 2);
        int64_t one = 1;
        builder_resource(&x.b, NULL), builder_scope(&x.b, NULL), builder_profile(&x.b);
        builder_sample(&x.b, &(sample){.stack = stack, .values = &one, .n_values = 1});
        err e = {0};
        assert_ok(builder_finish(&x.b, &x.m, &e), &e);
        run(&x, (symbolize_opts){.modules = &modules, .inside = true, .module.max_debug = 1});
        assert_true(str_eq(name_of(&x.m, l[0]), STR("marked")));
        assert_true(str_eq(name_of(&x.m, l[1]), STR("marked"))); /* not the byte before */
        assert_int_equal(x.r.v.v[0].state, MODULE_SYMBOLS);
        assert_u64(modules.n, 1);
        assert_u64(x.r.cache_hits + x.r.cache_written, again ? 0 : 2);
        arena_free(&x.a);
    }
    module_cache_close(&modules);
}

/* ---- time limit and verification ---- */

static bool over_after(void *ctx, err *e)
{
    unsigned *left = ctx;
    if (*left) return --*left, false;
    return !err_set(e, ERR_LIMIT, "the time limit was reached");
}

/* Builds a model of this program, with or without its build id. */
static void open_self(made *x, bool with_id, uint32_t *l)
{
    char path[4096], hex[2 * BUILD_ID_BYTES_MAX + 1] = "";
    uint64_t address = (uint64_t)(uintptr_t)&marked + 1;
    mapping m = own_mapping(address, path, sizeof path);
    file_bytes f;
    elf_file elf;
    begin_model(x);
    assert_true(file_read(path, 0, &f, NULL) && elf_read(f.bytes, &x->a, &elf, NULL));
    str gnu = elf_build_ids(&elf).gnu;
    hex_encode((const uint8_t *)gnu.p, gnu.n, hex);
    file_release(&f);
    uint32_t map = add_mapping(x, m, path, "process.executable.build_id.gnu", with_id ? hex : NULL);
    *l = builder_location(&x->b, map, address, NULL, 0, NULL, 0);
    end_model(x, l, 1, 0);
}

static void test_bound(void **state)
{
    (void)state;
    static const struct {
        unsigned asks; /* polls until the time limit */
        module_state state;
        const char *name;
        bool cached;
    } t[] = {
        {0, MODULE_LATE, "", false},          /* the limit is reached before the file is searched */
        {2, MODULE_SYMBOLS, "marked", false}, /* while reading debug information: names remain */
        {99999, MODULE_SYMBOLS, "marked", true}, /* the debug information is not read again */
    };
    uint32_t l;
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        unsigned left = t[i].asks;
        stopper stop = {.over = over_after, .ctx = &left};
        made x;
        open_self(&x, true, &l);
        run(&x, (symbolize_opts){.module = {.stop = &stop, .dirs.proven = true}});
        assert_int_equal(x.r.v.v[0].state, t[i].state);
        assert_true(str_eq(name_of(&x.m, l), str_of(t[i].name)));
        assert_int_equal(x.r.v.v[0].cached, t[i].cached);
        assert_u64(x.r.v.v[0].n_nameless, !t[i].name[0]);
        arena_free(&x.a);
    }
    made x; /* without a limit everything is read, and later limited calls use it */
    open_self(&x, true, &l);
    run(&x, (symbolize_opts){0});
    assert_int_equal(x.r.v.v[0].state, MODULE_LINES);
    arena_free(&x.a);
    unsigned left = 1;
    stopper stop = {.over = over_after, .ctx = &left};
    open_self(&x, true, &l);
    run(&x, (symbolize_opts){.module.stop = &stop});
    assert_int_equal(x.r.v.v[0].state, MODULE_LINES);
    arena_free(&x.a);
}

static void test_proven(void **state)
{
    (void)state;
    uint32_t l;
    made x;
    open_self(&x, false, &l);
    run(&x, (symbolize_opts){.module.dirs.proven = true});
    assert_int_equal(x.r.v.v[0].state, MODULE_NO_ID);
    assert_u64(name_of(&x.m, l).n, 0);
    arena_free(&x.a);
    open_self(&x, true, &l);
    run(&x, (symbolize_opts){.module.dirs.proven = true});
    assert_true(x.r.v.v[0].verified);
    assert_true(str_eq(name_of(&x.m, l), STR("marked")));
    arena_free(&x.a);
}

/* A damaged cache entry is built again. */
static void test_damaged_cache(void **state)
{
    test_self(state);
    char cmd[600];
    snprintf(
        cmd, sizeof cmd,
        "for f in %s/*.ksym; do printf x | dd of=$f bs=1 seek=200 conv=notrunc 2>/dev/null; done",
        dir);
    assert_int_equal(system(cmd), 0);
    test_self(state);
}

static void test_force(void **state)
{
    (void)state;
    made x;
    char path[4096];
    uint64_t address = (uint64_t)(uintptr_t)&marked + 1;
    mapping m = own_mapping(address, path, sizeof path);
    begin_model(&x);
    uint32_t map = add_mapping(&x, m, path, NULL, NULL);
    uint32_t fn = builder_function(&x.b, &(function){.name = builder_string(&x.b, STR("old"))});
    uint32_t l = builder_location(&x.b, map, address, &(line){.function = fn}, 1, NULL, 0);
    end_model(&x, &l, 1, 0);
    run(&x, (symbolize_opts){.force = true});
    assert_true(str_eq(name_of(&x.m, l), STR("marked")));
    arena_free(&x.a);
}

/* OTEP 0239: is_folded is removed when symbols change.  Other attributes stay, and so does the
 * flag of a location that already has lines. */
static void test_folded(void **state)
{
    (void)state;
    made x;
    char path[4096];
    uint64_t address = (uint64_t)(uintptr_t)&marked + 1;
    mapping m = own_mapping(address, path, sizeof path);
    begin_model(&x);
    uint32_t map = add_mapping(&x, m, path, NULL, NULL);
    uint32_t attrs[] = {builder_attribute_bool(&x.b, STR("pprof.location.is_folded"), true),
                        builder_attribute_str(&x.b, STR("profile.frame.type"), STR("native"))};
    uint32_t fn = builder_function(&x.b, &(function){.name = builder_string(&x.b, STR("kept"))});
    uint32_t at[] = {
        builder_location(&x.b, map, address, NULL, 0, attrs, 2),
        builder_location(&x.b, map, address + 1, &(line){.function = fn}, 1, attrs, 2)};
    end_model(&x, at, 2, 0);
    run(&x, (symbolize_opts){0});
    const dict *d = &x.m.dict;
    assert_true(str_eq(name_of(&x.m, at[0]), STR("marked")));
    span named = d->locations.v[at[0]].attrs, kept = d->locations.v[at[1]].attrs;
    assert_u64(named.n, 1);
    assert_u64(d->attr_refs.v[named.at], attrs[1]);
    assert_u64(kept.n, 2);
    arena_free(&x.a);
}

/* ---- binaries that are not found ---- */

static void test_states(void **state)
{
    (void)state;
    char path[4096];
    uint64_t address = (uint64_t)(uintptr_t)&marked + 1;
    mapping m = own_mapping(address, path, sizeof path);
    static const char gnu[] = "process.executable.build_id.gnu",
                      htl[] = "process.executable.build_id.htlhash";
    const struct {
        const char *name, *key, *id;
        module_state want;
    } cases[] = {
        {path, gnu, "00112233445566778899aabbccddeeff00112233", MODULE_DIFFERS},
        {path, htl, "00112233445566778899aabbccddeeff", MODULE_DIFFERS},
        {"/no/such/file", NULL, NULL, MODULE_MISSING},
        {"/no/such/file", gnu, "../../../../etc/passwd", MODULE_MISSING},
        {"/etc/passwd", NULL, NULL, MODULE_MISSING},
        {"[kernel.kallsyms]_text", gnu, "00112233445566778899aabbccddeeff00112233", MODULE_MISSING},
        {"//anon", NULL, NULL, MODULE_NO_MAP},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        made x;
        begin_model(&x);
        uint32_t map = add_mapping(&x, m, cases[i].name, cases[i].key, cases[i].id);
        uint32_t l = builder_location(&x.b, map, address, NULL, 0, NULL, 0);
        end_model(&x, &l, 1, 0);
        run(&x, (symbolize_opts){0});
        assert_u64(x.r.v.n, 1);
        if (x.r.v.v[0].state != cases[i].want)
            fail_msg("%s: %s", cases[i].name, module_state_name(x.r.v.v[0].state));
        assert_u64(x.r.n_found, 0);
        assert_non_null(symbolize_advice(&x.r.v.v[0]));
        arena_free(&x.a);
    }
}

/* ---- text ---- */

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void test_perf_map(void **state)
{
    (void)state;
    char path[64];
    int64_t pid = 900000000 + getpid(); /* above any real PID */
    snprintf(path, sizeof path, "/tmp/perf-%" PRId64 ".map", pid);
    write_text(path, "7f0000001000 100 LApp;::run\n");
    made x;
    begin_model(&x);
    uint32_t map =
        add_mapping(&x, (mapping){0x7f0000000000, 0x7f0000010000, 0, 0, {0}}, "//anon", NULL, NULL);
    uint32_t l[3] = {builder_location(&x.b, map, 0x7f0000001010, NULL, 0, NULL, 0),
                     builder_location(&x.b, 0, 0x7f00000010ff, NULL, 0, NULL, 0),
                     builder_location(&x.b, map, 0x7f0000002000, NULL, 0, NULL, 0)};
    end_model(&x, l, 3, pid);
    run(&x, (symbolize_opts){0});
    unlink(path);
    assert_true(str_eq(name_of(&x.m, l[0]), STR("LApp;::run")));
    assert_true(str_eq(name_of(&x.m, l[1]), STR("LApp;::run")));
    assert_true(str_eq(name_of(&x.m, l[2]), STR("")));
    assert_u64(x.r.n_found, 2);
    arena_free(&x.a);
}

static module_state map_state(const char *name, bool given, size_t max_memory)
{
    module m;
    char path[300];
    snprintf(path, sizeof path, "%s%s", given ? dir : "", name);
    module_open_perf_map(&m, path, given,
                         &(module_opts){.dirs.root = dir, .max_memory = max_memory});
    module_state s = m.state;
    module_close(&m);
    return s;
}

/* The recorded process controls the file at the path of its map. */
static void test_foreign_perf_map(void **state)
{
    (void)state;
    char path[300], target[300];
    alarm(20); /* a pipe without a writer, and /dev/zero, have no end */
    snprintf(path, sizeof path, "%s/pipe.map", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    snprintf(path, sizeof path, "%s/zero.map", dir);
    assert_int_equal(symlink("/dev/zero", path), 0);
    snprintf(target, sizeof target, "%s/m.map", dir);
    write_text(target, "7f0000001000 100 LApp;::run\n");
    snprintf(path, sizeof path, "%s/inside.map", dir);
    assert_int_equal(symlink("/m.map", path), 0);
    snprintf(path, sizeof path, "%s/outside.map", dir);
    assert_int_equal(symlink(target, path), 0);
    assert_int_equal(map_state("/pipe.map", false, 0), MODULE_NO_MAP);
    assert_int_equal(map_state("/zero.map", false, 0), MODULE_NO_MAP);
    assert_int_equal(map_state("/outside.map", false, 0), MODULE_NO_MAP);
    assert_int_equal(map_state("/inside.map", false, 0), MODULE_SYMBOLS);
    assert_int_equal(map_state("/m.map", false, 20), MODULE_BROKEN);
    assert_int_equal(map_state("/outside.map", true, 0), MODULE_SYMBOLS);
    alarm(0);
}

static void test_kernel(void **state)
{
    (void)state;
    char path[300];
    snprintf(path, sizeof path, "%s/kallsyms", dir);
    write_text(path, "ffffffff81000000 T _text\nffffffff81000100 T do_syscall_64\n"
                     "ffffffffc0000000 t ext4_write\t[ext4]\n");
    made x;
    begin_model(&x);
    /* The kernel is loaded 16 MiB above the addresses of the list. */
    uint64_t start = 0xffffffff82000000;
    uint32_t map = add_mapping(&x, (mapping){start, start + 0x1000000, start, 0, {0}},
                               "[kernel.kallsyms]_text", NULL, NULL);
    uint32_t l[2] = {builder_location(&x.b, map, start + 0x110, NULL, 0, NULL, 0),
                     builder_location(&x.b, 0, 0xffffffff81000105, NULL, 0, NULL, 0)};
    end_model(&x, l, 2, 0);
    run(&x, (symbolize_opts){.module.kallsyms = path});
    assert_true(str_eq(name_of(&x.m, l[0]), STR("do_syscall_64")));
    assert_true(str_eq(name_of(&x.m, l[1]), STR("do_syscall_64")));
    arena_free(&x.a);
}

static void test_empty(void **state)
{
    (void)state;
    made x;
    begin_model(&x);
    end_model(&x, NULL, 0, 0);
    run(&x, (symbolize_opts){0});
    assert_u64(x.r.n_locations, 0);
    x.m = (model){0};
    run(&x, (symbolize_opts){0});
    arena_free(&x.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_self, begin, end),
        cmocka_unit_test_setup_teardown(test_module_cache, begin, end),
        cmocka_unit_test_setup_teardown(test_bound, begin, end),
        cmocka_unit_test_setup_teardown(test_proven, begin, end),
        cmocka_unit_test_setup_teardown(test_damaged_cache, begin, end),
        cmocka_unit_test_setup_teardown(test_force, begin, end),
        cmocka_unit_test_setup_teardown(test_folded, begin, end),
        cmocka_unit_test_setup_teardown(test_states, begin, end),
        cmocka_unit_test_setup_teardown(test_perf_map, begin, end),
        cmocka_unit_test_setup_teardown(test_foreign_perf_map, begin, end),
        cmocka_unit_test_setup_teardown(test_kernel, begin, end),
        cmocka_unit_test_setup_teardown(test_empty, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
