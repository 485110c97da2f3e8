/* echo.c - a minimal gRPC server over nghttp2: reads whole bodies and responds with an empty
 * message.  bench/serve compares `kiln serve` with it.  It reuses the memory of bodies: with new
 * pages for each, large bodies would cost twice as much, and kiln would look better than it is.
 *
 *   bench/echo        prints its port; exits at the end of its standard input */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WINDOW = 1 << 20, EVENTS = 64 }; /* the window of kiln serve */

typedef struct body {
    uint8_t *p;
    size_t n, cap;
    struct body *next; /* in the list of unused bodies */
} body;

static body *spare;

typedef struct client {
    int fd;
    nghttp2_session *ng;
    body out;
} client;

static void put(body *b, const uint8_t *p, size_t n)
{
    if (b->n + n > b->cap) {
        b->cap = (b->n + n) * 2;
        if (!(b->p = realloc(b->p, b->cap))) abort();
    }
    memcpy(b->p + b->n, p, n);
    b->n += n;
}

#define NV(name, value)                                                                            \
    {                                                                                              \
        (uint8_t *)(uintptr_t)(name), (uint8_t *)(uintptr_t)(value), sizeof(name) - 1,             \
            sizeof(value) - 1, NGHTTP2_NV_FLAG_NONE                                                \
    }

static body *take_body(void)
{
    body *b = spare;
    if (b)
        spare = b->next;
    else if (!(b = calloc(1, sizeof *b)))
        abort();
    b->n = 0;
    return b;
}

static int on_begin(nghttp2_session *ng, const nghttp2_frame *f, void *ctx)
{
    (void)ctx;
    if (f->hd.type == NGHTTP2_HEADERS && f->headers.cat == NGHTTP2_HCAT_REQUEST)
        nghttp2_session_set_stream_user_data(ng, f->hd.stream_id, take_body());
    return 0;
}

static int on_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
                   void *ctx)
{
    (void)flags, (void)ctx;
    body *b = nghttp2_session_get_stream_user_data(ng, id);
    if (b) put(b, p, n);
    return 0;
}

static ssize_t read_answer(nghttp2_session *ng, int32_t id, uint8_t *p, size_t max, uint32_t *flags,
                           nghttp2_data_source *from, void *ctx)
{
    (void)max, (void)from, (void)ctx;
    nghttp2_nv trailers[] = {NV("grpc-status", "0")};
    memset(p, 0, 5); /* an empty message */
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    nghttp2_submit_trailer(ng, id, trailers, 1);
    return 5;
}

static int on_frame(nghttp2_session *ng, const nghttp2_frame *f, void *ctx)
{
    (void)ctx;
    if (!(f->hd.flags & NGHTTP2_FLAG_END_STREAM) ||
        (f->hd.type != NGHTTP2_DATA && f->hd.type != NGHTTP2_HEADERS))
        return 0;
    nghttp2_nv head[] = {NV(":status", "200"), NV("content-type", "application/grpc")};
    nghttp2_data_provider answer = {.read_callback = read_answer};
    return nghttp2_submit_response(ng, f->hd.stream_id, head, 2, &answer);
}

static int on_close(nghttp2_session *ng, int32_t id, uint32_t code, void *ctx)
{
    (void)code, (void)ctx;
    body *b = nghttp2_session_get_stream_user_data(ng, id);
    if (b) b->next = spare, spare = b;
    return 0;
}

static client *new_client(int fd)
{
    int on = 1;
    client *c = calloc(1, sizeof *c);
    nghttp2_session_callbacks *cb;
    if (!c || nghttp2_session_callbacks_new(&cb)) abort();
    c->fd = fd;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
    if (nghttp2_session_server_new(&c->ng, cb, c)) abort();
    nghttp2_session_callbacks_del(cb);
    nghttp2_settings_entry set[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 100},
                                    {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW}};
    nghttp2_submit_settings(c->ng, NGHTTP2_FLAG_NONE, set, 2);
    nghttp2_session_set_local_window_size(c->ng, NGHTTP2_FLAG_NONE, 0, 4 * WINDOW);
    return c;
}

/* Returns false when the connection has ended. */
static int serve(client *c)
{
    static uint8_t chunk[64 << 10];
    for (;;) {
        ssize_t n = recv(c->fd, chunk, sizeof chunk, 0);
        if (n < 0 && errno == EAGAIN) break;
        if (n <= 0 || nghttp2_session_mem_recv(c->ng, chunk, (size_t)n) < 0) return 0;
    }
    const uint8_t *p;
    for (ssize_t n; (n = nghttp2_session_mem_send(c->ng, &p)) > 0;) put(&c->out, p, (size_t)n);
    size_t sent = 0;
    while (sent < c->out.n) { /* responses are small: waiting for the peer is rare */
        ssize_t n = send(c->fd, c->out.p + sent, c->out.n - sent, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN) return 0;
        if (n > 0) sent += (size_t)n;
    }
    c->out.n = 0;
    return 1;
}

static void end(client *c)
{
    close(c->fd);
    nghttp2_session_del(c->ng);
    free(c->out.p);
    free(c);
}

int main(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n_a = sizeof a;
    int l = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), ep = epoll_create1(0);
    if (bind(l, (struct sockaddr *)&a, sizeof a) || listen(l, 128) ||
        getsockname(l, (struct sockaddr *)&a, &n_a))
        return perror("echo"), 1;
    epoll_ctl(ep, EPOLL_CTL_ADD, l, &(struct epoll_event){.events = EPOLLIN, .data.ptr = NULL});
    epoll_ctl(ep, EPOLL_CTL_ADD, 0, &(struct epoll_event){.events = EPOLLIN, .data.ptr = &a});
    printf("%d\n", ntohs(a.sin_port));
    fflush(stdout);
    for (;;) {
        struct epoll_event ev[EVENTS];
        int n = epoll_wait(ep, ev, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            client *c = ev[i].data.ptr;
            if (ev[i].data.ptr == &a) return 0;
            if (c) {
                if (!serve(c)) end(c);
                continue;
            }
            int fd = accept4(l, NULL, NULL, SOCK_NONBLOCK);
            if (fd < 0) continue;
            c = new_client(fd);
            epoll_ctl(ep, EPOLL_CTL_ADD, fd,
                      &(struct epoll_event){.events = EPOLLIN, .data.ptr = c});
            if (!serve(c)) end(c);
        }
    }
}
