/* UCUM 2.1 section 2, case sensitive:
 *
 *     unit       := ["/"] term
 *     term       := component { ("." | "/") component }
 *     component  := "(" term ")" | annotation | number [annotation] | simple [exponent] [annotation]
 *     simple     := atom | prefix metric-atom
 *     exponent   := ["+" | "-"] digits
 *     annotation := "{" printable characters "}"
 *
 * Atoms in brackets ("[in_i]", "m[Hg]") are accepted by their shape, without a table of all of them. */
#include "check/internal.h"

#include "base/ban.h"

static const char metric[] = " m s g rad K C cd mol sr Hz N Pa J W A V F Ohm S Wb Cel T H lm lx Bq "
                             "Gy Sv l L ar t bar u eV pc "
                             "kat cal cal_IT cal_m cal_th st P G Mx Oe Gb sb ph Lmb Ci b R RAD REM "
                             "Np B bit By Bd Bi dyn erg St "
                             "Gal Ky tex bit_s mho U osm eq g% kp ";
static const char plain[] =
    " 10* 10^ % gon deg ' '' min h d a_t a_j a_g a wk mo_s mo_j mo_g mo AU att sph circ ";
static const char prefixes[] = " Y Z E P T G M k h da d c m u n p f a z y ";
static const char binary[] = " Ki Mi Gi Ti Pi Ei "; /* only with bit and By */

static bool listed(const char *list, const char *p, size_t n)
{
    for (const char *w = list + 1; *w;) {
        const char *end = strchr(w, ' ');
        if ((size_t)(end - w) == n && memcmp(w, p, n) == 0) return true;
        w = end + 1;
    }
    return false;
}

/* Returns whether the atom has the form of "m[H2O]": name, name in closed brackets, name. */
static bool bracketed(const char *p, size_t n)
{
    const char *open = memchr(p, '[', n), *close = memchr(p, ']', n);
    return open && close && close > open + 1;
}

static bool simple_unit(const char *p, size_t n)
{
    if (n == 0) return false;
    if (listed(metric, p, n) || listed(plain, p, n) || bracketed(p, n)) return true;
    for (size_t k = 1; k <= 2 && k < n; k++) {
        const char *unit = p + k;
        size_t left = n - k;
        if (listed(binary, p, k) && listed(" bit By ", unit, left)) return true;
        /* "MB" is a megabel in UCUM, which no profile means. */
        if (left == 1 && *unit == 'B' && *p != 'd') continue;
        if (listed(prefixes, p, k) && listed(metric, unit, left)) return true;
    }
    return false;
}

static bool one_of(char c, const char *set) { return c && strchr(set, c); }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

typedef struct scan {
    const char *p, *end;
} scan;

static bool annotation(scan *s)
{
    for (s->p++; s->p < s->end && *s->p != '}'; s->p++)
        if (*s->p < 0x21 || *s->p > 0x7e || *s->p == '{') return false;
    return s->p < s->end ? (s->p++, true) : false;
}

/* A simple unit ends at an operator; its trailing digits and sign are the exponent. */
static bool symbol(scan *s)
{
    const char *b = s->p;
    int depth = 0;
    for (; s->p < s->end; s->p++) {
        depth += (*s->p == '[') - (*s->p == ']');
        if (depth == 0 && one_of(*s->p, "./(){")) break;
    }
    const char *e = s->p;
    while (e > b && is_digit(e[-1])) e--;
    if (e < s->p && e > b && (e[-1] == '+' || e[-1] == '-')) e--;
    if (simple_unit(b, (size_t)(s->p - b))) return true; /* such as 10* */
    return simple_unit(b, (size_t)(e - b));
}

static bool number(scan *s)
{
    const char *b = s->p;
    while (s->p < s->end && is_digit(*s->p)) s->p++;
    if (s->p < s->end && !one_of(*s->p, "./){")) { /* "10*6" begins with digits too */
        s->p = b;
        return symbol(s);
    }
    return true;
}

enum { UCUM_DEPTH = 16 };

static bool term(scan *s, int depth)
{
    for (;;) {
        if (s->p == s->end || depth > UCUM_DEPTH) return false;
        if (*s->p == '(') {
            s->p++;
            if (!term(s, depth + 1) || s->p == s->end || *s->p++ != ')') return false;
        } else if (*s->p == '{') {
            if (!annotation(s)) return false;
        } else {
            if (!(is_digit(*s->p) ? number(s) : symbol(s))) return false;
            if (s->p < s->end && *s->p == '{' && !annotation(s)) return false;
        }
        if (s->p == s->end || *s->p == ')') return true;
        if (*s->p != '.' && *s->p != '/') return false;
        s->p++;
    }
}

bool ucum_ok(str unit)
{
    scan s = {unit.p, unit.p + unit.n};
    if (unit.n && *s.p == '/') s.p++;
    return s.p < s.end && term(&s, 0) && s.p == s.end;
}

const char *ucum_for(str unit)
{
    static const struct {
        const char *word, *code;
    } words[] = {
        {"bytes", "By"},         {"byte", "By"},         {"B", "By"},
        {"kilobytes", "kBy"},    {"KB", "kBy"},          {"kb", "kBy"},
        {"megabytes", "MBy"},    {"MB", "MBy"},          {"GB", "GBy"},
        {"KiB", "KiBy"},         {"MiB", "MiBy"},        {"GiB", "GiBy"},
        {"nanoseconds", "ns"},   {"nanosecond", "ns"},   {"microseconds", "us"},
        {"microsecond", "us"},   {"milliseconds", "ms"}, {"millisecond", "ms"},
        {"seconds", "s"},        {"second", "s"},        {"sec", "s"},
        {"minutes", "min"},      {"minute", "min"},      {"hours", "h"},
        {"hour", "h"},           {"days", "d"},          {"count", "1"},
        {"counts", "1"},         {"percent", "%"},       {"hertz", "Hz"},
        {"samples", "{sample}"}, {"sample", "{sample}"}, {"objects", "{object}"},
        {"calls", "{call}"},     {"events", "{event}"},  {"bits", "bit"},
        {"threads", "{thread}"}, {"cycles", "{cycle}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_eq(unit, str_of(words[i].word))) return words[i].code;
    return NULL;
}
