/* Times and durations in the forms that users type and APIs send.  Dates are computed without libc: its
 * functions depend on the time zone of the process. */
#include "base/time.h"

#include "base/words.h"
#include "base/ban.h"

/* ---- points in time ---- */

static bool number_at(str *s, size_t n, unsigned max, unsigned *out)
{
    if (s->n < n) return false;
    unsigned v = 0;
    for (size_t i = 0; i < n; i++) {
        if (s->p[i] < '0' || s->p[i] > '9') return false;
        v = v * 10 + (unsigned)(s->p[i] - '0');
    }
    *s = (str){s->p + n, s->n - n};
    *out = v;
    return v <= max;
}

static bool take(str *s, const char *any_of)
{
    if (!s->n || !strchr(any_of, s->p[0]) || !s->p[0]) return false;
    *s = (str){s->p + 1, s->n - 1};
    return true;
}

/* Reads the digits after the decimal point as billionths; ignores digits after the ninth. */
static bool fraction_at(str *s, uint64_t *ns)
{
    uint64_t v = 0, unit = 100000000;
    *ns = 0;
    if (!take(s, ".")) return true;
    if (!s->n || s->p[0] < '0' || s->p[0] > '9') return false;
    for (; s->n && s->p[0] >= '0' && s->p[0] <= '9'; *s = (str){s->p + 1, s->n - 1}) {
        v += (uint64_t)(s->p[0] - '0') * unit;
        unit /= 10;
    }
    *ns = v;
    return true;
}

/* Returns the days from 1970 to a day of the Gregorian calendar. Years are counted from March, so
 * that the leap day is their last day. */
static int64_t days_of(unsigned year, unsigned month, unsigned day)
{
    int64_t y = (int64_t)year - (month <= 2);
    unsigned m = month > 2 ? month - 3 : month + 9;
    return y * 365 + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

static bool date_parse(str s, uint64_t *ns)
{
    unsigned y, mo, d, h, mi, sec, oh = 0, om = 0;
    uint64_t fraction;
    bool ok = number_at(&s, 4, 9999, &y) && take(&s, "-") && number_at(&s, 2, 12, &mo) &&
              take(&s, "-") && number_at(&s, 2, 31, &d) && take(&s, "Tt ") &&
              number_at(&s, 2, 23, &h) && take(&s, ":") && number_at(&s, 2, 59, &mi) &&
              take(&s, ":") && number_at(&s, 2, 60, &sec) && fraction_at(&s, &fraction);
    if (!ok || !mo || !d) return false;
    bool west = s.n && s.p[0] == '-';
    if (!take(&s, "Zz")) {
        if (!take(&s, "+-") || !number_at(&s, 2, 23, &oh) || !take(&s, ":") ||
            !number_at(&s, 2, 59, &om))
            return false;
    }
    int64_t offset = (int64_t)(oh * 3600 + om * 60) * (west ? -1 : 1);
    int64_t seconds = days_of(y, mo, d) * 86400 + h * 3600 + mi * 60 + sec - offset;
    if (s.n || seconds < 0) return false;
    return !ckd_mul(ns, (uint64_t)seconds, UINT64_C(1000000000)) && !ckd_add(ns, *ns, fraction);
}

bool time_parse(str text, uint64_t *ns)
{
    static const struct {
        uint64_t below, factor;
    } units[] = {
        {100000000000, 1000000000}, {100000000000000, 1000000}, {100000000000000000, 1000}};
    uint64_t v = 0, fraction = 0, factor = 1;
    size_t i = 0;
    for (; i < text.n && text.p[i] >= '0' && text.p[i] <= '9'; i++)
        if (ckd_mul(&v, v, UINT64_C(10)) || ckd_add(&v, v, (unsigned)(text.p[i] - '0')))
            return false;
    str rest = {text.p + i, text.n - i};
    if (!i || (rest.n && rest.p[0] != '.')) return date_parse(text, ns);
    for (size_t k = 0; k < ARRAY_LEN(units) && factor == 1; k++)
        if (v < units[k].below) factor = units[k].factor;
    if (!fraction_at(&rest, &fraction) || rest.n) return false;
    fraction /= 1000000000 / factor; /* of its unit, in ns */
    return !ckd_mul(ns, v, factor) && !ckd_add(ns, *ns, fraction) && *ns;
}

/* ---- durations ---- */

bool duration_parse(str text, uint64_t *ns)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"ns", 1},     {"us", 1e3}, {"ms", 1e6},   {"s", 1e9},
                 {"min", 6e10}, {"m", 6e10}, {"h", 3.6e12}, {"d", 8.64e13}};
    double v;
    str unit;
    if (!decimal_at(text, &v, &unit) || v < 0) return false;
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (!str_eq(unit, str_of(units[i].name))) continue;
        v *= units[i].factor;
        if (v >= 1.8e19) return false;
        *ns = (uint64_t)v;
        return true;
    }
    return false;
}

bool time_parse_at(str text, uint64_t now, uint64_t *ns)
{
    uint64_t back;
    if (!str_starts(text, STR("now"))) return time_parse(text, ns);
    str rest = {text.p + 3, text.n - 3};
    if (!rest.n) return *ns = now, true;
    if (rest.p[0] != '-' || !duration_parse((str){rest.p + 1, rest.n - 1}, &back)) return false;
    *ns = back < now ? now - back : 0;
    return true;
}
