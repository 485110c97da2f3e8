/* load.c - sends profiles again and again, each time with an id of its own: as gRPC over HTTP/2, or over HTTP/1.1.
 *
 *   bench/load [--http1] PORT REQUESTS CONNECTIONS STREAMS FILE...
 *
 * h2load sends the same bytes every time, which a store rightly takes for a profile that was sent again.  The files are sent in turn;
 * STREAMS requests are under way on each connection (HTTP/1.1: one).  Says how many were taken, refused for now (RESOURCE_EXHAUSTED
 * with RetryInfo, 429 with Retry-After) and failed, and the seconds. */
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
#include <strings.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { PREFIX = 5, ID = 16, EVENTS = 64, HEAD = 4096 };
/* bench/serve writes it into the files; the number of the request replaces it. */
static const char mark[ID] = "kiln-bench-id-00";

typedef struct message {
    uint8_t *p; /* with gRPC's prefix */
    size_t n, id_at;
} message;

typedef struct load {
    message *v;
    size_t n;
    bool http1;
    uint16_t port;
    uint64_t to_send, streams, next;
    uint64_t run; /* the first half of every id */
    uint64_t taken, refused, failed;
} load;

typedef struct request {
    const message *m;
    uint8_t id[ID];
    size_t sent;
    char status;   /* grpc-status: its first digit */
    bool may_come; /* RetryInfo */
} request;

typedef struct peer {
    load *of;
    int fd;
    uint64_t open;
    nghttp2_session *ng;
    const uint8_t *out; /* what the kernel did not take */
    size_t n_out;
    /* HTTP/1.1 */
    request at;
    char head[256], answer[HEAD];
    size_t n_head, n_answer, skip; /* skip: bytes of the answer's body */
    bool ends;                     /* the server closes the connection behind its answer */
} peer;

static bool next_request(load *l, request *r)
{
    if (l->next == l->to_send) return false;
    *r = (request){.m = &l->v[l->next % l->n]};
    memcpy(r->id, &l->run, 8);
    memcpy(r->id + 8, &l->next, 8);
    l->next++;
    return true;
}

/* ---- HTTP/2 ---- */

#define NV(name, value)                                                                            \
    {                                                                                              \
        (uint8_t *)(uintptr_t)(name), (uint8_t *)(uintptr_t)(value), sizeof(name) - 1,             \
            sizeof(value) - 1, NGHTTP2_NV_FLAG_NONE                                                \
    }

/* The message with the request's own id in it. */
static ssize_t read_message(nghttp2_session *ng, int32_t id, uint8_t *p, size_t max,
                            uint32_t *flags, nghttp2_data_source *from, void *who)
{
    (void)ng, (void)id, (void)who;
    request *r = from->ptr;
    const message *m = r->m;
    size_t n = m->n - r->sent < max ? m->n - r->sent : max;
    memcpy(p, m->p + r->sent, n);
    for (size_t i = 0; i < ID; i++) {
        size_t at = m->id_at + i;
        if (at >= r->sent && at < r->sent + n) p[at - r->sent] = r->id[i];
    }
    r->sent += n;
    if (r->sent == m->n) *flags |= NGHTTP2_DATA_FLAG_EOF;
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
        request *r = malloc(sizeof *r);
        if (!r || !next_request(l, r)) abort();
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

static void open_h2(peer *p)
{
    nghttp2_session_callbacks *cb;
    if (nghttp2_session_callbacks_new(&cb)) abort();
    nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
    if (nghttp2_session_client_new(&p->ng, cb, p)) abort();
    nghttp2_session_callbacks_del(cb);
    nghttp2_submit_settings(p->ng, NGHTTP2_FLAG_NONE, NULL, 0);
    submit(p);
}

static bool transmit_h2(peer *p)
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

/* ---- HTTP/1.1 ---- */

static void begin_h1(peer *p)
{
    if (!next_request(p->of, &p->at)) return;
    p->open = 1;
    p->n_head =
        (size_t)snprintf(p->head, sizeof p->head,
                         "POST /v1development/profiles HTTP/1.1\r\nhost: localhost\r\n"
                         "content-type: application/x-protobuf\r\ncontent-length: %zu\r\n\r\n",
                         p->at.m->n - PREFIX);
}

/* Head, message up to the id, the id, the rest: what of these was not sent yet. */
static bool transmit_h1(peer *p)
{
    while (p->open) {
        const message *m = p->at.m;
        struct iovec all[4] = {{p->head, p->n_head},
                               {m->p + PREFIX, m->id_at - PREFIX},
                               {p->at.id, ID},
                               {m->p + m->id_at + ID, m->n - m->id_at - ID}};
        size_t skip = p->at.sent, i = 0;
        for (; i < 4 && skip >= all[i].iov_len; i++) skip -= all[i].iov_len;
        if (i == 4) return true;
        all[i].iov_base = (char *)all[i].iov_base + skip;
        all[i].iov_len -= skip;
        ssize_t k = writev(p->fd, all + i, (int)(4 - i));
        if (k < 0) return errno == EAGAIN;
        p->at.sent += (size_t)k;
    }
    return true;
}

static const char *header_of(const char *head, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = head; (p = strstr(p, "\r\n")); p += 2)
        if (!strncasecmp(p + 2, name, n) && p[2 + n] == ':') return p + 3 + n;
    return NULL;
}

