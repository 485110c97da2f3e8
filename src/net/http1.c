/* An incremental parser.  It collects lines in a buffer and appends bodies to the message directly.
 * It rejects everything that allows request smuggling. */
#include "net/http1.h"
#include "base/text.h"

#include "base/ban.h"
#include <strings.h>

/* ---- tokens ---- */

static bool is_token(unsigned char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

bool http_name_valid(str name)
{
    for (size_t i = 0; i < name.n; i++)
        if (!is_token((unsigned char)name.p[i])) return false;
    return name.n > 0;
}

bool http_value_valid(str value)
{
    for (size_t i = 0; i < value.n; i++) {
        unsigned char c = (unsigned char)value.p[i];
        if ((c < ' ' && c != '\t') || c == 127) return false;
    }
    return true;
}

static bool is_word(str s, const char *word)
{
    size_t n = strlen(word);
    return s.n == n && !strncasecmp(s.p, word, n);
}

/* Returns whether a comma-separated list contains the word. */
static bool has_word(str list, const char *word)
{
    while (list.n) {
        const char *comma = memchr(list.p, ',', list.n);
        size_t n = comma ? (size_t)(comma - list.p) : list.n;
        if (is_word(str_trim((str){list.p, n}), word)) return true;
        n += comma != NULL;
        list = (str){list.p + n, list.n - n};
    }
    return false;
}

static bool fail(http1 *h, err *e, const char *what)
{
    h->state = HTTP1_FAILED;
    return err_at(e, ERR_MALFORMED, h->at, "%s", what);
}

void http1_begin(http1 *h, http1_kind kind, http_message *m)
{
    h->kind = kind, h->state = HTTP1_START, h->m = m;
    h->n_line = h->n_lines = 0;
    h->left = h->at = 0;
    h->keeps = h->began = h->closes = h->chunked = h->has_length = h->expects = false;
    h->n_hosts = 0;
    h->admit = NULL, h->ctx = NULL;
}

/* ---- the first line ---- */

static bool take_version(http1 *h, str v, err *e)
{
    if (v.n != 8 || memcmp(v.p, "HTTP/1.", 7) != 0 || v.p[7] < '0' || v.p[7] > '9')
        return fail(h, e, "this is not HTTP/1.1");
    h->keeps = h->minor = v.p[7] != '0';
    return true;
}

static bool take_status(http1 *h, str line, err *e)
{
    if (line.n < 12 || line.p[8] != ' ') return fail(h, e, "this is not an HTTP/1.1 response");
    if (!take_version(h, (str){line.p, 8}, e)) return false;
    const char *d = line.p + 9;
    unsigned status = 0;
    for (int i = 0; i < 3; i++) {
        if (d[i] < '0' || d[i] > '9')
            return fail(h, e, "the status is not a number of three digits");
        status = status * 10 + (unsigned)(d[i] - '0');
    }
    if (status < 100 || status > 599 || (line.n > 12 && line.p[12] != ' '))
        return fail(h, e, "the status is not a number of three digits");
    h->m->status = status;
    return true;
}

/* Removes scheme and host from the absolute form "http://host:4318/v1/logs", which servers must
 * accept (RFC 9112 section 3.2.2). */
static str path_of(str target)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        size_t n = strlen(schemes[i]);
        if (target.n <= n || strncasecmp(target.p, schemes[i], n) != 0) continue;
        const char *slash = memchr(target.p + n, '/', target.n - n);
        if (!slash) return STR("/");
        return (str){slash, target.n - (size_t)(slash - target.p)};
    }
    return target;
}

static bool is_visible(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 127) return false;
    return s.n > 0;
}

