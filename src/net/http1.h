/* net/http1.h - HTTP/1.1 as bytes: messages put together as pieces arrive, heads written.  Pure.
 *
 * Both directions: a client reads responses, a server requests.  Strict where two readers could disagree on
 * where a message ends (RFC 9112 section 6.3), generous elsewhere. */
#pragma once
#include "net/message.h"

typedef enum http1_kind { HTTP1_RESPONSE, HTTP1_REQUEST } http1_kind;

typedef enum http1_state {
    HTTP1_START,       /* the first line */
    HTTP1_HEAD,        /* header lines */
    HTTP1_BODY,        /* `left` bytes of a known length */
    HTTP1_CHUNK,       /* the line with a chunk's length */
    HTTP1_CHUNK_BYTES, /* `left` bytes of it */
    HTTP1_CHUNK_END,   /* the empty line behind it */
    HTTP1_TRAILERS,
    HTTP1_UNTIL_END, /* a body that ends with the connection */
    HTTP1_DONE,
    HTTP1_FAILED,
} http1_state;

typedef struct http1 {
    http1_kind kind;
    http1_state state;
    http_message *m; /* being filled */
    char line[8 << 10];
    size_t n_line;
    size_t n_lines; /* bytes of lines so far, against HTTP_MAX_HEAD */
    uint64_t left;
    uint64_t at;                       /* bytes taken so far: the offset of errors */
    bool keeps;                        /* the connection may carry another message after this one */
    bool minor;                        /* HTTP/1.1, not 1.0 */
    bool closes;                       /* "Connection: close" was said */
    bool began;                        /* a byte of it was seen */
    bool chunked, has_length, expects; /* expects: the client waits for 100 Continue */
    unsigned n_hosts;
    /* Requests: the head is there.  Sets the limit of the body, and may set m->trouble: then none is read.  NULL:
     * everybody is welcome. */
    void (*admit)(void *who, http_message *m);
    void *who;
} http1;

/* Begins a message; `m` is empty and has its limit in m->body.limit.  Of a request with trouble the state is HTTP1_DONE and
 * `keeps` false: nobody knows where the next one would begin. */
void http1_begin(http1 *h, http1_kind kind, http_message *m);

/* Takes bytes up to the end of the message; *in keeps what lies behind it.  After it h->state is
 * HTTP1_DONE or another piece is wanted.  ERR_MALFORMED with the byte, ERR_LIMIT.  Interim responses (1xx)
 * are passed over. */
NODISCARD bool http1_feed(http1 *h, str *in, err *e);

/* The peer will send no more: is the message complete? */
NODISCARD bool http1_end(http1 *h, err *e);

/* "POST /v1/logs HTTP/1.1", Host, Content-Length and the headers given.  Values are checked: ERR_USAGE
 * for what could begin a line of its own. */
NODISCARD bool http1_put_request(buf *b, str method, str path, str authority, const http_header *h,
                                 size_t n, size_t body_bytes, err *e);
NODISCARD bool http1_put_response(buf *b, unsigned status, const http_header *h, size_t n,
                                  size_t body_bytes, err *e);

/* May stand in a header: visible characters, blanks, tabs and bytes beyond ASCII; names are tokens. */
bool http_name_valid(str name);
bool http_value_valid(str value);
