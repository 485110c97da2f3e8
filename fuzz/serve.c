/* Sends arbitrary bytes, in any pieces, over HTTP/1.1 or HTTP/2, to the whole server except the
 * store: sockets, headers, bodies, gRPC frames, immediate and delayed responses. After the
 * connection is closed, the server must have freed everything. */
#include "net/http_server.h"
#include "otlp/receive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MUST(x)                                                                                    \
    do                                                                                             \
        if (!(x)) abort();                                                                         \
    while (0)

enum { LATER = 8, MAX_MESSAGE = 1 << 20, ROUNDS = 16 };

static const char hello[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";

typedef struct rig {
    loop *loop;
    http_server *s;
    int client;
    http_exchange *kept[LATER]; /* get their response after all input was sent */
    size_t n_kept;
} rig;

static void answer(http_exchange *x)
{
    http_message *m = http_exchange_message(x);
    receive_route r;
    received got = {0};
    err e = {0};
    arena a = {.budget = (size_t)16 << 20};
    verdict v = VERDICT_OVERLOADED;
    bool ours = receive_route_of(m, &r);
    MUST(m->method.p && m->path.p);
    MUST(!m->failure || !m->body.n);
    if (!ours) r = (receive_route){.json = true, .package = ""};
    if (ours && !m->failure)
        v = receive_read(&r, m, &(receive_opts){.max_message = MAX_MESSAGE}, &a, &got, &e);
    else
        err_set(&e, ERR_LIMIT, "not now");
    receive_reply out;
    receive_respond(&r, v, &got, &e, 1500000000, &out);
    http_respond(x, &(http_response){.status = out.status,
                                     .head = out.head,
                                     .n_head = out.n_head,
                                     .body = &out.body,
                                     .trailers = out.trailers,
                                     .n_trailers = out.n_trailers});
    receive_reply_free(&out);
    arena_free(&a);
}

static void on_admit(void *ctx, http_message *m)
{
    (void)ctx;
    if (str_starts(m->path, STR("/small"))) m->body.limit = 4;
    if (str_starts(m->path, STR("/no"))) m->failure = HTTP_NO_BODY;
}

static void on_request(void *ctx, http_exchange *x)
{
    rig *r = ctx;
    bool later = str_starts(http_exchange_message(x)->path, STR("/later"));
    if (later && r->n_kept < LATER)
        r->kept[r->n_kept++] = x;
    else
        answer(x);
}

static void on_gone(void *ctx, http_exchange *x)
{
    rig *r = ctx;
    for (size_t i = 0; i < r->n_kept; i++)
        if (r->kept[i] == x) r->kept[i] = r->kept[--r->n_kept];
}

static void spin(rig *r)
{
    char sink[4096];
    for (int i = 0; i < ROUNDS; i++) {
        loop_once(r->loop, 0);
        while (recv(r->client, sink, sizeof sink, MSG_DONTWAIT) > 0) {}
    }
}

static void say(rig *r, str bytes, size_t step)
{
    while (bytes.n) {
        size_t n = bytes.n < step ? bytes.n : step;
        if (send(r->client, bytes.p, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return;
        bytes = (str){bytes.p + n, bytes.n - n};
        loop_once(r->loop, 0);
        loop_once(r->loop, 0);
    }
}

static void open_rig(rig *r)
{
    err e = {0};
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    *r = (rig){.client = socket(AF_UNIX, SOCK_STREAM, 0)};
    r->loop = loop_open(world_system(), NULL, NULL, &e);
    http_limits o = {.body = 1 << 16, .bodies = 1 << 17, .streams = 8};
    r->s = http_server_open(r->loop, &o,
                            &(http_server_events){on_admit, on_request, on_gone, NULL, r}, &e);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    MUST(r->loop && r->s && bind(fd, (struct sockaddr *)&a, sizeof(sa_family_t)) == 0);
    socklen_t n = sizeof a; /* the kernel chose an address */
    MUST(listen(fd, 1) == 0 && getsockname(fd, (struct sockaddr *)&a, &n) == 0);
    MUST(connect(r->client, (struct sockaddr *)&a, n) == 0);
    MUST(http_server_listen(r->s, fd, NULL, true, &e));
    loop_once(r->loop, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const size_t steps[] = {SIZE_MAX, 1, 7, 100};
    if (!n) return 0;
    rig r;
    uint8_t how = data[0];
    size_t step = n > 256 && how % 4 == 1 ? 16 : steps[how % 4];
    open_rig(&r);
    if (how & 4) say(&r, (str){hello, sizeof hello - 1}, SIZE_MAX);
    say(&r, (str){(const char *)data + 1, n - 1}, step);
    spin(&r);
    while (r.n_kept) answer(r.kept[--r.n_kept]), spin(&r);
    if (how & 8) shutdown(r.client, SHUT_WR), spin(&r);
    if (how & 16) http_server_drain(r.s), spin(&r);
    close(r.client);
    spin(&r);
    while (r.n_kept) answer(r.kept[--r.n_kept]), spin(&r);
    http_server_counts c = http_server_count(r.s);
    MUST(http_server_idle(r.s) && !c.connections && !c.exchanges && !c.held && !c.owed);
    http_server_close(r.s);
    loop_close(r.loop);
    return 0;
}
