/* Inputs of the shipper: current and past mappings, file names, the resource, heap rows. */
#include "agent/files.h"
#include "agent/heap_rows.h"
#include "agent/images.h"
#include "agent/resource.h"
#include "agent/messages.h"

#include "../../support/test.h"
#include "model/builder.h"
#include "wire/otlp.h"
#include <unistd.h>

/* ---- images ---- */

#define APP "402000-404000 r-xp 00002000 fd:01 10 /usr/bin/app\n"
#define LIB(at, inode) at "000-" at "fff r-xp 00001000 fd:01 " inode " /usr/lib/plugin.so\n"

static void test_images(void **state)
{
    (void)state;
    images m = {0};
    assert_true(images_take(&m, STR(APP LIB("7f0000001", "11")), 100));
    assert_true(images_take(&m, STR(APP), 200)); /* the plugin was unloaded */
    assert_true(images_take(&m, STR(APP LIB("7f0000001", "12")), 300)); /* another one was loaded */
    assert_u64(m.v.n, 3);
    static const struct {
        uint64_t address, time, inode; /* 0: none */
    } cases[] = {
        {0x402000, 50, 10},
        {0x403fff, 1000, 10},
        {0x404000, 100, 0},
        {0x7f0000001500, 150, 11},
        {0x7f0000001500, 50, 11}, /* before the first read */
        {0x7f0000001500, 199, 11},
        {0x7f0000001500, 350, 12},
        /* between two reads: the new mapping is nearer than the old one */
        {0x7f0000001500, 250, 12},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const image *x = images_find(&m, cases[i].address, cases[i].time);
        assert_u64(x ? x->inode : 0, cases[i].inode);
    }
    images_forget(&m, 150, true); /* the mapping still existed at that time */
    assert_u64(m.v.n, 3);
    images_forget(&m, 201, false);
    assert_u64(m.v.n, 3);
    assert_u64(images_find(&m, 0x7f0000001500, 0)->inode, 12);
    images_forget(&m, 201, true);
    assert_u64(m.v.n, 2);
    assert_non_null(images_find(&m, 0x402000, 1000));
    assert_u64(images_find(&m, 0x7f0000001500, 150)->inode, 12);
    assert_true(images_take(&m, STR(APP), 400));
    assert_u64(images_find(&m, 0x7f0000001500, 0)->inode,
               12); /* unloaded, and no other mapping has replaced it */
    assert_null(images_find(&m, 0x7f0000001500, 500));
    images_close(&m);
}

/* Build ids of this process are read from memory. */
static void test_own_images(void **state)
{
    (void)state;
    images m = {0};
    err e = {0};
    assert_ok(images_refresh(&m, 1, &e), &e);
    const image *libc = images_find(&m, (uint64_t)(uintptr_t)&getpid, 1),
                *self = images_find(&m, (uint64_t)(uintptr_t)&test_own_images, 1);
    assert_non_null(libc);
    assert_non_null(self);
    assert_true(str_ends(self->path, STR("test_agent_ship")));
    assert_true(strlen(libc->gnu) == 40);
    size_t n = m.v.n;
    assert_ok(images_refresh(&m, 2, &e), &e);
    assert_u64(m.v.n, n);
    images_close(&m);
}

/* ---- files ---- */

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t n;
        const char *want; /* NULL: rejected */
    } cases[] = {
        {"a.otlp", 1, "a.otlp"},
        {"a-%p-%n.otlp", 3, "a-42-3.otlp"},
        {"100%%/%p", 1, "100%/42"},
        {"%", 1, NULL},
        {"%x", 1, NULL},
        {"dir.d/app", 1, "dir.d/app"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf b = {0};
        bool ok = files_name(cases[i].name, 42, cases[i].n, &b);
        assert_int_equal(ok, cases[i].want != NULL);
        if (ok) assert_string_equal(b.p, cases[i].want);
        buf_free(&b);
    }
}

/* A child gets another name, because parent and child would write the same file. */
static void test_of_child(void **state)
{
    (void)state;
    static const struct {
        const char *name, *want;
    } cases[] = {
        {"/d/app.otlp", "/d/app.%p.otlp"},
        {"/d.d/app", "/d.d/app.%p"},
        {"/d/.otlp", "/d/.otlp.%p"},
        {"/d/app-%n.otlp", "/d/app-%n.%p.otlp"},
        {"/d/app-%p.otlp", "/d/app-%p.otlp"},
        {"/100%%p/app.otlp", "/100%%p/app.%p.otlp"}, /* a doubled % is a literal % */
    };
    arena a = {0};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(files_of_child(cases[i].name, &a), cases[i].want);
    assert_null(files_of_child(NULL, &a));
    arena_free(&a);
}

