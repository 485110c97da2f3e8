/* Decodes and checks the query parameters of POST /ingest. */
#include "pyroscope/ingest_query.h"

#include "pyroscope/at_time.h"
#include "base/text.h"
#include "base/time.h"
#include "base/utf8.h"
#include "base/ban.h"

enum { SHOWN = 40, RATE_MOST = 1000000 };

/* Decodes %3B and `+`. Returns false when out of memory. */
static bool decode(str s, arena *a, str *out)
{
    char *to = arena_alloc(a, s.n);
    size_t n = 0;
    if (!to) return false;
    for (size_t i = 0; i < s.n; i++) {
        int high = s.p[i] == '%' && s.n - i > 2 ? hex_digit(s.p[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(s.p[i + 2]) : -1;
        to[n++] = low >= 0 ? (char)(high << 4 | low) : s.p[i] == '+' ? ' ' : s.p[i];
        if (low >= 0) i += 2;
    }
    *out = (str){to, n};
    return true;
}

static bool take_time(str value, const char *name, uint64_t now, uint64_t *ns, err *e)
{
    if (!value.n || pyro_at_time(value, now, ns)) return true;
    return err_set(e, ERR_MALFORMED, "%s must be a time such as 1687841520 or now-1h, not `%.*s`",
                   name, (int)(value.n < SHOWN ? value.n : SHOWN), value.p);
}

static bool take_rate(str value, uint32_t *rate, err *e)
{
    uint64_t v = 0;
    bool ok = value.n && value.n < 10;
    for (size_t i = 0; ok && i < value.n; i++) {
        ok = is_digit(value.p[i]);
        v = v * 10 + (uint64_t)(value.p[i] - '0');
    }
    if (!ok || v > RATE_MOST)
        return err_set(e, ERR_MALFORMED, "sampleRate must be a number up to %d", RATE_MOST);
    if (v) *rate = (uint32_t)v; /* 0 means the default */
    return true;
}

static bool take(ingest_query *q, str name, str value, uint64_t now, arena *a, err *e)
{
    if (str_eq(name, STR("name")))
        return pyro_app_name(value, a, &q->app, &q->labels, e) || err_in(e, "name");
    if (str_eq(name, STR("from"))) return take_time(value, "from", now, &q->from, e);
    if (str_eq(name, STR("until"))) return take_time(value, "until", now, &q->until, e);
    if (str_eq(name, STR("sampleRate"))) return !value.n || take_rate(value, &q->sample_rate, e);
    if (str_eq(name, STR("format"))) q->format = value;
    if (str_eq(name, STR("spyName")))
        q->spy = utf8_ok(value.p, value.n) && value.n <= PYRO_MAX_LABEL_VALUE ? value : (str){0};
    return true;
}

bool ingest_query_parse(str query, uint64_t now, arena *a, ingest_query *out, err *e)
{
    *out = (ingest_query){.sample_rate = INGEST_SAMPLE_RATE};
    while (query.n) {
        const char *end = memchr(query.p, '&', query.n);
        str pair = {query.p, end ? (size_t)(end - query.p) : query.n}, value = {0};
        const char *eq = pair.n ? memchr(pair.p, '=', pair.n) : NULL;
        str name = {pair.p, eq ? (size_t)(eq - pair.p) : pair.n};
        if (eq) value = (str){eq + 1, pair.n - name.n - 1};
        if (!decode(value, a, &value)) return arena_spent(a, e);
        if (!take(out, name, value, now, a, e)) return false;
        query.n -= end ? pair.n + 1 : pair.n;
        query.p += end ? pair.n + 1 : pair.n;
    }
    if (!out->app.n) return err_set(e, ERR_MALFORMED, "the parameter `name` is missing");
    if (out->from && out->until && out->from > out->until)
        return err_set(e, ERR_MALFORMED, "from is later than until");
    return true;
}
