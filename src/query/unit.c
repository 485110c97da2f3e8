/* Units of pprof and UCUM with their factors. */
#include "query/unit.h"

#include "base/ban.h"
#include <stdio.h>

typedef struct unit_row {
    unit_kind kind;
    double factor;
    const char *name;
    const char *aliases[6]; /* lower case, singular */
} unit_row;

static const unit_row rows[] = {
    {UNIT_BYTES, 1, "B", {"b", "byte", "by"}},
    {UNIT_BYTES, 1024.0, "kB", {"kb", "kbyte", "kilobyte", "kiby", "kib", "kby"}},
    {UNIT_BYTES, 1048576.0, "MB", {"mb", "mbyte", "megabyte", "miby", "mib", "mby"}},
    {UNIT_BYTES, 1073741824.0, "GB", {"gb", "gbyte", "gigabyte", "giby", "gib", "gby"}},
    {UNIT_BYTES, 1099511627776.0, "TB", {"tb", "tbyte", "terabyte", "tiby", "tib", "tby"}},
    {UNIT_BYTES, 1125899906842624.0, "PB", {"pb", "pbyte", "petabyte", "piby", "pib", "pby"}},
    {UNIT_TIME, 1, "ns", {"ns", "nanosecond"}},
    {UNIT_TIME, 1e3, "us", {"us", "\xce\xbcs", "\xc2\xb5s", "microsecond"}},
    {UNIT_TIME, 1e6, "ms", {"ms", "millisecond"}},
    {UNIT_TIME, 1e9, "s", {"s", "sec", "second"}},
    {UNIT_TIME, 3.6e12, "hrs", {"hour", "hr"}},
};

unit_info unit_of(str name)
{
    char low[24];
    if (!name.n || name.n > sizeof low) return (unit_info){0};
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        low[i] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
    }
    str s = {low, name.n};
    if (s.n > 2 && s.p[s.n - 1] == 's' && (unsigned char)s.p[0] < 0x80) s.n--;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (size_t k = 0; k < ARRAY_LEN(rows[i].aliases) && rows[i].aliases[k]; k++)
            if (str_eq(s, str_of(rows[i].aliases[k])))
                return (unit_info){rows[i].kind, rows[i].factor, rows[i].name};
    return (unit_info){0};
}

bool unit_counts(str unit)
{
    return str_eq(unit, STR("count")) || str_eq(unit, STR("1")) || str_eq(unit, STR("samples")) ||
           str_eq(unit, STR("{samples}")) || str_eq(unit, STR("{sample}"));
}

/* Returns the largest unit of the kind in which v (in bytes or ns) is at least 1. */
static unit_info fitting(unit_kind kind, double v)
{
    unit_info best = {0};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].kind == kind && v / rows[i].factor >= 1)
            best = (unit_info){kind, rows[i].factor, rows[i].name};
    return best;
}

static unit_info default_of(unit_kind kind)
{
    return kind == UNIT_TIME ? (unit_info){kind, 1e9, "s"} : (unit_info){kind, 1, "B"};
}

static bool is_auto(str to) { return str_eq(to, STR("auto")) || str_eq(to, STR("minimum")); }

static bool says_nothing(str unit)
{
    return is_auto(unit) || str_eq(unit, STR("count")) || str_eq(unit, STR("sample")) ||
           str_eq(unit, STR("unit"));
}

double unit_scale(int64_t v, str from, str to, str *name)
{
    unit_info f = unit_of(from), t = unit_of(to);
    double x = (double)v * (f.name ? f.factor : 1);
    if (!f.name) {
        *name = says_nothing(to) ? STR("") : to;
        return x;
    }
    if (is_auto(to)) t = fitting(f.kind, x < 0 ? -x : x);
    if (!t.name || t.kind != f.kind) t = default_of(f.kind);
    *name = str_of(t.name);
    return x / t.factor;
}

size_t unit_label(int64_t v, str from, str to, char out[UNIT_TEXT_MAX])
{
    str name;
    double x = unit_scale(v, from, to, &name);
    int n = snprintf(out, UNIT_TEXT_MAX, "%.2f", x);
    if (n > 3 && !memcmp(out + n - 3, ".00", 3)) n -= 3;
    bool zero = (n == 1 && out[0] == '0') || (n == 2 && out[0] == '-' && out[1] == '0');
    if (zero) return (size_t)snprintf(out, UNIT_TEXT_MAX, "0");
    int room = UNIT_TEXT_MAX - n;
    int k = snprintf(out + n, (size_t)room, "%.*s", STR_ARG(name));
    return (size_t)n + (size_t)(k < room ? k : room - 1);
}
