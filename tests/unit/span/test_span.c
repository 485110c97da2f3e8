/* The publisher as seen by its own thread's signal handler, and its behaviour over threads and
 * forks. */
#include "span/peek.h"

#include "../../support/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static span_place place;

static int find_place(void **state)
{
    (void)state;
    place = span_locate();
    return place.kind == SPAN_NOWHERE ? -1 : 0;
}

/* Enters a span whose id bytes are all equal, so that a mixture of two ids is visible. */
static void enter(kiln_span_scope *s, uint8_t b)
{
    uint8_t id[16];
    memset(id, b, sizeof id);
    kiln_span_enter(s, id, id, KILN_SPAN_SAMPLED);
}

/* Reads memory for span_peek_at, which normally reads another thread. */
static bool read_here(void *ctx, uintptr_t at, void *to, size_t n)
{
    struct iovec into = {to, n}, from = {(void *)at, n};
    (void)ctx;
    return process_vm_readv(getpid(), &into, 1, &from, 1, 0) == (ssize_t)n;
}

/* Reads with span_peek and span_peek_at and compares the results. */
static bool peek_both(const span_place *at, span_record *r)
{
    span_record other = {0};
    memset(r, 0, sizeof *r);
    bool seen = span_peek(at, r);
    assert_int_equal(
        span_peek_at(at, (uintptr_t)__builtin_thread_pointer(), read_here, NULL, &other), seen);
    if (seen) assert_memory_equal(&other, r, sizeof other);
    return seen;
}

static bool peek(span_record *r) { return peek_both(&place, r); }

/* The publisher was unloaded: its variable now contains no pointer, or a pointer to something
 * else. */
static _Thread_local void *was_publishers;

static void nonsense_does_not_fault(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *m = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(m != MAP_FAILED && mprotect(m + page, page, PROT_NONE) == 0);
    uint8_t *long_one = m + page - 64, *whole = m + page - 30;
    long_one[24] = whole[24] = 1, long_one[26] = 100, whole[0] = 7;
    const struct {
        void *is;
        bool seen;
    } cases[] = {{NULL, false},
                 {(void *)0x1000, false},
                 {m + page, false},
                 {m + page - 10, false},
                 {(void *)(UINTPTR_MAX - 15), false},
                 {(void *)(UINTPTR_MAX / 2 & ~(uintptr_t)1), false},
                 {long_one, false},
                 {whole, true}};
    span_place gone = {.kind = SPAN_STATIC,
                       .offset = (char *)&was_publishers - (char *)__builtin_thread_pointer()};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        span_record r;
        was_publishers = cases[i].is;
        assert_int_equal(peek_both(&gone, &r), cases[i].seen);
    }
    munmap(m, 2 * page);
}

/* Returns the first byte of the trace id; 0 without a context. */
static unsigned current(void)
{
    span_record r;
    return peek(&r) && r.has_ids ? r.trace_id[0] : 0;
}

/* Returns the last value of a key, which readers use, or NULL. */
static const char *value_of(const span_record *r, int key, char out[256])
{
    const char *found = NULL;
    for (size_t at = 0; at + 2 <= r->n_attrs; at += 2u + r->attrs[at + 1]) {
        if (r->attrs[at] != key) continue;
        memcpy(out, r->attrs + at + 2, r->attrs[at + 1]);
        out[r->attrs[at + 1]] = '\0';
        found = out;
    }
    return found;
}

static const char *now(int key)
{
    static char out[256];
    span_record r;
    return peek(&r) ? value_of(&r, key, out) : NULL;
}

/* ---- scopes ---- */

static void nesting_is_restored(void **state)
{
    kiln_span_scope a, b, c;
    (void)state;
    assert_int_equal(current(), 0);
    enter(&a, 1);
    assert_int_equal(current(), 1);
    enter(&b, 2);
    enter(&c, 3);
    assert_int_equal(current(), 3);
    kiln_span_exit(&c);
    assert_int_equal(current(), 2);
    kiln_span_exit(&b);
    assert_int_equal(current(), 1);
    kiln_span_exit(&a);
    assert_int_equal(current(), 0);
}

static void a_record_has_all_of_it(void **state)
{
    static const uint8_t trace[16] = "0123456789abcdef", id[8] = "ABCDEFGH", none[16];
    kiln_span_scope s, t;
    span_record r;
    (void)state;
    kiln_span_enter(&s, trace, id, 0x03);
    assert_true(peek(&r));
    assert_memory_equal(r.trace_id, trace, 16);
    assert_memory_equal(r.span_id, id, 8);
    assert_int_equal(r.trace_flags, 3);
    assert_true(r.has_ids);
    kiln_span_enter(&t, none, none, 0);
    assert_true(peek(&r));
    assert_false(r.has_ids);
    kiln_span_exit(&t);
    kiln_span_exit(&s);
    assert_false(peek(&r));
}

