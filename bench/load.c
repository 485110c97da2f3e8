/* load.c - sends a profile again and again over HTTP/2, as gRPC, each time with an id of its own.
 *
 *   bench/load PORT FILE REQUESTS CONNECTIONS STREAMS
 *
 * h2load sends the same bytes every time, which a store rightly takes for a profile that was sent again.  Says how many were taken,
 * refused (RESOURCE_EXHAUSTED with a time to come back) and failed, and the seconds. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PREFIX = 5, ID = 16, EVENTS = 64 };
/* bench/serve writes it into the file; the number of the request replaces its end. */
static const char mark[ID] = "kiln-bench-id-00";

typedef struct load {
    uint8_t *message; /* with gRPC's prefix */
    size_t n, id_at;
    uint64_t to_send, streams, next;
    uint64_t taken, refused, failed;
} load;

typedef struct peer {
    load *of;
    int fd;
    nghttp2_session *ng;
    const uint8_t *out; /* what the kernel did not take */
    size_t n_out;
    uint64_t open;
} peer;

typedef struct request {
    uint64_t number;
    size_t sent;
    char status;   /* grpc-status: its first digit */
    bool may_come; /* RetryInfo */
} request;

#define NV(name, value)                                                                            \
    {                                                                                              \
        (uint8_t *)(uintptr_t)(name), (uint8_t *)(uintptr_t)(value), sizeof(name) - 1,             \
            sizeof(value) - 1, NGHTTP2_NV_FLAG_NONE                                                \
    }

