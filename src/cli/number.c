#include "cli/number.h"

#include "base/ban.h"
#include <math.h>
#include <stdlib.h>

/* A decimal number at the beginning of text; what follows it in *rest. */
static bool number_at(str text, double *v, str *rest)
{
    char copy[64], *end;
    size_t n = 0;
    while (n < text.n && n < sizeof copy - 1 &&
           ((text.p[n] >= '0' && text.p[n] <= '9') || text.p[n] == '.' || (!n && text.p[n] == '-')))
        n++;
    memcpy(copy, text.p, n);
    copy[n] = '\0';
    *v = strtod(copy, &end);
    *rest = (str){text.p + n, text.n - n};
    return n && !*end;
}

bool duration_parse(str text, uint64_t *ns)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"ns", 1},     {"us", 1e3}, {"ms", 1e6},  {"s", 1e9},
                 {"min", 6e10}, {"m", 6e10}, {"h", 3.6e12}};
    double v;
    str unit;
    if (!number_at(text, &v, &unit) || v < 0) return false;
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (!str_eq(unit, str_of(units[i].name))) continue;
        v *= units[i].factor;
        *ns = (uint64_t)v;
        return v < 1.8e19;
    }
    return false;
}

bool weight_parse(str text, double *out, err *e)
{
    str rest;
    if (number_at(text, out, &rest) && !rest.n) return true;
    return err_set(e, ERR_USAGE, "--weight wants a number such as 2 or -1, not `%.*s`",
                   text.n > 40 ? 40 : (int)text.n, text.p);
}
