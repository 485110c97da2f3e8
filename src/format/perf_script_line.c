/* Parses lines of `perf script`. The command name may contain anything, so the parser first finds
 * the time and then parses the fields on both sides of it. */
#include "format/perf_script.h"
#include "base/text.h"

#include "base/ban.h"

/* ---- words ---- */

static str first_word(str s) /* s is trimmed */
{
    size_t n = 0;
    while (n < s.n && !is_blank(s.p[n])) n++;
    return (str){s.p, n};
}

static str after(str s, str word)
{
    size_t n = (size_t)(word.p + word.n - s.p);
    return str_trim((str){s.p + n, s.n - n});
}

static str last_word(str s) /* s is trimmed */
{
    size_t n = 0;
    while (n < s.n && !is_blank(s.p[s.n - 1 - n])) n++;
    return (str){s.p + (s.n - n), n};
}

static str before(str s, str word) { return str_trim((str){s.p, (size_t)(word.p - s.p)}); }

/* Removes a number from the start of *s. Returns false when there are no digits or too many. */
static bool take_number(str *s, uint64_t *v)
{
    size_t n = 0;
    *v = 0;
    for (; n < s->n && s->p[n] >= '0' && s->p[n] <= '9'; n++)
        if (ckd_mul(v, *v, (uint64_t)10) || ckd_add(v, *v, (uint64_t)(s->p[n] - '0'))) return false;
    *s = (str){s->p + n, s->n - n};
    return n > 0;
}

static bool take_char(str *s, char c)
{
    if (!s->n || s->p[0] != c) return false;
    *s = (str){s->p + 1, s->n - 1};
    return true;
}

/* ---- the parts of a header ---- */

/* "666709.771979:" */
static bool is_time(str w, uint64_t *ns)
{
    uint64_t seconds, fraction = 0, scale = 1000000000;
    if (!take_number(&w, &seconds) || !take_char(&w, '.') || !w.n) return false;
    for (; w.n && w.p[0] >= '0' && w.p[0] <= '9'; w = (str){w.p + 1, w.n - 1})
        if (scale > 1) scale /= 10, fraction += (uint64_t)(w.p[0] - '0') * scale;
    if (!take_char(&w, ':') || w.n) return false;
    return !ckd_mul(ns, seconds, (uint64_t)1000000000) && !ckd_add(ns, *ns, fraction);
}

/* "[003]" */
static bool is_cpu(str w, int64_t *cpu)
{
    uint64_t v;
    if (!take_char(&w, '[') || !take_number(&w, &v) || !take_char(&w, ']') || w.n) return false;
    *cpu = v <= UINT32_MAX ? (int64_t)v : -1;
    return true;
}

/* "1734/1735" or "1735" */
static bool is_ids(str w, int64_t *pid, int64_t *tid)
{
    uint64_t a, b;
    bool minus = take_char(&w, '-'); /* perf prints -1 for an unknown id */
    if (!take_number(&w, &a) || a > INT64_MAX) return false;
    *pid = -1;
    *tid = minus ? -1 : (int64_t)a;
    if (!w.n) return true;
    if (!take_char(&w, '/')) return false;
    bool minus_b = take_char(&w, '-');
    if (!take_number(&w, &b) || b > INT64_MAX || w.n) return false;
    *pid = minus ? -1 : (int64_t)a;
    *tid = minus_b ? -1 : (int64_t)b;
    return true;
}

static bool is_period(str w, int64_t *v)
{
    bool minus = take_char(&w, '-');
    uint64_t n;
    if (!take_number(&w, &n) || w.n) return false;
    *v = n > INT64_MAX ? INT64_MAX : (int64_t)n;
    if (minus) *v = -*v;
    return true;
}

/* Parses the part before the time: command name, ids and possibly the CPU. */
static bool parse_task(str s, perf_script_head *h)
{
    for (int skipped = 0; skipped < 3; skipped++) { /* [cpu], or flags like "d.h1" */
        str w = last_word(s);
        if (is_ids(w, &h->pid, &h->tid)) {
            h->comm = before(s, w);
            return h->comm.n > 0;
        }
        if (!is_cpu(w, &h->cpu) && h->cpu < 0 && skipped) return false;
        s = before(s, w);
    }
    return false;
}

/* Parses a header without a time: the ids are the first matching word after at least one word of
 * the command name. */
