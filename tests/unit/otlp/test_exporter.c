/* The exporter's thread: submitting never blocks, memory is bounded, closing takes bounded time.
 * Also runs under TSan. */
#include "otlp/exporter.h"

#include "../../support/test.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Binds a port without listening, so that connections are refused and no other program can take it.
 * */
static int bind_only(uint16_t *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    *port = ntohs(a.sin_port);
    return fd;
}

/* A listener that never accepts: the kernel completes the connection, and no response ever arrives.
 * */
static int listen_mute(uint16_t *port)
{
    int fd = bind_only(port);
    assert_int_equal(listen(fd, 16), 0);
    return fd;
}

static otlp_config config_for(uint16_t port)
{
    return (otlp_config){
        .timeout = 60 * NS_PER_S,
        .to = {.host = STR("127.0.0.1"), .port = port, .has_port = true, .path = STR("/")},
        .set_endpoint = "",
        .set_protocol = "",
        .set_ca = ""};
}

static bool submit(exporter *x, size_t n)
{
    buf b = {0};
    for (size_t i = 0; i < n; i++) buf_putc(&b, 'x');
    bool ok = exporter_submit(x, &b, 1, 1);
    assert_int_equal(ok, b.p == NULL); /* submitted, or still owned by the test */
    buf_free(&b);
    return ok;
}

static void test_bounded(void **state)
{
    (void)state;
    uint16_t port;
    int fd = listen_mute(&port);
    otlp_config c = config_for(port);
    err e = {0};
    exporter *x = exporter_open(&(exporter_opts){.sender = {.config = &c}, .max_queue = 10000}, &e);
    assert_ok(x, &e);
    size_t taken = 0, refused = 0;
    for (int i = 0; i < 100; i++) *(submit(x, 1000) ? &taken : &refused) += 1;
    assert_true(taken >= 5 && taken <= 10);
    assert_false(exporter_flush(x, NS_PER_MS));
    otlp_counts n = exporter_counts(x);
    assert_u64(n.items_queue_full, refused);
    assert_u64(n.items_submitted, taken);
    uint64_t before = world_now(world_system());
    exporter_close(x, 50 * NS_PER_MS, &n);
    assert_true(world_now(world_system()) - before <
                20 * NS_PER_S); /* much less than the timeout of the request */
    assert_u64(n.items_unsent, taken);
    assert_u64(otlp_items_lost(&n), 100); /* everything is counted */
    close(fd);
}

typedef struct server {
    int fd;
    unsigned n;
} server;

/* Responds 200 to every request on one connection. */
static void *serve(void *ctx)
{
    server *s = ctx;
    char chunk[8192];
    int c = accept(s->fd, NULL, NULL);
    for (; c >= 0 && recv(c, chunk, sizeof chunk, 0) > 0; s->n++)
        if (send(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 38, MSG_NOSIGNAL) < 0) break;
    if (c >= 0) close(c);
    return NULL;
}

static _Atomic unsigned n_settled;
static void on_settled(void *ctx, const settled *s)
{
    (void)ctx;
    if (s->outcome == OUTCOME_ACCEPTED) n_settled++;
}

static void *submit_many(void *ctx)
{
    for (int i = 0; i < 50; i++)
        while (!submit(ctx, 10)) usleep(100);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    uint16_t port;
    server s = {.fd = listen_mute(&port)};
    otlp_config c = config_for(port);
    err e = {0};
    pthread_t server_thread, t[3];
    assert_int_equal(pthread_create(&server_thread, NULL, serve, &s), 0);
    exporter *x = exporter_open(
        &(exporter_opts){.sender = {.config = &c, .settled = on_settled}, .max_queue = 20000}, &e);
    assert_ok(x, &e);
    for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&t[i], NULL, submit_many, x), 0);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    assert_true(exporter_flush(x, 20 * NS_PER_S));
    assert_int_equal(n_settled, 150);
    otlp_counts n;
    exporter_close(x, 20 * NS_PER_S, &n);
    assert_u64(n.items_accepted, 150);
    pthread_join(server_thread, NULL);
    close(s.fd);
}