/* The message with the request's own number in it. */
static ssize_t read_message(nghttp2_session *ng, int32_t id, uint8_t *p, size_t max,
                            uint32_t *flags, nghttp2_data_source *from, void *who)
{
    (void)ng, (void)id;
    load *l = ((peer *)who)->of;
    request *r = from->ptr;
    size_t n = l->n - r->sent < max ? l->n - r->sent : max;
    memcpy(p, l->message + r->sent, n);
    for (size_t i = 0; i < 8; i++) {
        size_t at = l->id_at + 8 + i;
        if (at >= r->sent && at < r->sent + n) p[at - r->sent] = (uint8_t)(r->number >> 8 * i);
    }
    r->sent += n;
    if (r->sent == l->n) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

static void submit(peer *p)
{
    load *l = p->of;
    nghttp2_nv head[] = {
        NV(":method", "POST"),
        NV(":scheme", "http"),
        NV(":authority", "localhost"),
        NV(":path", "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"),
        NV("content-type", "application/grpc"),
        NV("te", "trailers")};
    while (p->open < l->streams && l->next < l->to_send) {
        request *r = calloc(1, sizeof *r);
        r->number = ++l->next;
        nghttp2_data_provider d = {.source.ptr = r, .read_callback = read_message};
        if (nghttp2_submit_request(p->ng, NULL, head, sizeof head / sizeof *head, &d, r) < 0)
            abort();
        p->open++;
    }
}

static int on_header(nghttp2_session *ng, const nghttp2_frame *f, const uint8_t *name,
                     size_t n_name, const uint8_t *value, size_t n_value, uint8_t flags, void *who)
{
    (void)flags, (void)who;
    request *r = nghttp2_session_get_stream_user_data(ng, f->hd.stream_id);
    if (r && n_name == 11 && !memcmp(name, "grpc-status", 11) && n_value) r->status = (char)*value;
    if (r && n_name == 23 && !memcmp(name, "grpc-status-details-bin", 23)) r->may_come = true;
    return 0;
}

static int on_close(nghttp2_session *ng, int32_t id, uint32_t code, void *who)
{
    (void)code;
    peer *p = who;
    request *r = nghttp2_session_get_stream_user_data(ng, id);
    if (!r) return 0;
    if (r->status == '0')
        p->of->taken++;
    else if (r->status == '8' && r->may_come)
        p->of->refused++;
    else
        p->of->failed++;
    p->open--;
    free(r);
    return 0;
}

static void open_peer(peer *p, load *l, uint16_t port, int ep)
{
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    nghttp2_session_callbacks *cb;
    int on = 1;
    *p = (peer){.of = l, .fd = socket(AF_INET, SOCK_STREAM, 0)};
    if (connect(p->fd, (struct sockaddr *)&a, sizeof a)) perror("load"), exit(1);
    fcntl(p->fd, F_SETFL, O_NONBLOCK);
    setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (nghttp2_session_callbacks_new(&cb)) abort();
    nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
    if (nghttp2_session_client_new(&p->ng, cb, p)) abort();
    nghttp2_session_callbacks_del(cb);
    nghttp2_submit_settings(p->ng, NGHTTP2_FLAG_NONE, NULL, 0);
    epoll_ctl(ep, EPOLL_CTL_ADD, p->fd,
              &(struct epoll_event){.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = p});
}

static bool receive(peer *p)
{
    static uint8_t chunk[64 << 10];
    for (;;) {
        ssize_t n = recv(p->fd, chunk, sizeof chunk, 0);
        if (n < 0 && errno == EAGAIN) return true;
        if (n <= 0 || nghttp2_session_mem_recv(p->ng, chunk, (size_t)n) < 0) return false;
        submit(p);
    }
}

static bool transmit(peer *p)
{
    for (;;) {
        if (!p->n_out) {
            ssize_t n = nghttp2_session_mem_send(p->ng, &p->out);
            if (n <= 0) return n == 0;
            p->n_out = (size_t)n;
        }
        ssize_t k = send(p->fd, p->out, p->n_out, MSG_NOSIGNAL);
        if (k < 0) return errno == EAGAIN;
        p->out += k, p->n_out -= (size_t)k;
    }
}

static void lose(peer *p)
{
    p->of->failed += p->open;
    p->open = 0;
    close(p->fd);
    p->fd = -1;
}

static bool read_file(load *l, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    l->n = PREFIX + (size_t)size;
    l->message = calloc(1, l->n);
    for (int i = 0; i < 4; i++) l->message[1 + i] = (uint8_t)((uint64_t)size >> 8 * (3 - i));
    bool ok = fread(l->message + PREFIX, 1, (size_t)size, f) == (size_t)size;
    fclose(f);
    const uint8_t *id = memmem(l->message, l->n, mark, ID);
    if (!id) return fprintf(stderr, "load: no `%.16s` in %s\n", mark, path), false;
    l->id_at = (size_t)(id - l->message);
    return ok;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    if (argc != 6) return fprintf(stderr, "load PORT FILE REQUESTS CONNECTIONS STREAMS\n"), 2;
    load l = {.to_send = strtoull(argv[3], NULL, 10), .streams = strtoull(argv[5], NULL, 10)};
    size_t n_peers = strtoull(argv[4], NULL, 10), alive = n_peers;
    if (!read_file(&l, argv[2])) return 1;
    peer *peers = calloc(n_peers, sizeof *peers);
    int ep = epoll_create1(0);
    for (size_t i = 0; i < n_peers; i++)
        open_peer(&peers[i], &l, (uint16_t)strtoul(argv[1], NULL, 10), ep);
    double began = now();
    for (size_t i = 0; i < n_peers; i++) {
        submit(&peers[i]);
        if (!transmit(&peers[i])) lose(&peers[i]), alive--;
    }
    while (alive && l.taken + l.refused + l.failed < l.to_send) {
        struct epoll_event ev[EVENTS];
        int n = epoll_wait(ep, ev, EVENTS, 30000);
        if (n == 0) return fprintf(stderr, "load: no answer for 30 s\n"), 1;
        for (int i = 0; i < n; i++) {
            peer *p = ev[i].data.ptr;
            if (p->fd >= 0 && (!receive(p) || !transmit(p))) lose(p), alive--;
        }
    }
    printf("{\"taken\": %" PRIu64 ", \"refused\": %" PRIu64 ", \"failed\": %" PRIu64
           ", \"seconds\": %.3f}\n",
           l.taken, l.refused, l.failed, now() - began);
    return 0;
}
