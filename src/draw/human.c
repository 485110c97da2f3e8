/* Formats numbers for people: three significant digits, units that suit the size, and UTC dates. */
#include "draw/human.h"

#include "base/ban.h"
#include <inttypes.h>
#include <string.h>
#include <time.h>

/* Writes three significant digits without trailing zeros: 1.17, 24.5, 310. */
static int three_digits(double v, char *out, size_t n)
{
    int k = snprintf(out, n, "%.*f", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v);
    if (memchr(out, '.', (size_t)k)) {
        while (out[k - 1] == '0') k--;
        if (out[k - 1] == '.') k--;
        out[k] = '\0';
    }
    return k;
}

static const char *scaled(double v, const char *unit, char out[HUMAN_MAX])
{
    int k = three_digits(v, out, HUMAN_MAX);
    snprintf(out + k, HUMAN_MAX - (size_t)k, " %s", unit);
    return out;
}

static const char *bytes_text(double v, char out[HUMAN_MAX])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t u = 0;
    while (v >= 999.5 && u + 1 < ARRAY_LEN(units)) v /= 1024, u++;
    return scaled(v, units[u], out);
}

const char *human_bytes(uint64_t n, char out[HUMAN_MAX]) { return bytes_text((double)n, out); }

const char *human_count(uint64_t n, char out[HUMAN_MAX])
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRIu64, n);
    size_t k = 0;
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0) out[k++] = ' ';
        out[k++] = digits[i];
    }
    out[k] = '\0';
    return out;
}

const char *human_things(uint64_t n, const char *thing, char out[HUMAN_MAX])
{
    char count[HUMAN_MAX];
    snprintf(out, HUMAN_MAX, "%s %s%s", human_count(n, count), thing, n == 1 ? "" : "s");
    return out;
}

const char *human_observed(uint64_t observations, uint64_t samples, char out[2 * HUMAN_MAX])
{
    char rows[HUMAN_MAX], all[HUMAN_MAX];
    human_things(samples, "sample", rows);
    if (observations == samples)
        snprintf(out, 2 * HUMAN_MAX, "%s", rows);
    else
        snprintf(out, 2 * HUMAN_MAX, "%s (%s)", human_things(observations, "observation", all),
                 rows);
    return out;
}

const char *human_duration(uint64_t ns, char out[HUMAN_MAX])
{
    if (ns == 0) return scaled(0, "s", out);
    if (ns < 1000) return scaled((double)ns, "ns", out);
    if (ns < 999500) return scaled((double)ns / 1e3, "us", out);
    if (ns < 999500000) return scaled((double)ns / 1e6, "ms", out);
    if (ns < 120000000000) return scaled((double)ns / 1e9, "s", out);
    uint64_t s = ns / 1000000000 + (ns % 1000000000 >= 500000000);
    if (s < 7200)
        snprintf(out, HUMAN_MAX, "%" PRIu64 " min %02" PRIu64 " s", s / 60, s % 60);
    else if (s < 172800)
        snprintf(out, HUMAN_MAX, "%" PRIu64 " h %02" PRIu64 " min", s / 3600, s / 60 % 60);
    else
        snprintf(out, HUMAN_MAX, "%" PRIu64 " d %02" PRIu64 " h", s / 86400, s / 3600 % 24);
    return out;
}

const char *human_time(uint64_t unix_ns, char out[HUMAN_MAX])
{
    time_t s = (time_t)(unix_ns / 1000000000);
    struct tm t;
    gmtime_r(&s, &t);
    size_t n = strftime(out, HUMAN_MAX, "%Y-%m-%d %H:%M:%S", &t);
    snprintf(out + n, HUMAN_MAX - n, ".%03u UTC", (unsigned)(unix_ns / 1000000 % 1000));
    return out;
}

const char *human_moment(const human_clock *k, uint64_t ns, char out[HUMAN_MAX])
{
    if (!k->undated) return human_time(ns, out);
    bool before = ns < k->base;
    uint64_t us = (before ? k->base - ns : ns - k->base) / 1000;
    snprintf(out, HUMAN_MAX, "%c%llu.%06u s", before ? '-' : '+',
             (unsigned long long)(us / 1000000), (unsigned)(us % 1000000));
    return out;
}