/* ---- attributes ---- */

static void attributes_end_with_their_scope(void **state)
{
    int route = kiln_span_key("http.route"), user = kiln_span_key("user.id");
    kiln_span_scope a, b;
    (void)state;
    assert_int_equal(kiln_span_key("http.route"), route);
    assert_int_not_equal(route, user);
    enter(&a, 1);
    assert_true(kiln_span_attr(route, "/cart", 5));
    enter(&b, 2);
    assert_true(kiln_span_attr(user, "42", 2));
    assert_true(kiln_span_attr(route, "/cart/pay", 9));
    assert_string_equal(now(route), "/cart/pay");
    assert_string_equal(now(user), "42");
    kiln_span_exit(&b);
    assert_string_equal(now(route), "/cart");
    assert_null(now(user));
    kiln_span_exit(&a);
    assert_null(now(route));
}

static void in_one_scope_the_last_value_counts(void **state)
{
    int a = kiln_span_key("a"), b = kiln_span_key("b");
    kiln_span_scope s;
    span_record r;
    (void)state;
    enter(&s, 1);
    for (unsigned i = 0; i < 10000; i++) { /* would overflow if exits did not restore the size */
        char text[16];
        snprintf(text, sizeof text, "%u", i);
        assert_true(kiln_span_attr(a, text, strlen(text)));
        assert_true(kiln_span_attr(b, "same", 4));
    }
    assert_string_equal(now(a), "9999");
    assert_string_equal(now(b), "same");
    assert_true(peek(&r));
    assert_int_equal(r.n_attrs, 2 + 4 + 2 + 4);
    kiln_span_exit(&s);
}

static void attributes_without_a_span(void **state)
{
    int k = kiln_span_key("worker");
    kiln_span_context none = {0};
    kiln_span_scope s;
    span_record r;
    (void)state;
    assert_true(kiln_span_attr(k, "7", 1));
    assert_true(peek(&r));
    assert_false(r.has_ids);
    enter(&s, 1);
    assert_string_equal(now(k), "7");
    kiln_span_exit(&s);
    assert_string_equal(now(k), "7");
    kiln_span_detach(NULL, &none);
    assert_false(peek(&r));
}

static kiln_span_counters counters(void)
{
    kiln_span_counters c = {.size = sizeof c};
    kiln_span_count(&c);
    return c;
}

static void what_does_not_fit_is_counted(void **state)
{
    int k[4] = {kiln_span_key("w"), kiln_span_key("x"), kiln_span_key("y"), kiln_span_key("z")};
    kiln_span_counters before = counters(), after;
    kiln_span_scope s;
    char text[400];
    span_record r;
    (void)state;
    memset(text, 'v', sizeof text);
    memcpy(text + 254, "\xc3\xa9", 2); /* a character across the limit */
    enter(&s, 1);
    assert_true(kiln_span_attr(k[0], text, sizeof text));
    assert_int_equal(strlen(now(k[0])), 254);
    assert_true(kiln_span_attr(k[1], text, 254));
    assert_false(kiln_span_attr(k[2], text, 100)); /* 2 x 256 of 612 bytes are used */
    assert_true(kiln_span_attr(k[2], text, 98));   /* to the last byte */
    assert_false(kiln_span_attr(k[3], "", 0));
    assert_true(kiln_span_attr(k[2], text, 1)); /* shorter than before: fits again */
    assert_true(kiln_span_attr(k[3], "", 0));
    assert_true(peek(&r));
    assert_int_equal(r.trace_id[0], 1);
    kiln_span_exit(&s);
    after = counters();
    assert_u64(after.attrs_cut - before.attrs_cut, 1);
    assert_u64(after.attrs_dropped - before.attrs_dropped, 2);
    assert_false(kiln_span_attr(-1, "x", 1));
    assert_false(kiln_span_attr(255, "x", 1));
}

