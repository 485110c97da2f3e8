/* net/http1.h - HTTP/1.1: parses messages incrementally and writes headers.  No I/O. Clients parse
 * responses, servers parse requests.  The parser is strict where two parsers could disagree about
 * the end of a message (RFC 9112 section 6.3), lenient elsewhere. */
#pragma once
#include "net/message.h"

typedef enum http1_kind { HTTP1_RESPONSE, HTTP1_REQUEST } http1_kind;

typedef enum http1_state {
    HTTP1_START,       /* the first line */
    HTTP1_HEAD,        /* header lines */
    HTTP1_BODY,        /* `left` bytes remain of a known length */
    HTTP1_CHUNK,       /* the line with the length of a chunk */
    HTTP1_CHUNK_BYTES, /* `left` bytes of the chunk remain */
    HTTP1_CHUNK_END,   /* the empty line after a chunk */
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
    size_t n_lines; /* bytes of lines so far, at most HTTP_MAX_HEAD */
    uint64_t left;
    uint64_t at;                       /* bytes consumed so far: the offset of errors */
    bool keeps;                        /* the connection stays open after this message */
    bool minor;                        /* HTTP/1.1, not 1.0 */
    bool closes;                       /* "Connection: close" was sent */
    bool began;                        /* the first byte has arrived */
    bool chunked, has_length, expects; /* expects: the client waits for 100 Continue */
    unsigned n_hosts;
    /* Requests: called when the headers are complete.  May change m->body.limit, or set m->failure
     * so that the body is not read.  NULL: accept all requests. */
    void (*admit)(void *ctx, http_message *m);
    void *ctx;
} http1;

/* Begins a message.  `m` must be empty except for m->body.limit.  A request that sets m->failure
 * ends in HTTP1_DONE with `keeps` false, because the start of the next request is unknown. */
void http1_begin(http1 *h, http1_kind kind, http_message *m);

/* Consumes bytes up to the end of the message and leaves the rest in *in.  Then h->state is
 * HTTP1_DONE, or more input is required.  Skips interim responses (1xx).  Fails with ERR_MALFORMED
 * (with the byte offset) or ERR_LIMIT. */
NODISCARD bool http1_feed(http1 *h, str *in, err *e);

/* Called when the peer has closed the connection.  Returns whether the message is complete. */
NODISCARD bool http1_end(http1 *h, err *e);

/* Writes "POST /v1/logs HTTP/1.1", Host, Content-Length and the given headers.  ERR_USAGE: a value
 * contains control characters. */
NODISCARD bool http1_put_request(buf *b, str method, str path, str authority, const http_header *h,
                                 size_t n, size_t body_bytes, err *e);
NODISCARD bool http1_put_response(buf *b, unsigned status, const http_header *h, size_t n,
                                  size_t body_bytes, err *e);

/* Return whether a name or value is valid in a header.  Names are tokens.  Values contain no
 * control characters except tabs. */
bool http_name_valid(str name);
bool http_value_valid(str value);
