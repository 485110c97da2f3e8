/* Parses numbers and sizes, and computes the edit distance for "did you mean". */
#include "base/words.h"

#include "base/ban.h"
#include <stdlib.h>

size_t edit_distance(str a, str b)
{
    enum { MAX = 32 };
    if (a.n > MAX || b.n > MAX) return MAX;
    size_t d[MAX + 1][MAX + 1];
    for (size_t i = 0; i <= a.n; i++) d[i][0] = i;
    for (size_t j = 0; j <= b.n; j++) d[0][j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        for (size_t j = 1; j <= b.n; j++) {
            size_t best = d[i - 1][j - 1] + (a.p[i - 1] != b.p[j - 1]);
            if (d[i - 1][j] + 1 < best) best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best) best = d[i][j - 1] + 1;
            bool swapped = i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1];
            if (swapped && d[i - 2][j - 2] + 1 < best) best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    }
    return d[a.n][b.n];
}

nearest nearest_to(str wanted) { return (nearest){wanted, NULL, wanted.n / 3 + 2}; }

void nearest_offer(nearest *n, str candidate, const char *name)
{
    size_t d = edit_distance(n->wanted, candidate);
    if (str_starts(candidate, n->wanted) && n->wanted.n >= 2) d = 1;
    if (d < n->distance) n->distance = d, n->name = name;
}

bool decimal_at(str text, double *v, str *rest)
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

bool size_parse(str text, uint64_t *bytes)
{
    uint64_t v = 0;
    size_t i = 0;
    for (; i < text.n && text.p[i] >= '0' && text.p[i] <= '9'; i++)
        if (ckd_mul(&v, v, 10u) || ckd_add(&v, v, (unsigned)(text.p[i] - '0'))) return false;
    if (i == 0) return false;
    str unit = {text.p + i, text.n - i};
    static const char letters[] = "KMGT";
    unsigned shift = 0;
    for (unsigned k = 0; unit.n && k < 4; k++)
        if ((unit.p[0] & ~0x20) == letters[k]) shift = 10 * (k + 1);
    if (shift) unit = (str){unit.p + 1, unit.n - 1};
    if (unit.n && !(str_eq(unit, STR("B")) || (shift && str_eq(unit, STR("iB"))))) return false;
    if (v > UINT64_MAX >> shift) return false;
    *bytes = v << shift;
    return true;
}
