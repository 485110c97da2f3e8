/* Converts numbers of JSON text: exact integers, and doubles independent of the locale. */
#include "wire/json.h"

#include "base/utf8.h"

#include "base/ban.h"
#include <inttypes.h>
#include <locale.h>
#include <math.h>

/* The parts of a decimal number: digits (which may include a point) times 10^exp. */
typedef struct decimal {
    bool minus;
    str digits;      /* digits and at most one point */
    size_t n_digits; /* without the point */
    int64_t exp;     /* exponent of the last digit */
} decimal;

enum { EXP_CAP = 1000000 }; /* larger exponents are set to this one, so that sums do not overflow */

static bool is_digit(char c) { return (unsigned char)(c - '0') < 10; }

static bool decimal_exp(str t, size_t i, decimal *d)
{
    bool minus = i < t.n && t.p[i] == '-';
    if (i < t.n && (t.p[i] == '-' || t.p[i] == '+')) i++;
    if (i == t.n) return false;
    int64_t v = 0;
    for (; i < t.n && is_digit(t.p[i]); i++)
        if (v < EXP_CAP) v = v * 10 + (t.p[i] - '0');
    d->exp += minus ? -v : v;
    return i == t.n;
}

/* Parses a number of JSON's grammar.  Accepts leading zeros, which some writers put into
 * strings. */
static bool decimal_parse(str t, decimal *d)
{
    *d = (decimal){.minus = t.n && t.p[0] == '-'};
    size_t i = d->minus, from = i, point = 0;
    for (; i < t.n; i++) {
        if (t.p[i] == '.' && !point && i > from)
            point = i;
        else if (!is_digit(t.p[i]))
            break;
    }
    d->digits = (str){t.p + from, i - from};
    d->n_digits = i - from - (point != 0);
    if (d->n_digits == 0 || (point && point + 1 == i)) return false;
    if (point) d->exp = -(int64_t)(i - point - 1);
    if (i == t.n) return true;
    return (t.p[i] | 0x20) == 'e' && decimal_exp(t, i + 1, d);
}

typedef enum verdict { FITS, NOT_A_NUMBER, NOT_INTEGER, TOO_LARGE } verdict;

/* Converts |d| to an integer: all digits after the point must be zeros. */
static verdict decimal_u64(const decimal *d, uint64_t *v)
{
    int64_t whole = (int64_t)d->n_digits + (d->exp < 0 ? d->exp : 0), seen = 0;
    uint64_t r = 0;
    for (size_t i = 0; i < d->digits.n; i++) {
        if (d->digits.p[i] == '.') continue;
        unsigned digit = (unsigned)(d->digits.p[i] - '0');
        if (seen++ >= whole) {
            if (digit) return NOT_INTEGER;
        } else if (ckd_mul(&r, r, (uint64_t)10) || ckd_add(&r, r, (uint64_t)digit)) {
            return TOO_LARGE;
        }
    }
    for (int64_t e = d->exp; r && e > 0; e--)
        if (ckd_mul(&r, r, (uint64_t)10)) return TOO_LARGE;
    *v = r;
    return FITS;
}

static bool is_numeric_token(json *j, const char *what)
{
    return j->tok == JSON_NUMBER || j->tok == JSON_STRING || json_expected(j, what);
}

/* Returns the start of a text for a message: at most 40 bytes, without a partial character. */
static str shown(str t) { return (str){t.p, utf8_valid(t.p, t.n < 40 ? t.n : 40)}; }

static bool integer(json *j, bool *minus, uint64_t *v, bool *too_large)
{
    if (!is_numeric_token(j, "an integer")) return false;
    decimal d;
    verdict r = decimal_parse(j->text, &d) ? decimal_u64(&d, v) : NOT_A_NUMBER;
    if (r == NOT_A_NUMBER)
        return json_fail(j, "expected an integer, found \"%.*s\"", STR_ARG(shown(j->text)));
    if (r == NOT_INTEGER) return json_fail(j, "%.*s is not an integer", STR_ARG(shown(j->text)));
    *minus = d.minus && *v != 0;
    *too_large = r == TOO_LARGE;
    return true;
}

