/* net/http_server_parts.h - what the files of the server share: http_server.c (listening, limits), http_server_client.c (the life of
 * a client), http_server_talk.c (what comes), http_server_answer.c (what leaves). */
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
    bool plain, tls; /* what clients may speak */
    bool loopback;
} listener;

struct http_exchange {
    client *of;
    http_exchange *next, **back; /* of its client */
    http_message *m;
    int32_t stream;
    void *user;
};

typedef enum speaks { SPEAKS_UNKNOWN, SPEAKS_HTTP1, SPEAKS_HTTP2 } speaks;

struct client {
    http_server *s;
    const listener *from;
    client *next, *prev; /* the one that was idle longest comes first */
    loop_watch first;    /* until its first byte is seen; fd -1 afterwards */
    conn *conn;
    speaks speaks;
    h2 *h2;
    http1 *http1;
    http_message message; /* HTTP/1.1: the request at hand */
    buf rest;             /* bytes that wait: for the protocol to be known, for an answer */
    http_exchange *exchanges;
    loop_timer tick;
    loop_timer passing;   /* HTTP/2: streams that linger */
    loop_timer turn;      /* HTTP/1.1: there is more in `rest`; HTTP/2: to be sent */
    uint64_t since;       /* of the state that the clock measures: no request, a head */
    uint64_t in;          /* bytes of requests so far */
    uint64_t in0, acked0; /* at the last tick */
    unsigned slow;        /* ticks without min_rate */
    spill file;           /* HTTP/1.1: the response at hand, from file_at on */
    uint64_t file_at;
    uint64_t files; /* bytes of files, as counted in the server's */
    uint64_t files_since, files_acked;
    size_t owed;         /* bytes that answers hold, as counted in the server's */
    uint64_t owes_since; /* 0: nothing */
    uint64_t owes_acked; /* conn_acked then */
    bool reading;        /* a request has begun (HTTP/2: when bytes came last) */
    bool closing;        /* as soon as all is out */
    bool unread;         /* HTTP/1.1: answered before all of the request came */
    bool lingers;        /* all is out; until the peer has heard it, or LINGER_NS */
    bool busy, dead;     /* an event is under way; freed after it */
    bool feeding;        /* HTTP/2: what is answered now goes out right after */
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
    size_t owed;    /* bytes that answers hold */
    client *large;  /* the one whose large answer is let out besides the others; NULL: none */
    size_t large_n; /* its bytes */
    http_server_counts n;
    uint64_t turn_no;  /* the turn of the loop that `work` belongs to */
    h2_work work;      /* of all clients */
    loop_timer drain;  /* connections that may have been busy end now */
    loop_timer relief; /* requests were let go for others: they are to be answered */
    loop_timer rest;   /* from accepting, when there are no descriptors */
    bool draining;
    bool relieving; /* the list of clients is being walked */
};

/* ---- http_server_client.c ---- */

void client_enlist(client *c);
bool client_is_reading(const client *c);
bool client_is_heading(const client *c); /* nothing but a part of a head has come */
bool client_is_idle(const client *c);    /* asks for nothing; it may still be taking an answer */

void client_give_back_rest(client *c);
void client_count_owed(client *c); /* after anything that may change what waits for it */
/* There is less room than the limit has. */
bool http_server_is_pressed(const http_server *s);
bool client_fits(const client *c, size_t n);
/* Takes the place of the large answer, when it is needed and free. */
void client_claim_large(client *c, size_t n);
/* Closes who does not take its answers, while too many wait. */
void http_server_collect_owed(http_server *s);

/* Brackets: what is called back may end the client. */
bool client_enter(client *c);
void client_leave(client *c, bool outer);
void client_end(client *c);
void client_end_counted(client *c, uint64_t *counter);
/* It has nothing under way, and another one needs the place. */
void client_end_idle(client *c, uint64_t *counter);
void client_close_when_out(client *c);
void client_free_exchange(http_exchange *x);

void client_flush_h2(client *c);    /* what HTTP/2 has to say, as much as is taken */
void client_say_goodbye(client *c); /* HTTP/2: GOAWAY */
void client_watch_clock(client *c, uint64_t now);
void client_on_tick(void *who);
void client_on_passing(void *who);
bool client_has_spoken(const client *c); /* bytes of it wait to be read */
void client_refresh(client *c);          /* something was asked or answered */

/* ---- http_server_file.c ---- */

void client_count_files(client *c); /* as client_count_owed, which calls it */
void client_send_file(client *c);   /* HTTP/1.1: as much as is taken */

/* ---- http_server_talk.c ---- */

void client_on_first(void *who, uint32_t events);
void client_on_turn(void *who);
void client_go_on(client *c); /* HTTP/1.1: the next request */
void http_server_on_relief(void *who);
