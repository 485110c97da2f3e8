/* load.c - sends profiles repeatedly, each time with a new id, as gRPC over HTTP/2 or over
 * HTTP/1.1.
 *
 *   bench/load [--http1 | --post PATH TYPE | --steady RATE] PORT REQUESTS CONNECTIONS STREAMS FILE...
 *
 * h2load sends the same bytes every time, which a store recognises as duplicates.  The files are
 * sent in turn; each connection has STREAMS concurrent requests (HTTP/1.1: one).  Prints how many
 * were accepted, rejected temporarily (RESOURCE_EXHAUSTED with RetryInfo, 429 with Retry-After) and
 * failed, and the time in seconds.
 *
 * --steady RATE behaves like an SDK that retries indefinitely: it starts RATE requests per second
 * (0: as many as are accepted), moves their times to now, reconnects when the server is restarted,
 * and repeats a request with the same id until the server acknowledges it.  It prints the counts
 * every second.  On SIGTERM it starts no new requests and exits when the open ones are
 * acknowledged. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <signal.h>
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
#define RETRY_S 0.25 /* pause before a rejected request or a lost connection is retried */
/* bench/serve writes this id into the files; the id of each request replaces it. */
static const char mark[ID] = "kiln-bench-id-00";
/* Start of the profile in the first file; each further profile starts a second later. */
#define FIRST_TIME UINT64_C(1789000000000000000)
#define DURATION UINT64_C(10000000000)

typedef struct message {
    uint8_t *p; /* starts with the prefix of gRPC */
    size_t n, id_at;
    uint32_t *time_at; /* --steady: offsets of the times in p */
    size_t n_times;
    uint64_t last_time;
} message;

typedef struct retry {
    uint64_t number;
    double due;
} retry;

typedef struct load {
    message *v;
    size_t n;
    bool http1;
    const char *path, *type; /* --post; NULL: OTLP */
    uint16_t port;
    uint64_t to_send, streams, next;
    uint64_t run; /* the first half of every id */
    uint64_t taken, refused, failed;
    /* --steady */
    bool steady;
    double rate, began;
    retry *again; /* ring of requests to repeat, ordered by `due` */
    size_t again_at, n_again, cap_again;
} load;

static volatile sig_atomic_t ending; /* set by SIGTERM */

typedef struct request {
    struct request *next, **link; /* list of the open requests of its connection */
    const message *m;
    uint64_t number;
    uint8_t id[ID];
    uint8_t *moved; /* --steady: the message with current times; NULL: send it as in the file */
    size_t sent;
    char status;   /* first digit of grpc-status */
    bool may_come; /* the response has RetryInfo */
} request;

typedef struct peer {
    load *of;
    int fd;
    uint64_t open;
    request *under_way;
    double back; /* when a lost connection is opened again */
    nghttp2_session *ng;
    const uint8_t *out; /* bytes that the kernel has not accepted yet */
    size_t n_out;
    /* HTTP/1.1 */
    request at;
    char head[256], answer[HEAD];
    size_t n_head, n_answer, skip; /* skip: remaining bytes of the response body */
    bool ends;                     /* the server closes the connection after this response */
} peer;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Sets *out to a request that is due for a retry, or to a new one.  Returns false when none may be
 * sent now. */
static bool next_number(load *l, uint64_t *out)
{
    if (l->n_again && l->again[l->again_at].due <= now()) {
        *out = l->again[l->again_at].number;
        l->again_at = (l->again_at + 1) % l->cap_again, l->n_again--;
        return true;
    }
    if (ending || l->next == l->to_send) return false;
    if (l->rate > 0 && (double)l->next > (now() - l->began) * l->rate) return false;
    *out = l->next++;
    return true;
}

static void try_again(load *l, uint64_t number)
{
    if (l->n_again == l->cap_again) {
        size_t cap = l->cap_again ? 2 * l->cap_again : 1024;
        retry *v = malloc(cap * sizeof *v);
        if (!v) abort();
        for (size_t i = 0; i < l->n_again; i++) v[i] = l->again[(l->again_at + i) % l->cap_again];
        free(l->again);
        l->again = v, l->again_at = 0, l->cap_again = cap;
    }
    l->again[(l->again_at + l->n_again++) % l->cap_again] = (retry){number, now() + RETRY_S};
}