bool json_to_i64(json *j, int64_t min, int64_t max, int64_t *v)
{
    bool minus = false, out = false;
    uint64_t u = 0;
    if (!integer(j, &minus, &u, &out)) return false;
    uint64_t most = minus ? UINT64_C(1) << 63 : INT64_MAX;
    int64_t r = minus ? (int64_t)(0 - u) : (int64_t)u;
    if (out || u > most || r < min || r > max)
        return json_fail(j, "%.*s is not between %" PRId64 " and %" PRId64, STR_ARG(shown(j->text)),
                         min, max);
    *v = r;
    return true;
}

bool json_to_u64(json *j, uint64_t max, uint64_t *v)
{
    bool minus = false, out = false;
    uint64_t u = 0;
    if (!integer(j, &minus, &u, &out)) return false;
    if (out || minus || u > max)
        return json_fail(j, "%.*s is not between 0 and %" PRIu64, STR_ARG(shown(j->text)), max);
    *v = u;
    return true;
}

/* ---- doubles ---- */

/* strtod and printf use the decimal point of the locale, which the host process may have set. */
typedef struct c_locale {
    locale_t c, old;
} c_locale;

static c_locale c_locale_enter(void)
{
    /* glibc returns its static "C" object and allocates nothing. */
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return (c_locale){c, c ? uselocale(c) : (locale_t)0};
}

static void c_locale_leave(c_locale l)
{
    if (!l.c) return;
    uselocale(l.old);
    freelocale(l.c);
}

/* Up to 2^53 and 10^22 both factors are exact, so one rounding gives the nearest double. */
static bool decimal_double(const decimal *d, double *v)
{
    static const double pow[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (d->n_digits > 15 || d->exp > 22 || d->exp < -22) return false;
    uint64_t m = 0;
    for (size_t i = 0; i < d->digits.n; i++)
        if (d->digits.p[i] != '.') m = m * 10 + (uint64_t)(d->digits.p[i] - '0');
    double r = d->exp < 0 ? (double)m / pow[-d->exp] : (double)m * pow[d->exp];
    *v = d->minus ? -r : r;
    return true;
}

static bool slow_double(json *j, double *v)
{
    char small[128], *z = small;
    if (j->text.n >= sizeof small && !(z = arena_alloc(j->a, j->text.n + 1))) {
        j->bad = true;
        return err_at(j->e, ERR_MEMORY, j->at, "no memory for a number of %zu digits", j->text.n);
    }
    memcpy(z, j->text.p, j->text.n);
    z[j->text.n] = '\0';
    c_locale l = c_locale_enter();
    *v = strtod(z, NULL);
    c_locale_leave(l);
    return true;
}

bool json_to_double(json *j, double *v)
{
    if (!is_numeric_token(j, "a number")) return false;
    if (j->tok == JSON_STRING) {
        if (str_eq(j->text, STR("NaN"))) return *v = (double)NAN, true;
        if (str_eq(j->text, STR("Infinity"))) return *v = (double)INFINITY, true;
        if (str_eq(j->text, STR("-Infinity"))) return *v = -(double)INFINITY, true;
    }
    decimal d;
    if (!decimal_parse(j->text, &d))
        return json_fail(j, "expected a number, found \"%.*s\"", STR_ARG(shown(j->text)));
    if (decimal_double(&d, v)) return true;
    if (!slow_double(j, v)) return false;
    if (isinf(*v)) return json_fail(j, "%.*s does not fit a double", STR_ARG(shown(j->text)));
    return true;
}

size_t double_text(double v, char *out, size_t n)
{
    /* A reader that parses "-0" as an integer, as Python's does, loses the sign. */
    if (v == 0) return (size_t)snprintf(out, n, "%s", signbit(v) ? "-0.0" : "0");
    /* 17 digits always suffice, and up to 15 are preserved; subnormal values may need fewer. */
    int digits = fpclassify(v) == FP_SUBNORMAL ? 1 : 15, len;
    c_locale l = c_locale_enter();
    do len = snprintf(out, n, "%.*g", digits, v);
    while (digits++ < 17 && strtod(out, NULL) != v);
    c_locale_leave(l);
    return len < 0 ? 0 : (size_t)len < n ? (size_t)len : n - 1;
}
