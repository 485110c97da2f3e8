/* net/http_server_parts.h - internals of the HTTP server, shared by http_server.c (listening,
 * limits), http_server_client.c (lifetime and memory of a client), http_server_input.c (requests),
 * http_server_response.c and http_server_file.c (responses). */
#pragma once
#include "net/conn.h"
#include "net/h2.h"
#include "net/http1.h"
#include "net/http_server.h"

enum { LISTENERS = 16 };

typedef struct client client;

typedef struct listener {
    http_server *s;
    loop_watch watch;
    bool plain, tls; /* what clients may use */
    bool loopback;
} listener;

struct http_exchange {
    client *of;
    http_exchange *next, **back; /* list of its client */
    http_message *m;
    int32_t stream;
    void *user;
};

typedef enum speaks { SPEAKS_UNKNOWN, SPEAKS_HTTP1, SPEAKS_HTTP2 } speaks;

struct client {
    http_server *s;
    const listener *from;
    client *next, *prev; /* sorted by time of last activity */
    loop_watch first;    /* waits for the first byte; afterwards fd is -1 */
    conn *conn;
    speaks speaks;
    h2 *h2;
    http1 *http1;
    http_message message; /* HTTP/1.1: the current request */
    buf rest;             /* unprocessed input: the protocol is unknown, or a response is pending */
    http_exchange *exchanges;
    loop_timer tick;
    loop_timer passing;   /* HTTP/2: resets lingering streams */
    loop_timer turn;      /* continues with `rest`, or with sending */
    uint64_t since;       /* when the client became idle or began to send headers */
    uint64_t in;          /* bytes of requests so far */
    uint64_t in0, acked0; /* values of `in` and conn_acked at the last tick */
    unsigned slow;        /* ticks below min_rate in a row */
    spill file;           /* HTTP/1.1: the current response, from file_at on */
    uint64_t file_at;
    uint64_t files; /* bytes of files, included in the server's total */
    uint64_t files_since, files_acked;
    size_t owed;         /* bytes of pending responses, included in the server's total */
    uint64_t owes_since; /* since when responses are pending; 0: none */
    uint64_t owes_acked; /* conn_acked at that time */
    bool reading;        /* a request has begun (HTTP/2: as of the last input) */
    bool closing;        /* close when everything is sent */
    bool unread;         /* the response was sent before the request was complete */
    bool lingers;        /* everything is sent; waits for the peer to close, or LINGER_NS */
    bool busy, dead;     /* busy: a callback runs; dead: free after it */
    bool feeding;        /* HTTP/2: responses are flushed after this call */
    uint64_t turn_no;    /* HTTP/2: the turn of the loop that `work` belongs to */
    h2_work work;
    char peer[72];
};

struct http_server {
    loop *loop;
    http_limits o;
    http_server_events ev;
    tls_context *tls;
    listener listeners[LISTENERS];
    size_t n_listeners;
    client *oldest, *newest;
    http_pool pool;
    size_t owed;    /* bytes of pending responses */
    client *large;  /* the client whose large response may exceed the limit; NULL: none */
    size_t large_n; /* bytes of that response */
    http_server_counts n;
    uint64_t turn_no;   /* the turn of the loop that `work` belongs to */
    h2_work work;       /* work of all clients in that turn */
    loop_timer drain;   /* end of the grace period while draining */
    loop_timer evicted; /* responds to evicted requests */
    loop_timer rest;    /* pauses accepting while no descriptor is free */
    bool draining;
    bool evicting; /* the list of clients is being traversed */
};

/* ---- http_server_client.c ---- */

void client_enlist(client *c);
bool client_is_reading(const client *c);
bool client_is_in_head(const client *c); /* the headers are incomplete */
bool client_is_idle(const client *c);    /* no open request; a response may still be in transit */

void client_give_back_rest(client *c);
void client_count_owed(client *c); /* call after any change of pending responses */
/* Returns whether pending responses exceed the limit. */
bool http_server_is_overloaded(const http_server *s);
bool client_fits(const client *c, size_t n);
/* Marks c as the client whose large response may exceed the limit, if it needs that and no other
 * client is marked. */
void client_claim_large(client *c, size_t n);
/* Closes clients that do not read their responses, while these exceed the limit. */
void http_server_collect_owed(http_server *s);

/* Code that runs callbacks is enclosed by these two calls, because a callback may end the
 * client. */
bool client_enter(client *c);
void client_leave(client *c, bool outer);
void client_end(client *c);
void client_end_counted(client *c, uint64_t *counter);
/* Closes an idle client in favour of another. */
void client_end_idle(client *c, uint64_t *counter);
void client_close_when_out(client *c);
void client_free_exchange(http_exchange *x);

void client_flush_h2(client *c);    /* sends pending HTTP/2 frames */
void client_send_goaway(client *c); /* HTTP/2: GOAWAY */
void client_watch_clock(client *c, uint64_t now);
void client_on_tick(void *ctx);
void client_on_passing(void *ctx);
bool client_has_unread(const client *c); /* the socket or `rest` has unread input */
void client_refresh(client *c);          /* called after a request or a response */

/* ---- http_server_file.c ---- */

void client_count_files(client *c); /* called by client_count_owed */
void client_send_file(client *c);   /* HTTP/1.1: sends as much as the socket accepts */

/* ---- http_server_input.c ---- */

void client_on_first(void *ctx, uint32_t events);
void client_on_turn(void *ctx);
void client_next_request(client *c); /* HTTP/1.1: reads the next request */
void http_server_on_evicted(void *ctx);