static _Atomic size_t stack_size;
static void on_thread(void *ctx)
{
    (void)ctx;
    pthread_attr_t a;
    size_t n;
    if (pthread_getattr_np(pthread_self(), &a) == 0 && pthread_attr_getstacksize(&a, &n) == 0)
        stack_size = n;
    pthread_attr_destroy(&a);
}

/* The exporter sets its own stack size, because programs with many threads use a small default. */
static void test_small_stacks(void **state)
{
    (void)state;
    pthread_attr_t before, small;
    otlp_config c = config_for(9);
    err e = {0};
    assert_int_equal(pthread_getattr_default_np(&before), 0);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 48 << 10);
    assert_int_equal(pthread_setattr_default_np(&small), 0);
    exporter *x =
        exporter_open(&(exporter_opts){.sender = {.config = &c}, .thread = on_thread}, &e);
    assert_int_equal(pthread_setattr_default_np(&before), 0);
    assert_ok(x, &e);
    exporter_close(x, 20 * NS_PER_S, NULL);
    assert_true(stack_size >= 512 << 10);
    pthread_attr_destroy(&small), pthread_attr_destroy(&before);
}

static void test_nobody_there(void **state)
{
    (void)state;
    uint16_t port;
    int fd = bind_only(&port);
    otlp_config c = config_for(port);
    err e = {0};
    exporter *x = exporter_open(&(exporter_opts){.sender = {.config = &c}}, &e);
    assert_ok(x, &e);
    assert_true(submit(x, 10));
    otlp_counts n;
    exporter_close(x, 20 * NS_PER_MS, &n);
    assert_u64(n.items_unsent, 1);
    close(fd);
}

/* The number of open descriptors besides the standard ones. */
static unsigned count_descriptors(void)
{
    unsigned n = 0;
    for (int fd = 3; fd < 256; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* The child closes all descriptors; the parent keeps its connection and spool. */
static void test_forked(void **state)
{
    (void)state;
    uint16_t port;
    server s = {.fd = listen_mute(&port)};
    pthread_t server_thread;
    assert_int_equal(pthread_create(&server_thread, NULL, serve, &s), 0);
    char dir[] = "/tmp/kiln-forked-XXXXXX";
    assert_non_null(mkdtemp(dir));
    otlp_config c = config_for(port);
    err e = {0};
    unsigned before = count_descriptors();
    n_settled = 0;
    exporter *x = exporter_open(
        &(exporter_opts){.sender = {.config = &c, .settled = on_settled}, .spool_dir = dir}, &e);
    assert_ok(x, &e);
    assert_true(submit(x, 10));
    assert_true(exporter_flush(x, 20 * NS_PER_S));
    assert_int_equal(count_descriptors(), before + 5); /* loop (2), lock, connection (2) */
    pid_t child = fork();
    if (child == 0) {
        exporter_forked(x);
        _exit(count_descriptors() == before + 1 ? 0 : 1); /* the test owns the other end */
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_null(spool_open(dir, OTLP_PROFILES, 0, &e)); /* the parent still holds the lock */
    assert_int_equal(e.code, ERR_MISMATCH);
    assert_true(submit(x, 10));
    assert_true(exporter_flush(x, 20 * NS_PER_S));
    assert_int_equal(n_settled, 2);
    exporter_close(x, 20 * NS_PER_S, NULL);
    pthread_join(server_thread, NULL);
    assert_int_equal(count_descriptors(), before);
    close(s.fd);
    char lock_path[64];
    snprintf(lock_path, sizeof lock_path, "%s/lock", dir);
    unlink(lock_path), rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounded), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_small_stacks), cmocka_unit_test(test_nobody_there),
        cmocka_unit_test(test_forked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