static void settle_h1(peer *p, const char *head)
{
    int status = atoi(head + sizeof "HTTP/1.1");
    if (status == 200)
        p->of->taken++;
    else if (status == 429 && header_of(head, "retry-after"))
        p->of->refused++;
    else
        p->of->failed++;
    p->open = 0;
    const char *how = header_of(head, "connection");
    p->ends = how && !strncasecmp(how, " close", 6);
    if (!p->ends) begin_h1(p);
}

/* false: no HTTP. */
static bool take_h1(peer *p, const uint8_t *bytes, size_t n)
{
    if (n > sizeof p->answer - 1 - p->n_answer) return false;
    memcpy(p->answer + p->n_answer, bytes, n);
    p->n_answer += n;
    for (;;) {
        size_t drop = p->skip < p->n_answer ? p->skip : p->n_answer;
        memmove(p->answer, p->answer + drop, p->n_answer - drop);
        p->skip -= drop, p->n_answer -= drop;
        p->answer[p->n_answer] = 0;
        char *end = p->n_answer ? strstr(p->answer, "\r\n\r\n") : NULL;
        if (!end) return true;
        end[2] = 0;
        const char *length = header_of(p->answer, "content-length");
        settle_h1(p, p->answer);
        p->skip = (size_t)(end - p->answer) + 4 + (length ? strtoull(length, NULL, 10) : 0);
    }
}

/* ---- both ---- */

static bool transmit(peer *p) { return p->of->http1 ? transmit_h1(p) : transmit_h2(p); }

static bool receive(peer *p)
{
    static uint8_t chunk[64 << 10];
    for (;;) {
        size_t max = p->of->http1 ? HEAD / 2 : sizeof chunk;
        ssize_t n = recv(p->fd, chunk, max, 0);
        if (n < 0 && errno == EAGAIN) return true;
        if (n <= 0) return false;
        if (p->of->http1 ? !take_h1(p, chunk, (size_t)n)
                         : nghttp2_session_mem_recv(p->ng, chunk, (size_t)n) < 0)
            return false;
        if (!p->of->http1) submit(p);
    }
}

static void open_peer(peer *p, load *l, int ep)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons(l->port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1;
    *p = (peer){.of = l, .fd = socket(AF_INET, SOCK_STREAM, 0)};
    if (connect(p->fd, (struct sockaddr *)&a, sizeof a)) perror("load"), exit(1);
    fcntl(p->fd, F_SETFL, O_NONBLOCK);
    setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (l->http1)
        begin_h1(p);
    else
        open_h2(p);
    epoll_ctl(ep, EPOLL_CTL_ADD, p->fd,
              &(struct epoll_event){.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = p});
}

static void lose(peer *p)
{
    p->of->failed += p->open;
    p->open = 0;
    close(p->fd);
    p->fd = -1;
}

static bool read_file(message *m, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) return perror(path), false;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    m->n = PREFIX + (size_t)size;
    if (!(m->p = calloc(1, m->n))) abort();
    for (int i = 0; i < 4; i++) m->p[1 + i] = (uint8_t)((uint64_t)size >> 8 * (3 - i));
    bool ok = fread(m->p + PREFIX, 1, (size_t)size, f) == (size_t)size;
    fclose(f);
    const uint8_t *id = memmem(m->p, m->n, mark, ID);
    if (!id) return fprintf(stderr, "load: no `%.16s` in %s\n", mark, path), false;
    m->id_at = (size_t)(id - m->p);
    return ok;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* false: nobody answers. */
static bool run(load *l, peer *peers, size_t n_peers, int ep)
{
    size_t alive = n_peers;
    for (size_t i = 0; i < n_peers; i++)
        if (!transmit(&peers[i])) lose(&peers[i]), alive--;
    while (alive && l->taken + l->refused + l->failed < l->to_send) {
        struct epoll_event ev[EVENTS];
        int n = epoll_wait(ep, ev, EVENTS, 30000);
        if (n == 0) return fprintf(stderr, "load: no answer for 30 s\n"), false;
        for (int i = 0; i < n; i++) {
            peer *p = ev[i].data.ptr;
            bool ok = p->fd < 0 || (receive(p) && transmit(p));
            if (!ok && !p->ends) lose(p), alive--;
            if (p->fd >= 0 && p->ends) close(p->fd), open_peer(p, l, ep);
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    load l = {.http1 = argc > 1 && !strcmp(argv[1], "--http1")};
    argc -= l.http1, argv += l.http1;
    if (argc < 6)
        return fprintf(stderr, "usage: load [--http1] PORT REQUESTS CONNECTIONS STREAMS FILE...\n"),
               2;
    l.port = (uint16_t)strtoul(argv[1], NULL, 10);
    l.to_send = strtoull(argv[2], NULL, 10), l.streams = strtoull(argv[4], NULL, 10);
    l.n = (size_t)(argc - 5);
    size_t n_peers = strtoull(argv[3], NULL, 10);
    peer *peers = calloc(n_peers, sizeof *peers);
    if (!(l.v = calloc(l.n, sizeof *l.v)) || !peers || getrandom(&l.run, 8, 0) != 8) return 1;
    for (size_t i = 0; i < l.n; i++)
        if (!read_file(&l.v[i], argv[5 + i])) return 1;
    int ep = epoll_create1(0);
    double began = now();
    for (size_t i = 0; i < n_peers; i++) open_peer(&peers[i], &l, ep);
    if (!run(&l, peers, n_peers, ep)) return 1;
    printf("{\"taken\": %" PRIu64 ", \"refused\": %" PRIu64 ", \"failed\": %" PRIu64
           ", \"seconds\": %.3f}\n",
           l.taken, l.refused, l.failed, now() - began);
    return 0;
}
