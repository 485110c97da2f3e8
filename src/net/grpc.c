/* Status codes, frames and header encodings of gRPC; HTTP/2 itself is in h2.c. */
#include "net/grpc.h"
#include "base/text.h"

#include "base/ban.h"

static const char *const names[] = {
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
};

const char *grpc_code_name(grpc_code c)
{
    return (size_t)c < ARRAY_LEN(names) ? names[c] : names[GRPC_UNKNOWN];
}

grpc_code grpc_code_parse(str text)
{
    unsigned v = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9' || v > 99) return GRPC_UNKNOWN;
        v = v * 10 + (unsigned)(text.p[i] - '0');
    }
    return text.n && v < ARRAY_LEN(names) ? (grpc_code)v : GRPC_UNKNOWN;
}

grpc_code grpc_code_of_http(unsigned status)
{
    switch (status) {
    case 400: return GRPC_INTERNAL;
    case 401: return GRPC_UNAUTHENTICATED;
    case 403: return GRPC_PERMISSION_DENIED;
    case 404: return GRPC_UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504: return GRPC_UNAVAILABLE;
    default: return GRPC_UNKNOWN;
    }
}

void grpc_put_prefix(uint8_t prefix[GRPC_PREFIX], bool packed, uint32_t n)
{
    prefix[0] = packed;
    for (int i = 0; i < 4; i++) prefix[1 + i] = (uint8_t)(n >> (24 - 8 * i));
}

bool grpc_next(str *body, size_t max, grpc_frame *out, err *e)
{
    if (!body->n) return false;
    if (body->n < GRPC_PREFIX) return err_set(e, ERR_MALFORMED, "a gRPC frame is cut off");
    const uint8_t *p = (const uint8_t *)body->p;
    size_t n = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
    if (p[0] > 1)
        return err_set(e, ERR_MALFORMED, "a gRPC frame begins with %u instead of 0 or 1", p[0]);
    if (n > max)
        return err_set(e, ERR_LIMIT, "a gRPC message of %zu bytes exceeds the limit of %zu", n,
                       max);
    if (n > body->n - GRPC_PREFIX) return err_set(e, ERR_MALFORMED, "a gRPC frame is cut off");
    *out = (grpc_frame){p[0] == 1, {body->p + GRPC_PREFIX, n}};
    *body = (str){body->p + GRPC_PREFIX + n, body->n - GRPC_PREFIX - n};
    return true;
}

size_t grpc_message_text(str s, char *out, size_t n)
{
    size_t k = 0;
    for (size_t i = 0; i < s.n && k + 1 < n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '%' && s.n - i > 2 && hex_digit(s.p[i + 1]) >= 0 && hex_digit(s.p[i + 2]) >= 0) {
            c = (unsigned char)(hex_digit(s.p[i + 1]) << 4 | hex_digit(s.p[i + 2]));
            i += 2;
        }
        out[k++] = c < ' ' || c == 127 ? ' ' : (char)c;
    }
    if (n) out[k] = '\0';
    return k;
}

void grpc_put_message_text(buf *b, str text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (c < ' ' || c > '~' || c == '%')
            buf_printf(b, "%%%02X", c);
        else
            buf_putc(b, (char)c);
    }
}

static const struct {
    char letter;
    uint64_t ns;
} units[] = {{'n', 1},          {'u', 1000},        {'m', 1000000},
             {'S', 1000000000}, {'M', 60000000000}, {'H', 3600000000000}};

void grpc_timeout_text(uint64_t ns, char out[12])
{
    size_t u = 0;
    while (u + 1 < ARRAY_LEN(units) && (ns - (ns != 0)) / units[u].ns + 1 > 99999999) u++;
    uint64_t v = ns / units[u].ns + (ns % units[u].ns != 0);
    if (v > 99999999) v = 99999999;
    snprintf(out, 12, "%u%c", (unsigned)v, units[u].letter);
}

bool grpc_timeout_parse(str text, uint64_t *ns)
{
    uint64_t v = 0;
    if (text.n < 2 || text.n > 9) return false;
    for (size_t i = 0; i + 1 < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9') return false;
        v = v * 10 + (uint64_t)(text.p[i] - '0');
    }
    for (size_t u = 0; u < ARRAY_LEN(units); u++)
        if (units[u].letter == text.p[text.n - 1])
            return !ckd_mul(ns, v, units[u].ns) || (*ns = UINT64_MAX);
    return false;
}
