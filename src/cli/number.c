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

bool weight_parse(str text, double *out, err *e)
{
    str rest;
    if (number_at(text, out, &rest) && !rest.n) return true;
    return err_set(e, ERR_USAGE, "--weight wants a number such as 2 or -1, not `%.*s`",
                   text.n > 40 ? 40 : (int)text.n, text.p);
}