static bool take_request(http1 *h, str line, err *e)
{
    const char *a = memchr(line.p, ' ', line.n);
    str rest = a ? (str){a + 1, line.n - (size_t)(a - line.p) - 1} : (str){0};
    const char *b = rest.n ? memchr(rest.p, ' ', rest.n) : NULL;
    if (!b) return fail(h, e, "this is not an HTTP/1.1 request");
    str method = {line.p, (size_t)(a - line.p)}, target = {rest.p, (size_t)(b - rest.p)};
    if (!http_name_valid(method) || !is_visible(target))
        return fail(h, e, "this is not an HTTP/1.1 request");
    if (!http_message_copy_head(h->m, method, &h->m->method, e) ||
        !http_message_copy_head(h->m, path_of(target), &h->m->path, e)) {
        h->state = HTTP1_FAILED;
        return false;
    }
    return take_version(h, (str){b + 1, rest.n - target.n - 1}, e);
}

/* ---- header lines ---- */

static bool take_length(http1 *h, str value, err *e)
{
    uint64_t v = 0;
    for (size_t i = 0; i < value.n; i++)
        if (value.p[i] < '0' || value.p[i] > '9' || ckd_mul(&v, v, 10u) ||
            ckd_add(&v, v, (unsigned)(value.p[i] - '0')))
            return fail(h, e, "Content-Length is not a number");
    if (!value.n) return fail(h, e, "Content-Length is not a number");
    if (h->has_length && v != h->left) return fail(h, e, "two Content-Length headers that differ");
    h->has_length = true;
    h->left = v;
    return true;
}

static bool take_header(http1 *h, str name, str value, err *e)
{
    if (is_word(name, "content-length")) return take_length(h, value, e);
    if (is_word(name, "transfer-encoding")) {
        if (h->chunked || !is_word(value, "chunked"))
            return fail(h, e, "a Transfer-Encoding other than `chunked`");
        h->chunked = true;
    }
    if (is_word(name, "connection")) { /* close takes precedence (RFC 9112 section 9.3) */
        h->closes |= has_word(value, "close");
        h->keeps = !h->closes && (h->keeps || has_word(value, "keep-alive"));
    }
    if (is_word(name, "expect")) h->expects = h->minor && is_word(value, "100-continue");
    h->n_hosts += is_word(name, "host");
    return true;
}

static bool take_field(http1 *h, str line, http_headers *to, err *e)
{
    const char *colon = memchr(line.p, ':', line.n);
    str name = {line.p, colon ? (size_t)(colon - line.p) : 0};
    if (!colon || !http_name_valid(name)) return fail(h, e, "a header line without a name");
    str value = str_trim((str){colon + 1, line.n - name.n - 1});
    if (!http_value_valid(value)) return fail(h, e, "a header with a control character");
    if (to == &h->m->head && !take_header(h, name, value, e)) return false;
    if (!http_message_add(h->m, to, name, value, e)) {
        h->state = HTTP1_FAILED;
        return false;
    }
    if (to == &h->m->head && is_word(name, "host")) h->m->authority = to->v[to->n - 1].value;
    return true;
}

static void give_up_request(http1 *h)
{
    h->state = HTTP1_DONE;
    h->keeps = false;
}

/* Checks the Host header and calls `admit`.  A request that is too large is delivered with a
 * failure, so that it gets a response. */
static bool end_request_head(http1 *h, err *e)
{
    if (h->n_hosts != 1 && (h->n_hosts || h->minor))
        return fail(h, e, h->n_hosts ? "two Host headers" : "no Host header");
    if (h->admit) h->admit(h->ctx, h->m);
    if (h->state == HTTP1_BODY && h->m->body.limit && h->left > h->m->body.limit && !h->m->failure)
        h->m->failure = HTTP_TOO_LARGE;
    if (h->m->failure) give_up_request(h);
    if (h->state == HTTP1_BODY) h->m->expected = h->left;
    return true;
}