/* Programs change their directory (daemons to /); names are relative to the initial one. */
static void test_absolute(void **state)
{
    (void)state;
    arena a = {0};
    char dir[] = "/tmp/kiln-100%-XXXXXX", was[4096], want[64];
    assert_non_null(mkdtemp(dir));
    assert_true(getcwd(was, sizeof was) && chdir(dir) == 0);
    snprintf(want, sizeof want, "/tmp/kiln-100%%%%%s/a-%%p", dir + strlen("/tmp/kiln-100%"));
    assert_string_equal(files_absolute("a-%p", true, &a), want);
    snprintf(want, sizeof want, "%s/spool", dir);
    assert_string_equal(files_absolute("spool", false, &a), want);
    assert_string_equal(files_absolute("/x/a-%p", true, &a), "/x/a-%p");
    assert_null(files_absolute(NULL, true, &a));
    assert_true(chdir(was) == 0 && rmdir(dir) == 0);
    arena_free(&a);
}

static void make_model_of(str type, arena *a, model *m)
{
    builder b;
    err e = {0};
    int64_t v = 7;
    uint64_t t = 1700000000000000000;
    assert_true(builder_init(&b, a));
    builder_resource(&b, NULL), builder_scope(&b, NULL);
    profile *p = builder_profile(&b);
    p->sample_type = (value_type){builder_string(&b, type), builder_string(&b, STR("nanoseconds"))};
    p->has_sample_type = true;
    uint32_t l = builder_location(&b, 0, 0x10, NULL, 0, NULL, 0), s = builder_stack(&b, &l, 1);
    builder_sample(&b,
                   &(sample){.stack = s, .values = &v, .n_values = 1, .times = &t, .n_times = 1});
    assert_ok(builder_finish(&b, m, &e), &e);
}

static void make_model(arena *a, model *m) { make_model_of(STR("cpu"), a, m); }

static int64_t total_of(const char *path)
{
    buf bytes = {0};
    arena a = {0};
    model m;
    err e = {0};
    int64_t sum = 0;
    if (!test_read(path, &bytes)) return -1;
    assert_ok(otlp_decode(bytes.p, bytes.n, NULL, &a, &m, &e), &e);
    for (size_t i = 0; i < m.profiles.n; i++)
        for (size_t k = 0; k < m.profiles.v[i].n_samples; k++) {
            sample s = sample_at(&m, &m.profiles.v[i], k);
            sum += sample_total(&s, NULL);
        }
    arena_free(&a);
    buf_free(&bytes);
    return sum;
}

static void test_files(void **state)
{
    (void)state;
    char dir[] = "/tmp/kiln-files-XXXXXX", name[64], path[64];
    assert_non_null(mkdtemp(dir));
    arena a = {0};
    model m;
    err e = {0};
    files f;
    make_model(&a, &m);
    /* a file that grows has all samples since the start */
    snprintf(name, sizeof name, "%s/one.otlp", dir);
    files_open(&f, name, 0, 42);
    for (int i = 1; i <= 3; i++) {
        assert_ok(files_put(&f, &m, &e), &e);
        assert_int_equal(total_of(name), 7 * i);
    }
    /* in-use values replace older ones */
    model level;
    make_model_of(STR("inuse_space"), &a, &level);
    snprintf(name, sizeof name, "%s/one.otlp", dir);
    files_open(&f, name, 0, 42);
    for (int i = 1; i <= 3; i++) {
        assert_ok(files_put(&f, &level, &e), &e);
        assert_int_equal(total_of(name), 7);
    }
    /* with numbers, the last two files are kept; existing numbers are skipped */
    snprintf(path, sizeof path, "%s/42-1", dir);
    assert_true(symlink("nowhere", path) == 0 && unlink(path) == 0);
    snprintf(name, sizeof name, "%s/%%p-%%n", dir);
    files_open(&f, name, 2, 42);
    for (int i = 1; i <= 4; i++) assert_ok(files_put(&f, &m, &e), &e);
    for (int i = 1; i <= 4; i++) {
        snprintf(path, sizeof path, "%s/42-%d", dir, i);
        assert_int_equal(total_of(path), i > 2 ? 7 : -1);
    }
    assert_u64(f.written, 4);
    files_open(&f, name, 0, 42);
    assert_u64(f.n, 1);
    /* no such directory */
    snprintf(name, sizeof name, "%s/no/dir/%%n", dir);
    files_open(&f, name, 0, 42);
    assert_false(files_put(&f, &m, &e));
    assert_int_equal(e.code, ERR_SYS);
    assert_u64(f.failed, 1);
    arena_free(&a);
    for (int i = 3; i <= 4; i++) {
        snprintf(path, sizeof path, "%s/42-%d", dir, i);
        assert_int_equal(unlink(path), 0);
    }
    snprintf(path, sizeof path, "%s/one.otlp", dir);
    assert_true(unlink(path) == 0 && rmdir(dir) == 0);
}

/* ---- the resource ---- */

static str value_of(const keyvalues *kv, const char *key)
{
    for (size_t i = 0; i < kv->n; i++)
        if (str_eq(kv->v[i].key, str_of(key)))
            return kv->v[i].value.kind == ANY_STRING ? any_str(&kv->v[i].value) : STR("number");
    return STR("(none)");
}

