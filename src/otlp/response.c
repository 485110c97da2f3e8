/* Decodes HTTP and gRPC responses: partial success, google.rpc.Status with RetryInfo, Retry-After.
 * */
#include "otlp/response.h"

#include "net/grpc.h"
#include "wire/base64.h"
#include "wire/compress.h"
#include "wire/otlp.h"
#include "wire/pb.h"
#include "base/time.h"
#include "base/ban.h"
#include <strings.h>

#define WAIT_MAX (3600 * NS_PER_S) /* longer waits are capped */

enum { SCRATCH = 2 * HTTP_MAX_RESPONSE, DETAILS_MAX = 8 << 10 };

static uint64_t capped(uint64_t seconds, uint64_t ns)
{
    return seconds >= WAIT_MAX / NS_PER_S ? WAIT_MAX
                                          : seconds * NS_PER_S + (ns < NS_PER_S ? ns : 0);
}

/* Stores one line that fits out->text. Control characters become spaces. */
static void put_text(export_result *out, const char *before, str words)
{
    int k = snprintf(out->text, sizeof out->text, "%s%s", before, words.n ? ": " : "");
    size_t n = k < 0 ? 0 : (size_t)k;
    for (size_t i = 0; i < words.n && n + 1 < sizeof out->text; i++) {
        unsigned char c = (unsigned char)words.p[i];
        out->text[n++] = c < ' ' || c == 127 ? ' ' : (char)c;
    }
    while (n && out->text[n - 1] == ' ') n--;
    out->text[n < sizeof out->text ? n : sizeof out->text - 1] = '\0';
}

/* ---- google.rpc ---- */

typedef struct rpc_status {
    str message;
    bool has_retry; /* the details contain a RetryInfo */
    uint64_t wait;
} rpc_status;

static void read_duration(pb_cur c, rpc_status *out)
{
    uint64_t seconds = 0, ns = 0;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 1 && f.wire == 0) seconds = f.value;
        if (f.number == 2 && f.wire == 0) ns = f.value;
    }
    if (pb_ok(&c) && !(seconds >> 63)) out->wait = capped(seconds, ns);
}

static void read_detail(pb_cur c, rpc_status *out)
{
    pb_field value = {0};
    bool retry = false;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 1 && f.wire == 2)
            retry = str_ends(pb_bytes(&f), STR("/google.rpc.RetryInfo"));
        if (f.number == 2 && f.wire == 2) value = f;
    }
    if (!retry || !pb_ok(&c)) return;
    out->has_retry = true;
    if (!value.data) return;
    pb_cur info = pb_message(&c, &value);
    for (pb_field f; pb_next(&info, &f);)
        if (f.number == 1 && f.wire == 2) read_duration(pb_message(&info, &f), out);
}

/* Returns false when the bytes are not a Status. */
static bool read_status(str bytes, rpc_status *out)
{
    *out = (rpc_status){0};
    pb_cur c = pb_open(bytes.p, bytes.n, NULL);
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 2 && f.wire == 2) out->message = pb_bytes(&f);
        if (f.number == 3 && f.wire == 2) read_detail(pb_message(&c, &f), out);
    }
    return pb_ok(&c);
}

/* Returns the number of duplicates, which only kiln serve reports. */
static uint64_t duplicates_of(const http_message *m)
{
    str text = http_headers_get(&m->head, "kiln-duplicates");
    uint64_t v = 0;
    for (size_t i = 0; i < text.n && i < 18; i++) {
        if (text.p[i] < '0' || text.p[i] > '9') return 0;
        v = v * 10 + (uint64_t)(text.p[i] - '0');
    }
    return v;
}

/* ---- the response message: profiles and logs share it ---- */

static void judge_response(str bytes, export_result *out)
{
    otlp_response r = {0};
    err e = {0};
    if (!otlp_response_decode(bytes.p, bytes.n, &r,
                              &e)) { /* it was accepted: do not send it again (T-04) */
        out->kind = RESULT_PARTIAL;
        put_text(out, "the receiver accepted it, but its response cannot be read", (str){0});
        return;
    }
    bool partial =
        r.partial && (r.rejected_profiles > 0 ||
                      r.error_message.n); /* an empty partial success counts as absent (T-03) */
    out->kind = partial ? RESULT_PARTIAL : RESULT_ACCEPTED;
    if (!partial) return;
    out->rejected = r.rejected_profiles > 0 ? r.rejected_profiles : 0;
    put_text(out, out->rejected ? "the receiver rejected some items" : "the receiver warns",
             r.error_message);
}