/* Called at the empty line after the headers.  Determines how the body is read. */
static bool end_head(http1 *h, err *e)
{
    unsigned s = h->m->status;
    bool response = h->kind == HTTP1_RESPONSE;
    if (h->chunked && h->has_length) return fail(h, e, "both Content-Length and chunked encoding");
    if (h->chunked && !h->minor && !response) return fail(h, e, "chunked encoding in HTTP/1.0");
    if (response && s >= 100 && s < 200) { /* interim: the final response follows */
        if (s == 101) return fail(h, e, "the peer switches protocols without being asked");
        http_message_reset(h->m);
        h->state = HTTP1_START, h->has_length = h->chunked = false, h->left = 0;
        return true;
    }
    if (response && (s == 204 || s == 304))
        h->state = HTTP1_DONE;
    else if (h->chunked)
        h->state = HTTP1_CHUNK;
    else if (h->has_length || !response)
        h->state = h->left ? HTTP1_BODY : HTTP1_DONE;
    else
        h->state = HTTP1_UNTIL_END, h->keeps = false;
    if (!response) return end_request_head(h, e);
    size_t limit = h->m->body.limit;
    if (h->state != HTTP1_BODY || !limit || h->left <= limit) return true;
    h->state = HTTP1_FAILED;
    return err_set(e, ERR_LIMIT, "the body is larger than the limit of %zu bytes", limit);
}

static bool take_chunk_size(http1 *h, str line, err *e)
{
    uint64_t v = 0;
    size_t i = 0;
    for (; i < line.n && i < 16; i++) {
        int d = hex_digit(line.p[i]);
        if (d < 0) break;
        v = v << 4 | (unsigned)d;
    }
    str more = str_trim((str){line.p + i, line.n - i}); /* chunk extensions are ignored */
    if (!i || v >> 60 || (more.n && (more.p[0] != ';' || !http_value_valid(more))))
        return fail(h, e, "a chunk without a length");
    h->n_lines += more.n;
    if (h->n_lines > HTTP_MAX_HEAD) return fail(h, e, "chunk extensions are too long");
    h->left = v;
    h->state = v ? HTTP1_CHUNK_BYTES : HTTP1_TRAILERS;
    return true;
}

static bool take_line(http1 *h, str line, err *e)
{
    switch (h->state) {
    case HTTP1_START:
        if (!line.n && h->kind == HTTP1_REQUEST) return true; /* RFC 9112 section 2.2 */
        h->state = HTTP1_HEAD;
        return h->kind == HTTP1_RESPONSE ? take_status(h, line, e) : take_request(h, line, e);
    case HTTP1_HEAD: return line.n ? take_field(h, line, &h->m->head, e) : end_head(h, e);
    case HTTP1_CHUNK: return take_chunk_size(h, line, e);
    case HTTP1_CHUNK_END:
        h->state = HTTP1_CHUNK;
        return !line.n || fail(h, e, "a chunk is longer than its stated length");
    case HTTP1_TRAILERS:
        if (line.n) return take_field(h, line, &h->m->trailers, e);
        h->state = HTTP1_DONE;
        return true;
    default: return true;
    }
}

/* ---- bytes ---- */

static void take(http1 *h, str *in, size_t n)
{
    *in = (str){in->p + n, in->n - n};
    h->at += n;
}

static bool feed_line(http1 *h, str *in, err *e)
{
    const char *end = memchr(in->p, '\n', in->n);
    size_t n = end ? (size_t)(end - in->p) + 1 : in->n;
    bool body = h->state == HTTP1_CHUNK ||
                h->state == HTTP1_CHUNK_END; /* the number of chunks is not limited */
    if (n > sizeof h->line - h->n_line || (!body && h->n_lines + n > HTTP_MAX_HEAD)) {
        h->state = HTTP1_FAILED;
        return err_at(e, ERR_LIMIT, h->at, "a header line, or all headers together, are too long");
    }
    memcpy(h->line + h->n_line, in->p, n);
    h->n_line += n;
    if (!body) h->n_lines += n;
    take(h, in, n);
    if (!end) return true;
    str line = {h->line, h->n_line - 1};
    bool whole = line.n && line.p[line.n - 1] == '\r';
    if (whole) line.n--;
    h->n_line = 0;
    /* A proxy in front of the server may parse such a request differently, so it is rejected (RFC
     * 9112 section 2.2). */
    if (!whole && h->kind == HTTP1_REQUEST)
        return fail(h, e, "a line ends without a carriage return");
    if (h->kind == HTTP1_REQUEST && line.n && memchr(line.p, '\r', line.n))
        return fail(h, e, "a carriage return inside a line");
    return take_line(h, line, e);
}