static void test_resource(void **state)
{
    (void)state;
    static keyvalue own[] = {
        {.key = {"service.name", 12}, .value = {.kind = ANY_STRING, .n = 3, .s = "own"}},
        {.key = {"telemetry.sdk.language", 22}, .value = {.kind = ANY_STRING, .n = 2, .s = "go"}}};
    static const struct {
        const char *service, *list;
        bool published;
        const char *key, *want;
    } cases[] = {
        {NULL, NULL, false, "service.name", "unknown_service:app"},
        {"shop", NULL, false, "service.name", "shop"},
        {"shop", "service.name=other,a=b%2Cc", false, "service.name", "shop"},
        {NULL, "service.name=other,a=b%2Cc", false, "service.name", "other"},
        {NULL, "service.name=other,a=b%2Cc", false, "a", "b,c"},
        {NULL, "a=b,broken", false, "a", "(none)"}, /* one invalid pair invalidates the variable */
        {"shop", NULL, true, "service.name", "own"},
        {NULL, NULL, true, "telemetry.sdk.language", "cpp"},
        {NULL, NULL, false, "telemetry.sdk.name", "kiln"},
        {NULL, NULL, false, "process.pid", "number"},
        {NULL, NULL, false, "process.executable.name", "app"},
        {NULL, NULL, false, "process.executable.path", "/usr/bin/app"},
        {NULL, NULL, false, "host.arch", "amd64"},
        {NULL, "host.name=h", false, "host.name", "h"},
        {NULL, NULL, false, "container.id",
         "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
        {NULL, NULL, false, "service.instance.id", "00000000-0000-4000-8000-000000000000"},
        {NULL, NULL, false, "process.command_line", "(none)"}, /* may contain secrets */
        {NULL, NULL, false, "process.command_args", "(none)"},
    };
    resource_facts f = {
        .program = STR("/usr/bin/app"),
        .host = STR("vm"),
        .machine = STR("x86_64"),
        .cgroup =
            STR("0::/docker/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n"),
        .pid = 42};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        agent_config c = {.service_name = cases[i].service, .resource = cases[i].list};
        arena a = {0};
        keyvalues out, published = {own, 2};
        assert_true(resource_make(&c, &f, cases[i].published ? &published : NULL, &a, &out));
        str got = value_of(&out, cases[i].key);
        if (!str_eq(got, str_of(cases[i].want)))
            fail_msg("%zu: %s is %.*s, expected %s", i, cases[i].key, STR_ARG(got), cases[i].want);
        arena_free(&a);
    }
}

/* ---- heap ---- */

static heap_entry entries[2];
static void each(void (*f)(void *ctx, const heap_entry *e), void *ctx)
{
    for (size_t i = 0; i < 2; i++) f(ctx, &entries[i]);
}
static heap_counts counts(void) { return (heap_counts){.interval = 4096}; }

static void test_heap(void **state)
{
    (void)state;
    static const uintptr_t a_pcs[] = {1, 2}, b_pcs[] = {1, 3};
    const heap_for_agent h = {.version = HEAP_LINK_VERSION, .each = each, .counts = counts};
    heap_past past = {0};
    arena a = {0};
    heap_rows r;
    entries[0] = (heap_entry){a_pcs, 2, 0, 10, 1000, 2, 200};
    entries[1] = (heap_entry){b_pcs, 2, 0, 1, 50, 0, 0};
    assert_true(heap_take(&past, &h, &a, &r));
    assert_u64(r.v.n, 2);
    assert_u64(r.interval, 4096);
    assert_u64(r.v.v[0].alloc_objects, 10);
    entries[0].alloc_objects = 15, entries[0].alloc_space = 1500, entries[0].inuse_space = 100;
    assert_true(heap_take(&past, &h, &a, &r));
    assert_u64(r.v.n, 1); /* the other stack has not changed */
    assert_u64(r.v.v[0].alloc_objects, 5);
    assert_u64(r.v.v[0].alloc_space, 500);
    assert_u64(r.v.v[0].inuse_space, 100);
    heap_forget(&past);
    arena_free(&a);
}

/* ---- messages ---- */

static void test_messages(void **state)
{
    (void)state;
    const char *messages[MESSAGES_MAX];
    messages_quiet();
    messages_print("one"), messages_print("two"), messages_print("one");
    assert_u64(messages_list(messages), 2);
    assert_string_equal(messages[1], "two");
    for (int i = 0; i < 100; i++) {
        char text[16];
        snprintf(text, sizeof text, "n%d", i);
        messages_print(text);
    }
    assert_u64(messages_list(messages), MESSAGES_MAX);
    messages_forked();
    assert_u64(messages_list(messages), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_images),   cmocka_unit_test(test_own_images),
        cmocka_unit_test(test_names),    cmocka_unit_test(test_absolute),
        cmocka_unit_test(test_of_child), cmocka_unit_test(test_files),
        cmocka_unit_test(test_resource), cmocka_unit_test(test_heap),
        cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