/* Numbers are never reused, so this test runs in its own process. */
static void keys_end_at_256(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        char name[16];
        int last = -1, refused = 0;
        for (int i = 0; i < 300; i++) {
            snprintf(name, sizeof name, "key%d", i);
            int k = kiln_span_key(name);
            if (k >= 0)
                last = k;
            else
                refused++;
        }
        bool ok = last == 255 && counters().keys_refused >= (uint64_t)refused && refused > 40;
        ok = ok && kiln_span_key("key0") >= 0 && kiln_span_key("") == -1 &&
             kiln_span_key(NULL) == -1;
        _exit(ok ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- tasks ---- */

typedef struct handover {
    kiln_span_context task;
    kiln_span_scope inner;
    unsigned seen_before, seen, seen_after;
} handover;

static void *go_on(void *arg)
{
    handover *h = arg;
    kiln_span_scope own;
    kiln_span_context outer;
    enter(&own, 9);
    h->seen_before = current();
    kiln_span_attach(&h->task, &outer);
    h->seen = current();
    kiln_span_exit(&h->inner); /* entered in another thread */
    kiln_span_detach(&h->task, &outer);
    h->seen_after = current();
    kiln_span_exit(&own);
    return NULL;
}

static void a_task_moves_between_threads(void **state)
{
    int k = kiln_span_key("task"), inner_k = kiln_span_key("inner");
    handover h;
    kiln_span_scope s;
    pthread_t t;
    (void)state;
    enter(&s, 1);
    kiln_span_attr(k, "download", 8);
    enter(&h.inner, 2);
    kiln_span_attr(inner_k, "part 1", 6);
    kiln_span_detach(&h.task, NULL);
    assert_int_equal(current(), 0);
    assert_int_equal(pthread_create(&t, NULL, go_on, &h), 0);
    pthread_join(t, NULL);
    assert_int_equal(h.seen_before, 9);
    assert_int_equal(h.seen, 2);
    assert_int_equal(h.seen_after, 9);
    kiln_span_attach(&h.task, NULL);
    assert_int_equal(current(), 1);
    assert_string_equal(now(k), "download");
    assert_null(now(inner_k));
    kiln_span_exit(&s);
    assert_int_equal(current(), 0);
}

enum { THREADS = 1000 };
static _Atomic unsigned n_right;
static pthread_barrier_t all_in;

static void *one_of_many(void *arg)
{
    uint8_t b = (uint8_t)(uintptr_t)arg;
    kiln_span_scope s, t;
    enter(&s, b);
    pthread_barrier_wait(&all_in); /* all are in a scope at the same time */
    bool right = current() == b;
    enter(&t, (uint8_t)~b);
    right &= current() == (uint8_t)~b;
    kiln_span_exit(&t);
    right &= current() == b;
    kiln_span_exit(&s);
    if (right && current() == 0) n_right++;
    return NULL;
}

static void a_thousand_threads(void **state)
{
    static pthread_t t[THREADS];
    pthread_attr_t small;
    (void)state;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 * 1024);
    pthread_barrier_init(&all_in, NULL, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&t[i], &small, one_of_many, (void *)(1 + i % 254)), 0);
    for (size_t i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    assert_int_equal(n_right, THREADS);
    pthread_attr_destroy(&small);
}

/* ---- a handler sees no partial record at any instruction ---- */

enum { SIGNALS = 20000, SIGNALS_S = 5 }; /* the test ends after SIGNALS_S seconds at the latest */
static _Atomic unsigned n_looks, n_seen, n_torn;
static _Atomic bool over;
static int stress_key;

static void look(int sig)
{
    span_record r;
    char text[256];
    (void)sig;
    n_looks++;
    memset(&r, 0, sizeof r);
    if (!span_peek(&place, &r)) return;
    n_seen++;
    for (unsigned i = 0; i < 16; i++) n_torn += r.trace_id[i] != r.trace_id[0];
    for (unsigned i = 0; i < 8; i++) n_torn += r.span_id[i] != r.trace_id[0];
    size_t at = 0;
    while (at + 2 <= r.n_attrs) at += 2u + r.attrs[at + 1];
    n_torn += at != r.n_attrs;
    const char *v = value_of(&r, stress_key, text);
    for (size_t i = 0; v && v[i]; i++) n_torn += v[i] != v[0];
}

static time_t seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

static void *busy(void *arg)
{
    kiln_span_context task;
    kiln_span_scope s, t;
    char text[64];
    (void)arg;
    for (unsigned i = 0; !over; i++) {
        enter(&s, (uint8_t)(1 + i % 100));
        memset(text, 'a' + (int)(i % 26), sizeof text);
        kiln_span_attr(stress_key, text, 1 + i % 63);
        enter(&t, (uint8_t)(1 + i % 50));
        kiln_span_attr(stress_key, text, i % 7);
        kiln_span_attr(stress_key, text, i % 64);
        if (i % 16 == 0) {
            kiln_span_detach(&task, NULL);
            kiln_span_attach(&task, NULL);
        }
        kiln_span_exit(&t);
        kiln_span_exit(&s);
    }
    return NULL;
}

static void a_handler_never_sees_half_a_record(void **state)
{
    struct sigaction act = {.sa_handler = look, .sa_flags = SA_RESTART};
    pthread_t t;
    (void)state;
    stress_key = kiln_span_key("stress");
    sigaction(SIGUSR1, &act, NULL);
    assert_int_equal(pthread_create(&t, NULL, busy, NULL), 0);
    time_t end = seconds() + SIGNALS_S;
    for (unsigned i = 0; i < SIGNALS && seconds() < end; i++) {
        unsigned before = n_looks;
        pthread_kill(t, SIGUSR1);
        for (unsigned k = 0; n_looks == before && k < 1000000; k++) sched_yield();
    }
    over = true;
    pthread_join(t, NULL);
    print_message("# %u reads, %u of a context, %u inconsistent\n", n_looks, n_seen, n_torn);
    assert_int_equal(n_torn, 0);
    assert_true(n_looks > 100 && n_seen > n_looks / 100);
}

/* ---- process ---- */

/* Returns the number of mappings named OTEL_CTX, and copies the payload of the first one. */
static unsigned mappings(char *payload, size_t n)
{
    char line[512];
    unsigned found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) {
        if (!strstr(line, "OTEL_CTX")) continue;
        const uint8_t *h = (const uint8_t *)(uintptr_t)strtoull(line, NULL, 16);
        const char *p;
        uint32_t size;
        memcpy(&size, h + 12, 4);
        memcpy(&p, h + 24, 8);
        if (payload && !found++) memcpy(payload, p, size < n ? size : n);
        found += !payload;
    }
    fclose(maps);
    return found;
}