static bool feed_body(http1 *h, str *in, err *e)
{
    bool counted = h->state != HTTP1_UNTIL_END;
    size_t n = counted && h->left < in->n ? (size_t)h->left : in->n;
    if (h->kind == HTTP1_REQUEST) {
        http_message_body_or_fail(h->m, (str){in->p, n});
    } else if (!http_message_body(h->m, (str){in->p, n}, e)) {
        h->state = HTTP1_FAILED;
        return false;
    }
    take(h, in, n);
    if (h->m->failure) return give_up_request(h), true;
    if (!counted) return true;
    h->left -= n;
    if (h->left) return true;
    h->state = h->state == HTTP1_BODY ? HTTP1_DONE : HTTP1_CHUNK_END;
    return true;
}

bool http1_feed(http1 *h, str *in, err *e)
{
    h->began |= in->n > 0;
    while (in->n && h->state < HTTP1_DONE) {
        bool bytes =
            h->state == HTTP1_BODY || h->state == HTTP1_CHUNK_BYTES || h->state == HTTP1_UNTIL_END;
        if (!(bytes ? feed_body(h, in, e) : feed_line(h, in, e))) return false;
    }
    return h->state != HTTP1_FAILED ||
           err_set(e, ERR_MALFORMED, "reading this message has already failed");
}

bool http1_end(http1 *h, err *e)
{
    if (h->state == HTTP1_UNTIL_END) h->state = HTTP1_DONE;
    if (h->state == HTTP1_DONE) return true;
    if (!h->began) return err_set(e, ERR_SYS, "the peer closed the connection without a response");
    h->state = HTTP1_FAILED;
    return err_set(e, ERR_SYS, "the peer closed the connection in the middle of a message");
}

/* ---- writing ---- */

static bool put_headers(buf *b, const http_header *h, size_t n, err *e)
{
    for (size_t i = 0; i < n; i++) {
        if (!http_name_valid(h[i].name) || !http_value_valid(h[i].value))
            return err_set(e, ERR_USAGE, "`%.*s` cannot be sent as a header", STR_ARG(h[i].name));
        buf_str(b, h[i].name), buf_z(b, ": ");
        buf_str(b, h[i].value), buf_z(b, "\r\n");
    }
    return true;
}

static bool put_length(buf *b, size_t body_bytes, err *e)
{
    buf_z(b, "Content-Length: "), buf_u64(b, body_bytes), buf_z(b, "\r\n\r\n");
    return !b->failed || err_memory(e);
}

bool http1_put_request(buf *b, str method, str path, str authority, const http_header *h, size_t n,
                       size_t body_bytes, err *e)
{
    if (!http_value_valid(path) || !http_value_valid(authority))
        return err_set(e, ERR_USAGE, "the address has a control character");
    buf_str(b, method), buf_putc(b, ' ');
    buf_str(b, path), buf_z(b, " HTTP/1.1\r\nHost: ");
    buf_str(b, authority), buf_z(b, "\r\n");
    return put_headers(b, h, n, e) && put_length(b, body_bytes, e);
}

bool http1_put_response(buf *b, unsigned status, const http_header *h, size_t n, size_t body_bytes,
                        err *e)
{
    static const struct {
        unsigned status;
        const char *text;
    } words[] = {
        {200, "OK"},
        {204, "No Content"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
    };
    const char *text = "";
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (words[i].status == status) text = words[i].text;
    buf_printf(b, "HTTP/1.1 %u %s\r\n", status, text);
    if (!put_headers(b, h, n, e)) return false;
    if (status != 304) return put_length(b, body_bytes, e);
    buf_z(b, "\r\n"); /* a length would describe the body that is not sent (RFC 9110, 8.6) */
    return !b->failed || err_memory(e);
}
