/* Percent-decoding of request targets, and typed access to their parameters. */
#include "store/params.h"

#include "base/utf8.h"
#include "base/time.h"
#include "base/text.h"
#include "base/ban.h"
#include <string.h>

/* ---- escapes ---- */

static bool decode(str in, bool plus, arena *a, str *out, err *e)
{
    char *p = arena_alloc(a, in.n + 1);
    size_t n = 0;
    if (!p) return err_memory(e);
    for (size_t i = 0; i < in.n; i++) {
        char c = in.p[i];
        if (c == '%') {
            int hi = i + 2 < in.n ? hex_digit(in.p[i + 1]) : -1,
                lo = hi >= 0 ? hex_digit(in.p[i + 2]) : -1;
            if (lo < 0) return err_at(e, ERR_MALFORMED, i, "%% is not followed by two hex digits");
            c = (char)(hi << 4 | lo);
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        if (!c) return err_at(e, ERR_MALFORMED, i, "the text contains a zero byte");
        p[n++] = c;
    }
    p[n] = '\0';
    *out = (str){p, n};
    return utf8_ok(out->p, out->n) || err_set(e, ERR_MALFORMED, "the text is not valid UTF-8");
}

/* Escapes everything but unreserved characters. */
static void encode(str in, buf *out)
{
    for (size_t i = 0; i < in.n; i++) {
        unsigned char c = (unsigned char)in.p[i];
        bool plain = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') ||
                     (c && strchr("-._~", c));
        if (plain)
            buf_putc(out, (char)c);
        else
            buf_printf(out, "%%%02X", c);
    }
}

/* Returns whether a path is absolute, without empty, `.` or `..` components. */
static bool is_straight(str path)
{
    if (!path.n || path.p[0] != '/') return false;
    for (size_t i = 1, from = 1; i <= path.n; i++) {
        if (i < path.n && path.p[i] != '/') continue;
        str part = {path.p + from, i - from};
        bool last = i == path.n;
        if ((!part.n && !last) || str_eq(part, STR(".")) || str_eq(part, STR(".."))) return false;
        from = i + 1;
    }
    return true;
}

static bool take_pair(str pair, arena *a, params *out, err *e)
{
    if (!pair.n) return true;
    if (out->v.n == PARAMS_MAX) return err_set(e, ERR_USAGE, "more than %d parameters", PARAMS_MAX);
    const char *eq = memchr(pair.p, '=', pair.n);
    size_t n = eq ? (size_t)(eq - pair.p) : pair.n;
    param *p = vec_push(a, &out->v);
    if (!p) return err_memory(e);
    return decode((str){pair.p, n}, true, a, &p->key, e) &&
           decode(eq ? (str){eq + 1, pair.n - n - 1} : (str){"", 0}, true, a, &p->value, e);
}

bool params_parse(str target, arena *a, params *out, err *e)
{
    *out = (params){0};
    const char *q = target.n ? memchr(target.p, '?', target.n) : NULL;
    size_t n = q ? (size_t)(q - target.p) : target.n;
    if (!decode((str){target.p, n}, false, a, &out->path, e)) return false;
    if (!is_straight(out->path))
        return err_set(e, ERR_MALFORMED,
                       "the path is not absolute, or has an empty, `.` or `..` component");
    str rest = q ? (str){q + 1, target.n - n - 1} : (str){0};
    while (rest.n) {
        const char *amp = memchr(rest.p, '&', rest.n);
        size_t k = amp ? (size_t)(amp - rest.p) : rest.n;
        if (!take_pair((str){rest.p, k}, a, out, e)) return false;
        k += amp != NULL;
        rest = (str){rest.p + k, rest.n - k};
    }
    return true;
}

str params_get(const params *p, const char *key)
{
    for (size_t i = 0; i < p->v.n; i++)
        if (str_eq(p->v.v[i].key, str_of(key))) return p->v.v[i].value;
    return (str){0};
}

bool params_set(params *p, const char *key, str value, arena *a)
{
    for (size_t i = 0; i < p->v.n; i++)
        if (str_eq(p->v.v[i].key, str_of(key))) return p->v.v[i].value = value, true;
    param *to = vec_push(a, &p->v);
    if (to) *to = (param){str_of(key), value};
    return to != NULL;
}

void params_write(const params *p, buf *out)
{
    for (size_t i = 0; i < p->v.n; i++) {
        buf_putc(out, i ? '&' : '?');
        encode(p->v.v[i].key, out);
        buf_putc(out, '=');
        encode(p->v.v[i].value, out);
    }
}

/* ---- values ---- */

static bool wrong(err *e, const char *key, const char *expected, str got)
{
    return err_set(e, ERR_USAGE, "%s must be %s, not `%.*s`", key, expected,
                   (int)(got.n < 60 ? got.n : 60), got.p);
}

bool params_number(const params *p, const char *key, uint64_t max, uint64_t *out, err *e)
{
    str s = params_get(p, key);
    uint64_t v = 0;
    if (!s.p) return true;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9' || ckd_mul(&v, v, 10u) ||
            ckd_add(&v, v, (unsigned)(s.p[i] - '0')))
            return wrong(e, key, "a number", s);
    if (!s.n || v > max) return wrong(e, key, "a number within its range", s);
    *out = v;
    return true;
}

bool params_flag(const params *p, const char *key, bool *out, err *e)
{
    str s = params_get(p, key);
    if (!s.p) return true;
    *out = !s.n || str_eq(s, STR("1")) || str_eq(s, STR("true"));
    return *out || str_eq(s, STR("0")) || str_eq(s, STR("false")) ||
           wrong(e, key, "1, true, 0 or false", s);
}

bool params_duration(const params *p, const char *key, uint64_t *out, err *e)
{
    str s = params_get(p, key);
    return !s.p || duration_parse(s, out) || wrong(e, key, "a duration such as 15s", s);
}

bool params_time(const params *p, const char *key, uint64_t now, uint64_t *out, err *e)
{
    str s = params_get(p, key);
    if (str_eq(s, STR("0"))) return *out = 0, true;
    return !s.p || time_parse_at(s, now, out) ||
           wrong(e, key, "a time such as now-1h, 2026-11-15T12:00:00Z or a Unix time", s);
}

bool params_real(const params *p, const char *key, double *out, err *e)
{
    str s = params_get(p, key);
    double v = 0, part = 1;
    bool point = false, digit = false;
    if (!s.p) return true;
    for (size_t i = 0; i < s.n; i++) {
        bool is_digit = s.p[i] >= '0' && s.p[i] <= '9';
        if (i > 20 || (!is_digit && (s.p[i] != '.' || point)))
            return wrong(e, key, "a number such as 0.05", s);
        point |= !is_digit;
        digit |= is_digit;
        if (is_digit && point) part /= 10;
        if (is_digit) v = point ? v + part * (s.p[i] - '0') : v * 10 + (s.p[i] - '0');
    }
    if (!digit) return wrong(e, key, "a number such as 0.05", s);
    *out = v;
    return true;
}