/* ---- Retry-After ---- */

static int month_of(str word)
{
    static const char names[] = "janfebmaraprmayjunjulaugsepoctnovdec";
    for (int i = 0; word.n == 3 && i < 12; i++)
        if (!strncasecmp(word.p, names + 3 * i, 3)) return i + 1;
    return 0;
}

/* Returns the number of days from 1970-01-01 to a date. */
static int64_t days_of(int64_t y, int m, int d)
{
    y -= m <= 2;
    int64_t era = y / 400, yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

typedef struct date {
    int day, month, year, h, m, s;
    bool clock;
} date;

static bool digits(str w, int *v)
{
    *v = 0;
    for (size_t i = 0; i < w.n && i < 5; i++) {
        if (w.p[i] < '0' || w.p[i] > '9') return false;
        *v = *v * 10 + (w.p[i] - '0');
    }
    return w.n > 0 && w.n <= 4;
}

static void take_word(str w, date *d)
{
    int v;
    if (w.n == 8 && w.p[2] == ':' && w.p[5] == ':') {
        d->clock = digits((str){w.p, 2}, &d->h) && digits((str){w.p + 3, 2}, &d->m) &&
                   digits((str){w.p + 6, 2}, &d->s);
    } else if (month_of(w)) {
        d->month = month_of(w);
    } else if (digits(w, &v)) {
        if (!d->day && w.n <= 2)
            d->day = v;
        else /* a year of two digits: RFC 850 */
            d->year = w.n == 2 ? v + (v < 70 ? 2000 : 1900) : v;
    }
}

/* "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994" */
static bool date_parse(str text, int64_t *unix_s)
{
    date d = {0};
    for (size_t i = 0; i < text.n;) {
        size_t n = 0;
        while (i + n < text.n && !strchr(" ,-", text.p[i + n])) n++;
        if (n) take_word((str){text.p + i, n}, &d);
        i += n + 1;
    }
    if (!d.day || d.day > 31 || !d.month || d.year < 1970 || !d.clock || d.h > 23 || d.m > 59 ||
        d.s > 60)
        return false;
    *unix_s = days_of(d.year, d.month, d.day) * 86400 + d.h * 3600 + d.m * 60 + d.s;
    return true;
}

bool retry_after_parse(str text, uint64_t wall, uint64_t *wait)
{
    uint64_t v = 0;
    size_t i = 0;
    for (; i < text.n && text.p[i] >= '0' && text.p[i] <= '9'; i++)
        v = v > WAIT_MAX / NS_PER_S ? v : v * 10 + (uint64_t)(text.p[i] - '0');
    int64_t at;
    if (i && i == text.n) {
        *wait = capped(v, 0);
        return true;
    }
    if (!date_parse(text, &at)) return false;
    uint64_t now = wall / NS_PER_S;
    *wait = (uint64_t)at > now ? capped((uint64_t)at - now, 0) : 0;
    return true;
}

/* ---- HTTP ---- */

static bool has_type(const http_message *m, const char *type)
{
    str v = http_headers_get(&m->head, "content-type");
    size_t n = strlen(type);
    return v.n >= n && !strncasecmp(v.p, type, n) && (v.n == n || v.p[n] == ';' || v.p[n] == ' ');
}

/* Returns the message of a rejection: Status.message, or a text body. */
static str words_of(const http_message *m, str body)
{
    rpc_status s;
    if (has_type(m, "application/x-protobuf")) return read_status(body, &s) ? s.message : (str){0};
    return has_type(m, "text/plain") || has_type(m, "application/json") ? body : (str){0};
}

static void judge_http(const http_message *m, str body, uint64_t wall, export_result *out)
{
    unsigned s = m->status;
    char what[48];
    if (s >= 200 && s < 300) {
        out->duplicates = duplicates_of(m);
        judge_response(has_type(m, "application/x-protobuf") || !body.n ? body : (str){0}, out);
        return;
    }
    bool again = s == 429 || s == 502 || s == 503 || s == 504; /* T-08 */
    out->kind = again ? RESULT_RETRY : s == 413 ? RESULT_TOO_LARGE : RESULT_REFUSED;
    str after = http_headers_get(&m->head, "retry-after");
    if (again && after.n && !retry_after_parse(after, wall, &out->wait)) out->wait = 0;
    snprintf(what, sizeof what, "HTTP status %u%s", s, s == 404 ? " (unknown path)" : "");
    put_text(out, what, words_of(m, body));
}

void export_result_of_http(const http_message *m, uint64_t wall, export_result *out)
{
    *out = (export_result){0};
    arena a = {.budget = SCRATCH};
    unpacked u = {.bytes = buf_view(&m->body)};
    if (http_headers_get(&m->head, "content-encoding").n &&
        !unpack(u.bytes, HTTP_MAX_RESPONSE, &a, &u, NULL))
        u.bytes = (str){0};
    judge_http(m, u.bytes, wall, out);
    arena_free(&a);
}

/* ---- gRPC ---- */

static bool is_transient(grpc_code c)
{
    return c == GRPC_CANCELLED || c == GRPC_DEADLINE_EXCEEDED || c == GRPC_ABORTED ||
           c == GRPC_OUT_OF_RANGE || c == GRPC_UNAVAILABLE || c == GRPC_DATA_LOSS; /* T-07 */
}

/* Reads RetryInfo from the Status in grpc-status-details-bin. */
static void read_details(str text, rpc_status *s)
{
    uint8_t bytes[DETAILS_MAX];
    size_t n;
    if (text.n && base64_max(text.n) <= sizeof bytes && base64_decode(text, bytes, &n) &&
        read_status((str){(const char *)bytes, n}, s))
        s->message = (str){0}; /* a view of a local buffer; grpc-message has the same text */
    else
        *s = (rpc_status){0};
}

static void judge_failure(grpc_code code, str message, str details, export_result *out)
{
    char words[200];
    rpc_status s = {0};
    read_details(details, &s);
    size_t n = grpc_message_text(message, words, sizeof words);
    bool again = is_transient(code) || (code == GRPC_RESOURCE_EXHAUSTED && s.has_retry);
    out->kind = again                             ? RESULT_RETRY
                : code == GRPC_RESOURCE_EXHAUSTED ? RESULT_TOO_LARGE /* T-12 */
                                                  : RESULT_REFUSED;
    out->wait = again ? s.wait : 0;
    put_text(out, grpc_code_name(code), (str){words, n});
}

static void judge_message(const http_message *m, export_result *out)
{
    err e = {0};
    str body = buf_view(&m->body);
    grpc_frame f;
    arena a = {.budget = SCRATCH};
    unpacked u;
    if (!grpc_next(&body, HTTP_MAX_RESPONSE, &f, &e)) {
        out->kind = RESULT_PARTIAL;
        put_text(out, "the receiver accepted it, but its response cannot be read", str_of(e.msg));
        return;
    }
    out->duplicates = duplicates_of(m);
    u.bytes = f.message;
    if (f.packed && !unpack(f.message, HTTP_MAX_RESPONSE, &a, &u, NULL)) u.bytes = STR("?");
    judge_response(u.bytes, out);
    arena_free(&a);
}

void export_result_of_grpc(const http_message *m, export_result *out)
{
    *out = (export_result){0};
    /* A failure without a body has its trailers in the headers. */
    const http_headers *t =
        http_headers_get(&m->trailers, "grpc-status").n ? &m->trailers : &m->head;
    str status = http_headers_get(t, "grpc-status");
    if (!status.n) {
        char what[64];
        grpc_code code = m->status == 200 ? GRPC_UNKNOWN : grpc_code_of_http(m->status);
        snprintf(what, sizeof what, "HTTP status %u without a gRPC status", m->status);
        judge_failure(code, str_of(what), (str){0}, out);
        return;
    }
    grpc_code code = grpc_code_parse(status);
    if (code == GRPC_OK)
        judge_message(m, out);
    else
        judge_failure(code, http_headers_get(t, "grpc-message"),
                      http_headers_get(t, "grpc-status-details-bin"), out);
}

/* ---- no response ---- */

void export_result_of_failure(const err *e, export_result *out)
{
    char text[400];
    *out = (export_result){.kind = e->code == ERR_SYS           ? RESULT_RETRY
                                   : e->code == ERR_UNSUPPORTED ? RESULT_MISMATCH
                                                                : RESULT_REFUSED};
    put_text(out, err_text(e, text, sizeof text), (str){0});
}
