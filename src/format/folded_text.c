/* Splits lines, decodes encodings and parses numbers of the text formats. */
#include "format/folded_text.h"

#include "base/utf8.h"
#include "base/text.h"
#include "base/ban.h"

/* ---- lines ---- */

bool text_next(text_lines *t, str *row)
{
    if (t->at == t->text.n) return false; /* also for empty text without a pointer */
    str rest = {t->text.p + t->at, t->text.n - t->at};
    if (!str_line(&rest, row)) return false;
    t->begin = t->at;
    t->at = t->text.n - rest.n;
    t->number++;
    return true;
}

bool text_is_blank(str row)
{
    for (size_t i = 0; i < row.n; i++)
        if (row.p[i] != ' ' && row.p[i] != '\t') return false;
    return true;
}

bool text_is_comment(str row) { return str_starts(row, STR("#")) || str_starts(row, STR("//")); }

str text_first_lines(str bytes)
{
    enum { DETECT_BYTES = 256 * 1024 };
    if (bytes.n <= DETECT_BYTES) return bytes;
    const char *end = memrchr(bytes.p, '\n', DETECT_BYTES);
    return (str){bytes.p, end ? (size_t)(end - bytes.p) : 0};
}

bool text_is_utf8(str bytes) { return utf8_ok(bytes.p, bytes.n); }

typedef struct ranked {
    str text;
    size_t at;
} ranked;

static int by_text(const void *left, const void *right)
{
    return str_cmp(((const ranked *)left)->text, ((const ranked *)right)->text);
}

uint32_t *text_ranks(const str *texts, size_t n, arena *a)
{
    ranked *v = arena_new(a, ranked, n + 1);
    uint32_t *rank = arena_new(a, uint32_t, n + 1);
    if (!v || !rank) return NULL;
    for (size_t i = 0; i < n; i++) v[i] = (ranked){texts[i], i};
    if (n) qsort(v, n, sizeof *v, by_text);
    for (size_t i = 1; i < n; i++)
        rank[v[i].at] = rank[v[i - 1].at] + !str_eq(v[i].text, v[i - 1].text);
    return rank;
}

/* ---- encodings ---- */

static uint32_t utf16_unit(const uint8_t *p, bool little)
{
    return little ? (uint32_t)(p[0] | p[1] << 8) : (uint32_t)(p[0] << 8 | p[1]);
}

/* Converts UTF-16. Unpaired surrogates and an odd last byte become U+FFFD. */
static bool from_utf16(str in, bool little, arena *a, str *out, uint64_t *bad, err *e)
{
    const uint8_t *p = (const uint8_t *)in.p;
    size_t n = in.n / 2, k = 0;
    if (n > SIZE_MAX / 3 - 4) return arena_spent(a, e);
    char *to = arena_alloc(a, n * 3 + 3);
    if (!to) return arena_spent(a, e);
    for (size_t i = 0; i < n; i++) {
        uint32_t c = utf16_unit(p + 2 * i, little);
        if (c >= 0xd800 && c < 0xdc00 && i + 1 < n) {
            uint32_t low = utf16_unit(p + 2 * (i + 1), little);
            if (low >= 0xdc00 && low < 0xe000) {
                c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
                i++;
            }
        }
        if (c >= 0xd800 && c < 0xe000) c = 0xfffd, ++*bad;
        char code[4];
        size_t m = utf8_put(c, code);
        memcpy(to + k, code, m);
        k += m;
    }
    if (in.n % 2) memcpy(to + k, "\xef\xbf\xbd", 3), k += 3, ++*bad;
    *out = (str){to, k};
    return true;
}

static bool repair_utf8(str in, arena *a, str *out, uint64_t *bad, err *e)
{
    for (size_t i = 0; i < in.n;) {
        i += utf8_valid(in.p + i, in.n - i);
        if (i < in.n) i++, ++*bad;
    }
    if (*bad > (SIZE_MAX - in.n) / 2) return arena_spent(a, e);
    char *to = arena_alloc(a, in.n + 2 * *bad);
    if (!to) return arena_spent(a, e);
    size_t k = 0;
    for (size_t i = 0; i < in.n;) {
        size_t good = utf8_valid(in.p + i, in.n - i);
        memcpy(to + k, in.p + i, good);
        k += good, i += good;
        if (i < in.n) memcpy(to + k, "\xef\xbf\xbd", 3), k += 3, i++;
    }
    *out = (str){to, k};
    return true;
}