const char *human_percent(uint64_t part, uint64_t whole, char out[HUMAN_MAX])
{
    double p = whole ? 100.0 * (double)part / (double)whole : 0;
    snprintf(out, HUMAN_MAX, "%.*f %%", p > 0 && p < 9.95 ? 1 : 0, p);
    return out;
}

static bool unit_is(str unit, const char *const *names)
{
    for (; *names; names++)
        if (str_eq(unit, str_of(*names))) return true;
    return false;
}

/* Returns the nanoseconds per `unit`; 0 when it is not a unit of time. */
static uint64_t ns_per(str unit)
{
    if (unit_is(unit, (const char *const[]){"ns", "nanoseconds", "nanosecond", NULL})) return 1;
    if (unit_is(unit, (const char *const[]){"us", "microseconds", "microsecond", NULL}))
        return 1000;
    if (unit_is(unit, (const char *const[]){"ms", "milliseconds", "millisecond", NULL}))
        return 1000000;
    if (unit_is(unit, (const char *const[]){"s", "seconds", "second", NULL})) return 1000000000;
    return 0;
}

static bool is_bytes(str unit)
{
    return unit_is(unit, (const char *const[]){"bytes", "byte", "By", "B", NULL});
}

const char *human_value(int64_t v, str unit, char out[HUMAN_MAX])
{
    char *p = out;
    uint64_t n = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    char text[HUMAN_MAX];
    uint64_t ns = ns_per(unit), total;
    if (ns && !ckd_mul(&total, n, ns)) {
        human_duration(total, text);
    } else if (is_bytes(unit)) {
        human_bytes(n, text);
    } else {
        human_count(n, text);
        size_t k = strlen(text);
        if (unit.n && !str_eq(unit, STR("count")) && !str_eq(unit, STR("1")))
            snprintf(text + k, sizeof text - k, " %.*s", unit.n > 16 ? 16 : (int)unit.n, unit.p);
    }
    if (v < 0) *p++ = '-';
    snprintf(p, HUMAN_MAX - 1, "%s", text);
    return out;
}

bool human_is_level(str type) { return str_starts(type, STR("inuse_")); }

/* Writes large numbers as "1.2 k", small ones with three significant digits. */
static void short_number(double v, char out[HUMAN_MAX])
{
    static const char *const names[] = {"", " k", " M", " G", " T"};
    size_t u = 0;
    while (v >= 999.5 && u + 1 < ARRAY_LEN(names)) v /= 1000, u++;
    int k = v >= 1 ? three_digits(v, out, HUMAN_MAX) : snprintf(out, HUMAN_MAX, "%.3g", v);
    snprintf(out + k, HUMAN_MAX - (size_t)k, "%s", names[u]);
}

const char *human_rate(double v, uint64_t ns, str type, str unit, char out[HUMAN_MAX])
{
    char text[HUMAN_MAX];
    if (human_is_level(type) || !ns) return human_amount(v, unit, out);
    double size = (v < 0 ? -v : v) / (double)ns * 1e9;
    uint64_t time = ns_per(unit);
    const char *after = "/s";
    if (size <= 0) return snprintf(out, HUMAN_MAX, "0"), out;
    if (time) {
        bool cpu = str_eq(type, STR("cpu"));
        short_number(size * (double)time / 1e9, text);
        bool one = !strcmp(text, "1");
        after = cpu ? (one ? " core" : " cores") : one ? " thread" : " threads";
    } else if (is_bytes(unit)) {
        bytes_text(size, text);
    } else {
        short_number(size, text);
    }
    snprintf(out, HUMAN_MAX, "%s%.30s%s", v < 0 ? "-" : "", text, after);
    return out;
}

const char *human_amount(double v, str unit, char out[HUMAN_MAX])
{
    bool counts = unit.n && unit.p[0] == '{'; /* UCUM: {samples} */
    if (counts) unit = STR("count");
    double size = v < 0 ? -v : v;
    if (!str_eq(unit, STR("count")) || size >= 100 || size == (double)(int64_t)size)
        return human_value((int64_t)(v < 0 ? v - 0.5 : v + 0.5), unit, out);
    snprintf(out, HUMAN_MAX, "%.3g", v);
    return out;
}
