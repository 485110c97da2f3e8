/* Status codes, headers and error bodies of the query API, apart from scheduling (api.c). */
#include "server/api_reply.h"

#include "server/pyroscope.h"
#include "wire/json.h"
#include "base/ban.h"

#define JSON_HEAD                                                                                  \
    {STR("content-type"), STR("application/json")}, {STR("cache-control"), STR("no-store")},       \
    {                                                                                              \
        STR("x-content-type-options"), STR("nosniff")                                              \
    }

unsigned api_status_of(const err *e)
{
    switch (e->code) {
    case ERR_OK: return 200;
    case ERR_USAGE:
    case ERR_MISMATCH:
    case ERR_MALFORMED: return 400;
    case ERR_UNSUPPORTED: return 404;
    case ERR_LIMIT:
    case ERR_MEMORY:
    case ERR_BUSY: return 503;
    default: return 500;
    }
}

static void put_error(buf *b, const err *e)
{
    char text[400];
    json_out o = {.b = b};
    json_put_object(&o);
    json_put_key(&o, STR("error"));
    json_put_str(&o, str_of(err_text(e, text, sizeof text)));
    json_put_object_end(&o);
}

void api_reply_error_as(http_exchange *x, unsigned status, const err *e, unsigned retry)
{
    buf b = {0};
    char seconds[16];
    snprintf(seconds, sizeof seconds, "%u", retry);
    http_header head[] = {JSON_HEAD, {STR("retry-after"), str_of(seconds)}};
    put_error(&b, e);
    http_respond(
        x, &(http_response){
               .status = status, .head = head, .n_head = ARRAY_LEN(head) - !retry, .body = &b});
}

void api_reply_error(http_exchange *x, const err *e, unsigned retry)
{
    if (pyroscope_has(http_exchange_message(x)))
        pyroscope_reply_error(x, e, retry);
    else
        api_reply_error_as(x, api_status_of(e), e, retry);
}

void api_reply_method(http_exchange *x, const char *allowed)
{
    err e = {0};
    buf b = {0};
    http_header head[] = {JSON_HEAD, {STR("allow"), str_of(allowed)}};
    err_set(&e, ERR_USAGE, "this endpoint supports %s only", allowed);
    put_error(&b, &e);
    http_respond(
        x, &(http_response){.status = 405, .head = head, .n_head = ARRAY_LEN(head), .body = &b});
}

void api_reply_refused(http_exchange *x, unsigned status, const char *why)
{
    if (pyroscope_has(http_exchange_message(x))) {
        pyroscope_reply_refused(x, status == 403, why);
        return;
    }
    buf b = {0};
    http_header head[] = {{STR("content-type"), STR("text/plain; charset=utf-8")},
                          {STR("x-content-type-options"), STR("nosniff")},
                          {STR("www-authenticate"), STR("Bearer")}};
    buf_printf(&b, "%s\n", why);
    http_respond(x, &(http_response){.status = status,
                                     .head = head,
                                     .n_head = ARRAY_LEN(head) - (status != 401),
                                     .body = &b});
}

/* Returns whether a name of a type, which senders choose, may be in a header: only visible
 * ASCII. */
static bool fits_header(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] > '~') return false;
    return s.n > 0;
}

void api_reply(http_exchange *x, const query *k, buf *body, spill *file)
{
    char disposition[300];
    if (k->call) {
        pyroscope_reply(x, k, body, file);
        return;
    }
    http_header head[7] = {{STR("content-type"), str_of(k->type)},
                           {STR("cache-control"), STR("no-store")},
                           {STR("x-content-type-options"), STR("nosniff")},
                           {STR("vary"), STR("accept, accept-encoding")}};
    size_t n = 4;
    if (k->packed) head[n++] = (http_header){STR("content-encoding"), STR("gzip")};
    if (k->name.n) {
        snprintf(disposition, sizeof disposition, "attachment; filename=\"%.*s\"",
                 STR_ARG(k->name));
        head[n++] = (http_header){STR("content-disposition"), str_of(disposition)};
    }
    str main_type = str_of(k->main_type);
    if (fits_header(main_type)) head[n++] = (http_header){STR("kiln-main-type"), main_type};
    http_respond(
        x, &(http_response){.status = 200, .head = head, .n_head = n, .body = body, .file = file});
}