/* Returns a copy of the message whose times end now. */
static uint8_t *move_times(const message *m)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    uint64_t by = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec - m->last_time, at;
    uint8_t *p = malloc(m->n);
    if (!p) abort();
    memcpy(p, m->p, m->n);
    for (size_t i = 0; i < m->n_times; i++) {
        memcpy(&at, p + m->time_at[i], 8);
        at += by;
        memcpy(p + m->time_at[i], &at, 8);
    }
    return p;
}

static bool next_request(load *l, request *r)
{
    uint64_t number;
    if (!next_number(l, &number)) return false;
    *r = (request){.m = &l->v[number % l->n], .number = number};
    memcpy(r->id, &l->run, 8);
    memcpy(r->id + 8, &number, 8);
    if (l->path) { /* the mark is text */
        char hex[ID + 1];
        snprintf(hex, sizeof hex, "%016" PRIx64, l->run + number);
        memcpy(r->id, hex, ID);
    }
    if (l->steady) r->moved = move_times(r->m);
    return true;
}

static void free_request(request *r)
{
    *r->link = r->next;
    if (r->next) r->next->link = r->link;
    free(r->moved);
    free(r);
}

/* ---- HTTP/2 ---- */

#define NV(name, value)                                                                            \
    {                                                                                              \
        (uint8_t *)(uintptr_t)(name), (uint8_t *)(uintptr_t)(value), sizeof(name) - 1,             \
            sizeof(value) - 1, NGHTTP2_NV_FLAG_NONE                                                \
    }

/* Reads the message, with the id of the request inserted. */
static ssize_t read_message(nghttp2_session *ng, int32_t id, uint8_t *p, size_t max,
                            uint32_t *flags, nghttp2_data_source *from, void *ctx)
{
    (void)ng, (void)id, (void)ctx;
    request *r = from->ptr;
    const message *m = r->m;
    size_t n = m->n - r->sent < max ? m->n - r->sent : max;
    memcpy(p, (r->moved ? r->moved : m->p) + r->sent, n);
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
    while (p->open < l->streams) {
        request *r = malloc(sizeof *r);
        if (!r) abort();
        if (!next_request(l, r)) {
            free(r);
            return;
        }
        r->next = p->under_way, r->link = &p->under_way, p->under_way = r;
        if (r->next) r->next->link = &r->next;
        nghttp2_data_provider d = {.source.ptr = r, .read_callback = read_message};
        if (nghttp2_submit_request(p->ng, NULL, head, sizeof head / sizeof *head, &d, r) < 0)
            abort();
        p->open++;
    }
}

static int on_header(nghttp2_session *ng, const nghttp2_frame *f, const uint8_t *name,
                     size_t n_name, const uint8_t *value, size_t n_value, uint8_t flags, void *ctx)
{
    (void)flags, (void)ctx;
    request *r = nghttp2_session_get_stream_user_data(ng, f->hd.stream_id);
    if (r && n_name == 11 && !memcmp(name, "grpc-status", 11) && n_value) r->status = (char)*value;
    if (r && n_name == 23 && !memcmp(name, "grpc-status-details-bin", 23)) r->may_come = true;
    return 0;
}

static int on_close(nghttp2_session *ng, int32_t id, uint32_t code, void *ctx)
{
    (void)code;
    peer *p = ctx;
    request *r = nghttp2_session_get_stream_user_data(ng, id);
    if (!r) return 0;
    if (r->status == '0')
        p->of->taken++;
    else if (r->status == '8' && r->may_come)
        p->of->refused++;
    else
        p->of->failed++;
    if (p->of->steady && r->status != '0') try_again(p->of, r->number);
    p->open--;
    free_request(r);
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
                         "POST %s HTTP/1.1\r\nhost: localhost\r\ncontent-type: %s\r\n"
                         "content-length: %zu\r\n\r\n",
                         p->of->path ? p->of->path : "/v1development/profiles",
                         p->of->path ? p->of->type : "application/x-protobuf", p->at.m->n - PREFIX);
}

/* Sends the rest of: header, message up to the id, id, remaining message. */
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

/* Returns false when the response is too long or not HTTP. */
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
    if (connect(p->fd, (struct sockaddr *)&a, sizeof a)) {
        if (!l->steady) perror("load"), exit(1);
        close(p->fd);
        p->fd = -1, p->back = now() + RETRY_S;
        return;
    }
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
    for (request *r; p->of->steady && (r = p->under_way); free_request(r))
        try_again(p->of, r->number);
    if (p->of->steady) nghttp2_session_del(p->ng), p->ng = NULL;
    p->of->failed += p->open;
    p->open = 0;
    close(p->fd);
    p->fd = -1, p->back = now() + RETRY_S;
}