static bool contains(const char *p, size_t n, const char *text)
{
    return memmem(p, n, text, strlen(text)) != NULL;
}

static void publishing_again_changes_the_one_context(void **state)
{
    char p[4096];
    kiln_span_process ctx = {.size = sizeof ctx, .service_name = "one", .service_version = "1"};
    (void)state;
    assert_int_equal(mappings(NULL, 0), 0);
    assert_int_equal(kiln_span_publish(&ctx), KILN_SPAN_OK);
    memset(p, 0, sizeof p);
    assert_int_equal(mappings(p, sizeof p), 1);
    assert_true(contains(p, sizeof p, "one"));
    ctx.service_name = "two";
    assert_int_equal(kiln_span_publish(&ctx), KILN_SPAN_OK);
    kiln_span_key("published.later");
    memset(p, 0, sizeof p);
    assert_int_equal(mappings(p, sizeof p), 1);
    assert_true(contains(p, sizeof p, "two"));
    assert_false(contains(p, sizeof p, "one"));
    assert_true(contains(p, sizeof p, "published.later"));
    kiln_span_unpublish();
    assert_int_equal(mappings(NULL, 0), 0);
}

static void the_environment_speaks(void **state)
{
    static const struct {
        const char *name, *resource, *service, *has, *has_not;
    } cases[] = {
        {"service name wins", "service.name=b,team=x", "a", "team", NULL},
        {"percent", "k=a%2Cb%3dc, sp = v ", NULL, "a,b=c", "%2C"},
        {"one invalid pair invalidates all", "good=yes,bad", NULL, "unknown_service:", "good"},
        {"half an escape", "good=yes,k=%4", NULL, "unknown_service:", "good"},
        {"empty is unset", "", "", "unknown_service:", NULL},
        {"the code wins", "service.version=9", NULL, "given", "9"},
    };
    char p[4096];
    kiln_span_process ctx = {.size = sizeof ctx, .service_version = "given"};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("OTEL_RESOURCE_ATTRIBUTES", cases[i].resource, 1);
        setenv("OTEL_SERVICE_NAME", cases[i].service ? cases[i].service : "", 1);
        bool code = i == 5;
        assert_int_equal(kiln_span_publish(code ? &ctx : NULL), KILN_SPAN_OK);
        memset(p, 0, sizeof p);
        mappings(p, sizeof p);
        /* searches only before the random id, which may contain a 9 */
        char *sdk = memmem(p, sizeof p, "service.instance.id", 19);
        if (!contains(p, (size_t)(sdk - p), cases[i].has))
            fail_msg("%s: no %s", cases[i].name, cases[i].has);
        if (cases[i].has_not && contains(p, (size_t)(sdk - p), cases[i].has_not))
            fail_msg("%s: has %s", cases[i].name, cases[i].has_not);
    }
    unsetenv("OTEL_RESOURCE_ATTRIBUTES");
    unsetenv("OTEL_SERVICE_NAME");
    kiln_span_unpublish();
}