bool text_decode(str in, ledger *l, arena *a, str *out, err *e)
{
    uint64_t bad = 0;
    bool ok = true;
    if (str_starts(in, STR("\xff\xfe")) || str_starts(in, STR("\xfe\xff"))) {
        bool little = in.p[0] == '\xff';
        ok = from_utf16((str){in.p + 2, in.n - 2}, little, a, out, &bad, e);
    } else {
        if (str_starts(in, STR("\xef\xbb\xbf"))) in = (str){in.p + 3, in.n - 3};
        *out = in;
        if (!utf8_ok(in.p, in.n)) ok = repair_utf8(in, a, out, &bad, e);
    }
    if (ok && bad) ledger_add_n(l, STAGE_READ, LOSS_TEXT, NULL, bad, "text", (str){0});
    return ok;
}

bool percent_decode(str s, arena *a, str *out)
{
    *out = s;
    if (!s.n || !memchr(s.p, '%', s.n)) return true;
    char *to = arena_alloc(a, s.n);
    if (!to) return false;
    size_t k = 0;
    for (size_t i = 0; i < s.n; i++) {
        int high = s.p[i] == '%' && s.n - i > 2 ? hex_digit(s.p[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(s.p[i + 2]) : -1;
        to[k++] = low >= 0 ? (char)(high << 4 | low) : s.p[i];
        if (low >= 0) i += 2;
    }
    if (utf8_ok(to, k)) *out = (str){to, k};
    return true;
}

/* ---- numbers ---- */

bool digits_only(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9') return false;
    return s.n != 0;
}

bool integer_parse(str s, int64_t *out)
{
    bool negative = s.n && s.p[0] == '-';
    if (negative) s = (str){s.p + 1, s.n - 1};
    if (!digits_only(s)) return false;
    int64_t v = 0;
    for (size_t i = 0; i < s.n; i++) {
        int digit = s.p[i] - '0';
        if (ckd_mul(&v, v, 10) || ckd_add(&v, v, negative ? -digit : digit)) return false;
    }
    *out = v;
    return true;
}

static void decimal_digit(decimal *d, char c, bool fraction)
{
    if (d->digits > (UINT64_MAX - 9) / 10) {
        d->cut |= c != '0';
        if (!fraction) d->decimals--;
        return;
    }
    d->digits = d->digits * 10 + (unsigned)(c - '0');
    if (fraction) d->decimals++;
}

/* Parses "e-05" at s.p[i]; at most three digits. */
static bool exponent_parse(str s, size_t i, int *out)
{
    i++;
    bool negative = i < s.n && s.p[i] == '-';
    if (i < s.n && (s.p[i] == '-' || s.p[i] == '+')) i++;
    str rest = {s.p + i, s.n - i};
    if (!digits_only(rest) || rest.n > 3) return false;
    int v = 0;
    for (size_t k = 0; k < rest.n; k++) v = v * 10 + (rest.p[k] - '0');
    *out = negative ? -v : v;
    return true;
}

enum { DECIMALS_MAX = 400 };

bool decimal_parse(str s, decimal *out)
{
    decimal d = {.negative = s.n && s.p[0] == '-'};
    size_t i = d.negative, n_digits = 0;
    bool fraction = false;
    for (; i < s.n; i++) {
        char c = s.p[i];
        if (c == '.' && !fraction) {
            fraction = true;
            continue;
        }
        if (c < '0' || c > '9') break;
        if (d.decimals > DECIMALS_MAX || d.decimals < -DECIMALS_MAX) return false;
        decimal_digit(&d, c, fraction);
        n_digits++;
    }
    if (!n_digits) return false;
    if (i < s.n) {
        int exponent;
        if ((s.p[i] != 'e' && s.p[i] != 'E') || !exponent_parse(s, i, &exponent)) return false;
        d.decimals -= exponent;
        if (d.decimals > DECIMALS_MAX || d.decimals < -DECIMALS_MAX) return false;
    }
    while (d.decimals > 0 && d.digits % 10 == 0 && d.digits) d.digits /= 10, d.decimals--;
    if (!d.digits) d.decimals = 0;
    *out = d;
    return true;
}

bool decimal_scale(const decimal *d, int scale, int64_t *out, bool *rounded)
{
    uint64_t v = d->digits;
    int k = scale - d->decimals;
    *rounded |= d->cut;
    for (; k > 0 && v; k--)
        if (ckd_mul(&v, v, UINT64_C(10))) return false;
    uint64_t by = 1;
    for (; k < 0 && by < UINT64_C(10000000000000000000); k++) by *= 10;
    if (k < 0) by = 0; /* the result is 0 */
    if (!by || v % by) *rounded |= v != 0;
    v = !by ? 0 : v / by + (v % by >= by - v % by && v % by);
    if (v > (uint64_t)INT64_MAX + d->negative) return false;
    *out = d->negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}