/* Finds the times in a message: they are less than a minute after `first`. */
static void find_times(message *m, uint64_t first)
{
    m->last_time = first + DURATION;
    m->time_at = malloc(m->n / 8 * sizeof *m->time_at);
    if (!m->time_at) abort();
    for (size_t i = PREFIX; i + 8 <= m->n; i++) {
        uint64_t at;
        memcpy(&at, m->p + i, 8);
        if (at - first < UINT64_C(60000000000)) m->time_at[m->n_times++] = (uint32_t)i, i += 7;
    }
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

/* ---- --steady ---- */

static void print_counts(const load *l)
{
    printf("{\"sent\": %" PRIu64 ", \"taken\": %" PRIu64 ", \"refused\": %" PRIu64
           ", \"failed\": %" PRIu64 ", \"seconds\": %.3f}\n",
           l->next, l->taken, l->refused, l->failed, now() - l->began);
    fflush(stdout);
}

static bool go_on(peer *p)
{
    submit(p);
    return transmit(p);
}

/* Runs until every request is acknowledged. */
static void run_steadily(load *l, peer *peers, size_t n_peers, int ep)
{
    double next_print = l->began + 1;
    while (l->taken < l->to_send && !(ending && l->taken == l->next)) {
        struct epoll_event ev[EVENTS];
        int n = epoll_wait(ep, ev, EVENTS, 2);
        for (int i = 0; i < n; i++) {
            peer *p = ev[i].data.ptr;
            if (p->fd >= 0 && !(receive(p) && transmit(p))) lose(p);
        }
        for (size_t i = 0; i < n_peers; i++) {
            peer *p = &peers[i];
            if (p->fd < 0 && now() >= p->back) open_peer(p, l, ep);
            if (p->fd >= 0 && p->open < l->streams && !go_on(p)) lose(p);
        }
        if (now() >= next_print) print_counts(l), next_print += 1;
    }
}

static void on_term(int sig)
{
    (void)sig;
    ending = 1;
}

/* ---- once ---- */

/* Returns false when the server does not respond. */
static bool run(load *l, peer *peers, size_t n_peers, int ep)
{
    size_t alive = n_peers;
    for (size_t i = 0; i < n_peers; i++)
        if (!transmit(&peers[i])) lose(&peers[i]), alive--;
    while (alive && l->taken + l->refused + l->failed < l->to_send) {
        struct epoll_event ev[EVENTS];
        int n = epoll_wait(ep, ev, EVENTS, 30000);
        if (n == 0) return fprintf(stderr, "load: no response for 30 s\n"), false;
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
    load l = {.http1 = argc > 1 && !strcmp(argv[1], "--http1"),
              .steady = argc > 2 && !strcmp(argv[1], "--steady")};
    if (l.steady) l.rate = strtod(argv[2], NULL);
    if (argc > 3 && !strcmp(argv[1], "--post")) l.path = argv[2], l.type = argv[3];
    int n_options = l.path ? 3 : l.http1 + 2 * l.steady;
    l.http1 |= l.path != NULL;
    argc -= n_options, argv += n_options;
    if (argc < 6)
        return fprintf(stderr, "usage: load [--http1 | --post PATH TYPE | --steady RATE] PORT "
                               "REQUESTS CONNECTIONS STREAMS FILE...\n"),
               2;
    l.port = (uint16_t)strtoul(argv[1], NULL, 10);
    l.to_send = strtoull(argv[2], NULL, 10), l.streams = strtoull(argv[4], NULL, 10);
    l.n = (size_t)(argc - 5);
    size_t n_peers = strtoull(argv[3], NULL, 10);
    peer *peers = calloc(n_peers, sizeof *peers);
    if (!(l.v = calloc(l.n, sizeof *l.v)) || !peers || getrandom(&l.run, 8, 0) != 8) return 1;
    for (size_t i = 0; i < l.n; i++)
        if (!read_file(&l.v[i], argv[5 + i])) return 1;
    for (size_t i = 0; l.steady && i < l.n; i++) find_times(&l.v[i], FIRST_TIME + i * 1000000000);
    signal(SIGTERM, on_term);
    signal(SIGPIPE, SIG_IGN);
    int ep = epoll_create1(0);
    l.began = now();
    for (size_t i = 0; i < n_peers; i++) open_peer(&peers[i], &l, ep);
    if (l.steady)
        run_steadily(&l, peers, n_peers, ep);
    else if (!run(&l, peers, n_peers, ep))
        return 1;
    print_counts(&l);
    return 0;
}