static void what_cannot_be_published_is_refused(void **state)
{
    static char large[4096 + 2];
    static kiln_span_pair many[17];
    kiln_span_pair bad[] = {
        {"", "x"}, {"k", NULL}, {"k", "\xff"}, {"threadlocal.x", "y"}, {"k", large}};
    (void)state;
    memset(large, 'x', sizeof large - 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        kiln_span_process ctx = {.size = sizeof ctx, .resource = &bad[i], .n_resource = 1};
        assert_int_equal(kiln_span_publish(&ctx), KILN_SPAN_USAGE);
    }
    assert_int_equal(mappings(NULL, 0), 0);
    large[4096] = '\0';
    for (size_t i = 0; i < 17; i++) many[i] = (kiln_span_pair){"k", large};
    kiln_span_process ctx = {.size = sizeof ctx, .attributes = many, .n_attributes = 17};
    assert_int_equal(kiln_span_publish(&ctx), KILN_SPAN_LIMIT);
    assert_int_equal(mappings(NULL, 0), 0);
    ctx.n_attributes = 10;
    assert_int_equal(kiln_span_publish(&ctx), KILN_SPAN_OK);
    ctx.n_attributes = 17; /* the published context stays */
    assert_int_equal(kiln_span_publish(&ctx), KILN_SPAN_LIMIT);
    assert_int_equal(mappings(NULL, 0), 1);
    kiln_span_unpublish();
}

/* A key that does not fit into the payload is rejected. */
static void a_key_beyond_the_payload_is_refused(void **state)
{
    static char value[4096 + 1], name[4096];
    static kiln_span_pair many[15];
    (void)state;
    memset(value, 'v', sizeof value - 1);
    memset(name, 'n', sizeof name - 1);
    for (size_t i = 0; i < 15; i++) many[i] = (kiln_span_pair){"k", value};
    kiln_span_process ctx = {.size = sizeof ctx, .attributes = many, .n_attributes = 15};
    assert_int_equal(kiln_span_publish(&ctx), KILN_SPAN_OK);
    uint64_t before = counters().keys_refused;
    assert_int_equal(kiln_span_key(name), -1);
    assert_u64(counters().keys_refused - before, 1);
    int small = kiln_span_key("small");
    assert_true(small >= 0);
    assert_int_equal(kiln_span_key("small"), small);
    kiln_span_unpublish();
}

static void instance_of(char out[37])
{
    char p[4096] = {0};
    mappings(p, sizeof p);
    char *at = memmem(p, sizeof p, "service.instance.id", 19);
    memcpy(out, at ? at + 19 + 4 : "", 36); /* value, its length, string, its length */
    out[36] = '\0';
}

static void a_forked_child_has_none_until_it_publishes(void **state)
{
    char mine[37], childs[37];
    int status;
    kiln_span_scope s;
    (void)state;
    assert_int_equal(kiln_span_publish(NULL), KILN_SPAN_OK);
    instance_of(mine);
    enter(&s, 5);
    pid_t child = fork();
    if (child == 0) {
        bool ok = mappings(NULL, 0) == 0 && current() == 5;
        ok = ok && kiln_span_key("after.fork") >= 0 && mappings(NULL, 0) == 0;
        ok = ok && kiln_span_publish(NULL) == KILN_SPAN_OK && mappings(NULL, 0) == 1;
        instance_of(childs);
        _exit(ok && strlen(childs) == 36 && strcmp(mine, childs) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    kiln_span_exit(&s);
    assert_int_equal(mappings(NULL, 0), 1);
    kiln_span_unpublish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nonsense_does_not_fault),
        cmocka_unit_test(nesting_is_restored),
        cmocka_unit_test(a_record_has_all_of_it),
        cmocka_unit_test(attributes_end_with_their_scope),
        cmocka_unit_test(in_one_scope_the_last_value_counts),
        cmocka_unit_test(attributes_without_a_span),
        cmocka_unit_test(what_does_not_fit_is_counted),
        cmocka_unit_test(keys_end_at_256),
        cmocka_unit_test(a_task_moves_between_threads),
        cmocka_unit_test(a_thousand_threads),
        cmocka_unit_test(a_handler_never_sees_half_a_record),
        cmocka_unit_test(publishing_again_changes_the_one_context),
        cmocka_unit_test(the_environment_speaks),
        cmocka_unit_test(what_cannot_be_published_is_refused),
        cmocka_unit_test(a_key_beyond_the_payload_is_refused),
        cmocka_unit_test(a_forked_child_has_none_until_it_publishes),
    };
    return cmocka_run_group_tests(tests, find_place, NULL);
}
