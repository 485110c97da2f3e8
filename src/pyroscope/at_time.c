/* Parses times of Pyroscope's query parameters. */
#include "pyroscope/at_time.h"

#include "base/text.h"
#include "base/time.h"
#include "base/ban.h"

enum { MOST = 40 };

static bool number(str s, uint64_t *v)
{
    *v = 0;
    for (size_t i = 0; i < s.n; i++)
        if (!is_digit(s.p[i]) || ckd_mul(v, *v, UINT64_C(10)) ||
            ckd_add(v, *v, (uint64_t)(s.p[i] - '0')))
            return false;
    return s.n > 0;
}

static uint64_t unit_of(str s)
{
    static const struct {
        str name;
        uint64_t ns;
    } units[] = {
        {STR("s"), NS_PER_S},        {STR("m"), 60 * NS_PER_S},     {STR("min"), 60 * NS_PER_S},
        {STR("h"), NS_PER_HOUR},     {STR("d"), NS_PER_DAY},        {STR("w"), 7 * NS_PER_DAY},
        {STR("M"), 30 * NS_PER_DAY}, {STR("mon"), 30 * NS_PER_DAY}, {STR("y"), 365 * NS_PER_DAY}};
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (str_eq(s, units[i].name)) return units[i].ns;
    return 0;
}

/* Adds offsets such as "-1h30m" to *ns. */
static bool shift(str s, uint64_t *ns)
{
    bool back = false;
    if (s.n && s.p[0] != '-' && s.p[0] != '+') return false;
    while (s.n) {
        if (s.p[0] == '-' || s.p[0] == '+') back = s.p[0] == '-', s.p++, s.n--;
        size_t n = 0, k = 0;
        while (n < s.n && is_digit(s.p[n])) n++;
        while (n + k < s.n && !is_digit(s.p[n + k]) && s.p[n + k] != '-' && s.p[n + k] != '+') k++;
        uint64_t v, unit = unit_of((str){s.p + n, k});
        if (!number((str){s.p, n}, &v) || !unit || ckd_mul(&v, v, unit)) return false;
        if (back ? ckd_sub(ns, *ns, v) : ckd_add(ns, *ns, v)) return false;
        s = (str){s.p + n + k, s.n - n - k};
    }
    return true;
}

/* Parses YYYYMMDD. Returns false for other numbers of eight digits, which are seconds. */
static bool date(str s, uint64_t *ns)
{
    char text[11];
    if (s.n != 8) return false;
    snprintf(text, sizeof text, "%.4s-%.2s-%.2s", s.p, s.p + 4, s.p + 6);
    char whole[24];
    snprintf(whole, sizeof whole, "%sT00:00:00Z", text);
    return time_parse(str_of(whole), ns);
}

static bool unix_time(str s, uint64_t *ns)
{
    uint64_t v, unit = s.n == 13 ? NS_PER_MS : s.n == 16 ? 1000 : s.n == 19 ? 1 : NS_PER_S;
    if (!number(s, &v)) return false;
    return date(s, ns) || !ckd_mul(ns, v, unit);
}

bool pyro_at_time(str text, uint64_t now, uint64_t *ns)
{
    char plain[MOST];
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (strchr("_, ", text.p[i])) continue;
        if (n == sizeof plain) return false;
        plain[n++] = text.p[i];
    }
    str s = {plain, n};
    if (!str_starts(s, STR("now"))) return unix_time(s, ns);
    *ns = now;
    return shift((str){s.p + 3, s.n - 3}, ns);
}