static bool parse_task_forward(str s, perf_script_head *h, str *left)
{
    str w = first_word(s), rest = after(s, w);
    while (rest.n) {
        w = first_word(rest);
        if (is_ids(w, &h->pid, &h->tid)) {
            h->comm = before(s, w);
            rest = after(rest, w);
            if (is_cpu(first_word(rest), &h->cpu)) rest = after(rest, first_word(rest));
            *left = rest;
            return true;
        }
        rest = after(rest, w);
    }
    return false;
}

enum { EVENT_WORDS = 3 };

/* Parses "10101010 cpu-clock: rest": the event ends with a colon. */
static bool parse_event(str s, perf_script_head *h)
{
    str w = first_word(s);
    if (is_period(w, &h->period)) {
        h->has_period = true;
        s = after(s, w);
    }
    str left = s;
    for (int i = 0; i < EVENT_WORDS && left.n; i++) {
        w = first_word(left);
        left = after(left, w);
        if (w.p[w.n - 1] != ':') continue;
        h->event = (str){s.p, (size_t)(w.p + w.n - 1 - s.p)};
        h->rest = left;
        return h->event.n > 0;
    }
    h->rest = s;
    return false;
}

bool perf_script_parse_head(str text, perf_script_head *out)
{
    *out = (perf_script_head){.pid = -1, .tid = -1, .cpu = -1};
    str s = str_trim(text);
    for (str left = s; left.n;) {
        str w = first_word(left);
        left = after(left, w);
        if (!is_time(w, &out->time_ns)) continue;
        out->has_time = true;
        if (!parse_task(before(s, w), out)) return false;
        parse_event(left, out); /* the line may have only the time */
        return true;
    }
    str left;
    return parse_task_forward(s, out, &left) && parse_event(left, out);
}

bool perf_script_parse_bare_head(str text, perf_script_head *out)
{
    *out = (perf_script_head){.pid = -1, .tid = -1, .cpu = -1};
    str left;
    return text.n && !is_blank(text.p[0]) && parse_task_forward(str_trim(text), out, &left) &&
           !left.n;
}

/* ---- frames ---- */

static bool take_address(str *s, uint64_t *v)
{
    size_t n = 0;
    *v = 0;
    if (str_starts(*s, STR("0x"))) *s = (str){s->p + 2, s->n - 2};
    for (; n < s->n && n < 17; n++) {
        int digit = hex_digit(s->p[n]);
        if (digit < 0) break;
        *v = *v << 4 | (uint64_t)digit;
    }
    if (n == 0 || n > 16 || (n < s->n && !is_blank(s->p[n]))) return false;
    *s = str_trim((str){s->p + n, s->n - n});
    return true;
}

/* Removes the binary in the last pair of parentheses; names of functions and binaries may contain
 * others. */
static bool take_dso(str *s, str *dso)
{
    if (!s->n || s->p[s->n - 1] != ')') return false;
    size_t depth = 0, i = s->n;
    do {
        i--;
        if (s->p[i] == ')') depth++;
        if (s->p[i] == '(') depth--;
    } while (depth && i);
    if (depth || (i && !is_blank(s->p[i - 1]))) return false;
    *dso = (str){s->p + i + 1, s->n - i - 2};
    *s = str_trim((str){s->p, i});
    return true;
}

/* Removes an offset such as "+0x1b" from the end of a symbol. */
static bool cut_offset(str *symbol)
{
    for (size_t i = symbol->n; i-- > 0;) {
        char c = symbol->p[i];
        bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
        if (hex) continue;
        bool found = c == 'x' && i >= 2 && symbol->p[i - 1] == '0' && symbol->p[i - 2] == '+' &&
                     i + 1 < symbol->n;
        if (found) symbol->n = i - 2;
        return found;
    }
    return false;
}

bool perf_script_parse_frame(str text, perf_script_frame *out)
{
    *out = (perf_script_frame){0};
    str s = str_trim(text);
    if (!take_address(&s, &out->address)) return false;
    bool has_dso = take_dso(&s, &out->dso);
    if (!has_dso && s.n == 0) return true; /* perf script -F ip prints only the address */
    out->symbol = s;
    out->has_offset = cut_offset(&out->symbol);
    out->inlined = str_eq(out->dso, STR("inlined"));
    if (out->inlined || str_eq(out->dso, STR("[unknown]"))) out->dso = (str){0};
    if (str_eq(out->symbol, STR("[unknown]"))) out->symbol = (str){0};
    return true;
}
