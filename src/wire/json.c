/* The JSON pull parser (json.h).  Strings stay views into the window unless they have escapes.
 * Spaces and plain text are skipped eight bytes at a time. */
#include "wire/json.h"

#include "base/utf8.h"
#include "wire/json_quick.h"
#include "wire/swar.h"
#include "base/text.h"

#include "base/ban.h"

static const json closed = {.max_depth = JSON_MAX_DEPTH, .expect = JSON_EXPECT_VALUE};

json json_open(const void *p, size_t n, arena *a, err *e)
{
    json j = closed;
    j.window = j.p = p ? p : "";
    j.end = j.p + n;
    j.a = a;
    j.e = e;
    j.over = true;
    return j;
}

json json_open_source(source *from, size_t window, arena *a, err *e)
{
    json j = closed;
    j.window = j.p = j.end = "";
    j.from = from;
    j.a = a;
    j.e = e;
    size_t cap = window ? window : JSON_WINDOW;
    char *own = arena_alloc(a, cap);
    if (!own) {
        j.bad = true;
        err_set(e, ERR_MEMORY, "no memory for a window of %zu bytes", cap);
        return j;
    }
    j.window = j.p = j.end = own;
    j.cap = cap;
    return j;
}

/* ---- failing ---- */

PRINTF(4, 0)
static void vfail(json *j, err_code code, uint64_t at, const char *fmt, va_list ap)
{
    char msg[160];
    vsnprintf(msg, sizeof msg, fmt, ap);
    err_at(j->e, code, at, "%s", msg);
    j->bad = true;
    j->tok = JSON_FAIL;
}

bool json_fail(json *j, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vfail(j, ERR_MALFORMED, j->at, fmt, ap);
    va_end(ap);
    return false;
}

/* Fails at `at` instead of the first byte of the token. */
PRINTF(4, 5)
static COLD bool fail_at(json *j, err_code code, const char *s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vfail(j, code, j->base + (uint64_t)(s - j->window), fmt, ap);
    va_end(ap);
    return false;
}

const char *json_token_name(json_token t)
{
    static const char *const names[] = {
        [JSON_FAIL] = "nothing",   [JSON_END] = "the end",     [JSON_OBJECT] = "an object",
        [JSON_OBJECT_END] = "a }", [JSON_ARRAY] = "an array",  [JSON_ARRAY_END] = "a ]",
        [JSON_KEY] = "a key",      [JSON_STRING] = "a string", [JSON_NUMBER] = "a number",
        [JSON_TRUE] = "true",      [JSON_FALSE] = "false",     [JSON_NULL] = "null"};
    return names[t];
}

bool json_expected(json *j, const char *what)
{
    if (j->bad) return false;
    return json_fail(j, "expected %s, found %s", what, json_token_name(j->tok));
}

static COLD bool fail_found(json *j, const char *what)
{
    if (j->bad) return false;
    if (j->p == j->end)
        return fail_at(j, ERR_MALFORMED, j->p, "the input ends where %s should be", what);
    unsigned c = (unsigned char)*j->p;
    if (c > ' ' && c < 0x7f)
        return fail_at(j, ERR_MALFORMED, j->p, "expected %s, found '%c'", what, (char)c);
    return fail_at(j, ERR_MALFORMED, j->p, "expected %s, found byte 0x%02x", what, c);
}

/* ---- the window ---- */

/* Moves the bytes from j->p on to the front (*s moves with them) and reads more after them.
 * Returns false at the end of the input or on failure.  A window that is more than half full grows,
 * so that a token of any length is read in linear time. */
static COLD bool fill(json *j, const char **s)
{
    if (j->over || j->bad) return false;
    size_t keep = (size_t)(j->end - j->p), at = (size_t)(*s - j->p),
           skipped = (size_t)(j->p - j->window);
    char *own = (char *)(uintptr_t)j->window; /* allocated by json_open_source */
    memmove(own, j->p, keep);
    if (keep > j->cap / 2) {
        char *more = j->cap > SIZE_MAX / 2 ? NULL : arena_grow(j->a, own, j->cap, j->cap * 2);
        if (!more) {
            j->window = j->p = own;
            j->end = own + keep;
            j->base += skipped;
            return fail_at(j, ERR_MEMORY, j->p, "no memory for a token of more than %zu bytes",
                           keep);
        }
        own = more;
        j->cap *= 2;
    }
    j->base += skipped;
    j->window = j->p = own;
    size_t n = 0;
    bool ok = source_read(j->from, own + keep, j->cap - keep, &n, j->e);
    j->end = own + keep + n;
    *s = own + at;
    j->over = !ok || n == 0;
    if (!ok) j->bad = true, j->tok = JSON_FAIL;
    return !j->over;
}

/* Returns whether the input has at least n bytes from *s on; reads more if necessary. */
static bool need(json *j, const char **s, size_t n)
{
    while ((size_t)(j->end - *s) < n)
        if (!fill(j, s)) return false;
    return true;
}

const char *json_skip_run(const char *p, const char *end)
{
    for (;;) {
        while (p < end && *p != ' ' && json_is_blank(*p)) p++;
        while (end - p >= 8) { /* indentation */
            uint64_t other = load8(p) ^ bytes8(' ');
            p += other ? __builtin_ctzll(other) / 8 : 8;
            if (other) break;
        }
        while (p < end && *p == ' ') p++;
        if (p == end || !json_is_blank(*p)) return p;
    }
}

/* Skips spaces; returns the byte at j->p, or -1 at the end. */
static inline int peek(json *j)
{
    for (;;) {
        j->p = json_skip_blanks(j->p, j->end);
        if (LIKELY(j->p < j->end)) return (unsigned char)*j->p;
        const char *s = j->p;
        if (!fill(j, &s)) return -1;
    }
}

/* ---- strings ---- */

/* Returns the first quote, backslash or control character at or after s.  ORs the bytes before it
 * into *high: a set bit 7 means "not all ASCII". */
static inline const char *plain_run(const char *s, const char *end, uint64_t *high)
{
    while (end - s >= 8) {
        uint64_t w = load8(s);
        /* Sets bit 7 of ASCII bytes that are a quote, a backslash or below ' '.  Bit 7 of the first
         * such byte is exact; a borrow can only touch bytes after it. */
        uint64_t stop =
            ((w ^ bytes8('"')) - bytes8(1)) | ((w ^ bytes8('\\')) - bytes8(1)) | (w - bytes8(0x20));
        stop &= ~w & bytes8(0x80);
        if (stop) {
            unsigned bits = (unsigned)__builtin_ctzll(stop) & ~7u;
            *high |= w & ((UINT64_C(1) << bits) - 1);
            return s + bits / 8;
        }
        *high |= w;
        s += 8;
    }
    for (; s < end; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\' || c < 0x20) break;
        *high |= c;
    }
    return s;
}

static bool check_utf8(json *j, const char *s, size_t n, uint64_t high)
{
    if (!(high & bytes8(0x80))) return true;
    size_t ok = utf8_valid(s, n);
    if (ok == n) return true;
    return fail_at(j, ERR_MALFORMED, s + ok, "text is not UTF-8: byte 0x%02x",
                   (unsigned char)s[ok]);
}

static bool fail_inside(json *j, const char *s)
{
    if (j->bad) return false;
    if (s == j->end) return json_fail(j, "the string that begins here never ends");
    return fail_at(j, ERR_MALFORMED, s, "control character 0x%02x inside a string",
                   (unsigned char)*s);
}

static bool scratch_put(json *j, const char *p, size_t n)
{
    if (n > j->scratch_cap - j->scratch_n) {
        size_t want = j->scratch_n + n, cap = j->scratch_cap ? j->scratch_cap : 256;
        while (cap < want) cap *= 2; /* cannot overflow: want is at most the size of the window */
        char *q = arena_grow(j->a, j->scratch, j->scratch_cap, cap);
        if (!q)
            return fail_at(j, ERR_MEMORY, j->p, "no memory for a string of more than %zu bytes",
                           j->scratch_n);
        j->scratch = q;
        j->scratch_cap = cap;
    }
    if (n) memcpy(j->scratch + j->scratch_n, p, n);
    j->scratch_n += n;
    return true;
}

/* Reads the four digits of \uXXXX at *s and advances *s. */
static bool hex4(json *j, const char **s, uint32_t *v)
{
    *v = 0;
    bool ok = need(j, s, 6);
    for (size_t i = 2; ok && i < 6; i++) {
        int d = hex_digit((*s)[i]);
        ok = d >= 0;
        *v = *v << 4 | (uint32_t)(d & 15);
    }
    if (!ok) return !j->bad && fail_at(j, ERR_MALFORMED, *s, "\\u requires four hex digits");
    *s += 6;
    return true;
}

static bool is_low(uint32_t c) { return c >= 0xdc00 && c < 0xe000; }

static bool unicode_escape(json *j, const char **s)
{
    uint32_t c, low = 0;
    if (!hex4(j, s, &c)) return false;
    bool lone = is_low(c);
    if (c >= 0xd800 && c < 0xdc00) {
        lone = !need(j, s, 2) || (*s)[0] != '\\' || (*s)[1] != 'u';
        if (!lone && !hex4(j, s, &low)) return false;
        if (!lone && !is_low(low)) {
            lone = true;
            *s -= 6;
        }
    }
    if (j->bad) return false;
    if (lone) return fail_at(j, ERR_MALFORMED, *s - 6, "lone surrogate \\u%04x", c);
    if (low) c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    char utf8[4];
    return scratch_put(j, utf8, utf8_put(c, utf8));
}

static bool escape(json *j, const char **s)
{
    if (!need(j, s, 2)) return fail_inside(j, j->end);
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = (*s)[1];
    if (c == 'u') return unicode_escape(j, s);
    const char *at = c ? strchr(from, c) : NULL;
    if (!at && c > ' ' && c < 0x7f)
        return fail_at(j, ERR_MALFORMED, *s, "\\%c is not an escape", c);
    if (!at)
        return fail_at(j, ERR_MALFORMED, *s, "a backslash before byte 0x%02x", (unsigned char)c);
    *s += 2;
    return scratch_put(j, &to[at - from], 1);
}

/* Reads the rest of a string from its first backslash (s) on.  j->p stays at the opening quote, so that
 * the raw text stays in the window.  It is checked there: escapes are ASCII, so the raw text is UTF-8
 * exactly if the unescaped text is. */
static NOINLINE bool escaped_string(json *j, const char *s, uint64_t high)
{
    j->scratch_n = 0;
    if (!scratch_put(j, j->p + 1, (size_t)(s - j->p - 1))) return false;
    while (s == j->end || *s != '"') {
        if (s < j->end && *s == '\\') {
            if (!escape(j, &s)) return false;
        } else if (s < j->end || !fill(j, &s)) {
            return fail_inside(j, s);
        }
        const char *run = s;
        s = plain_run(s, j->end, &high);
        if (!scratch_put(j, run, (size_t)(s - run))) return false;
    }
    if (!check_utf8(j, j->p + 1, (size_t)(s - j->p - 1), high)) return false;
    j->p = s + 1;
    j->text = (str){j->scratch, j->scratch_n};
    return true;
}

static inline bool string(json *j)
{
    const char *s = j->p + 1;
    uint64_t high = 0;
    for (;;) {
        s = plain_run(s, j->end, &high);
        if (LIKELY(s < j->end)) break;
        if (!fill(j, &s)) return fail_inside(j, s);
    }
    if (UNLIKELY(*s != '"')) return *s == '\\' ? escaped_string(j, s, high) : fail_inside(j, s);
    j->text = (str){j->p + 1, (size_t)(s - j->p - 1)};
    if (!check_utf8(j, j->text.p, j->text.n, high)) return false;
    j->p = s + 1;
    return true;
}

/* ---- numbers and words ---- */

/* Returns the byte at *s, or 0 at the end of the input. */
static inline char byte_at(json *j, const char **s)
{
    return *s < j->end || fill(j, s) ? **s : '\0';
}

static inline bool digits(json *j, const char **s)
{
    if (!json_is_digit(byte_at(j, s))) return false;
    do ++*s;
    while (json_is_digit(byte_at(j, s)));
    return true;
}

static bool number(json *j)
{
    const char *s = j->p;
    if (*s == '-') s++;
    bool ok = true, zero = byte_at(j, &s) == '0';
    if (zero)
        s++;
    else
        ok = digits(j, &s);
    if (zero && json_is_digit(byte_at(j, &s))) return json_fail(j, "a number begins with 0");
    if (ok && byte_at(j, &s) == '.') {
        s++;
        ok = digits(j, &s);
    }
    if (ok && (byte_at(j, &s) | 0x20) == 'e') {
        s++;
        char sign = byte_at(j, &s);
        if (sign == '+' || sign == '-') s++;
        ok = digits(j, &s);
    }
    if (j->bad) return false;
    if (!ok) return fail_at(j, ERR_MALFORMED, s, "a number lacks a digit here");
    j->text = (str){j->p, (size_t)(s - j->p)};
    j->p = s;
    return true;
}

static bool word(json *j, str w)
{
    const char *s = j->p;
    if (!need(j, &s, w.n) || memcmp(s, w.p, w.n) != 0) return fail_found(j, "a value");
    j->p += w.n;
    return true;
}

/* ---- the grammar ---- */

static json_token open_container(json *j, bool object)
{
    if (j->depth >= j->max_depth || j->depth >= JSON_DEPTH_CAP) {
        fail_at(j, ERR_LIMIT, j->p, "nested deeper than %u levels", j->depth);
        return JSON_FAIL;
    }
    json_enter(j, object);
    return j->tok = object ? JSON_OBJECT : JSON_ARRAY;
}

static json_token close_container(json *j)
{
    json_token t = j->in_object ? JSON_OBJECT_END : JSON_ARRAY_END;
    json_leave(j);
    return j->tok = t;
}

static json_token scalar(json *j, json_token t, bool ok)
{
    if (!ok) return JSON_FAIL;
    json_value_done(j);
    return j->tok = t;
}

static inline json_token value(json *j, int c)
{
    switch (c) {
    case '"': return scalar(j, JSON_STRING, string(j));
    case '{': return open_container(j, true);
    case '[': return open_container(j, false);
    case 't': return scalar(j, JSON_TRUE, word(j, STR("true")));
    case 'f': return scalar(j, JSON_FALSE, word(j, STR("false")));
    case 'n': return scalar(j, JSON_NULL, word(j, STR("null")));
    default: break;
    }
    if (c == '-' || json_is_digit((char)c)) return scalar(j, JSON_NUMBER, number(j));
    fail_found(j, "a value");
    return JSON_FAIL;
}

static inline json_token key(json *j, int c)
{
    if (c != '"') {
        fail_found(j, j->expect == JSON_EXPECT_KEY ? "a key" : "a key or }");
        return JSON_FAIL;
    }
    if (!string(j)) return JSON_FAIL;
    /* The colon may be outside the window, and fetching it would move the text of the key. */
    bool colon = j->p < j->end && *j->p == ':';
    j->p += colon;
    j->expect = colon ? JSON_EXPECT_VALUE : JSON_EXPECT_COLON;
    return j->tok = JSON_KEY;
}

/* Returns the token when the outermost value is complete or the input is empty. */
static COLD json_token outside(json *j, int c)
{
    if (c < 0 && !j->bad) return j->tok = JSON_END;
    if (!j->bad) fail_found(j, "the end");
    return JSON_FAIL;
}

json_token json_next(json *j)
{
    if (UNLIKELY(j->bad)) return JSON_FAIL;
    int c = peek(j);
    j->at = json_here(j);
    if (j->expect == JSON_EXPECT_COMMA) {
        if (c == (j->in_object ? '}' : ']')) return close_container(j);
        if (c != ',')
            return fail_found(j, j->in_object ? "a comma or }" : "a comma or ]"), JSON_FAIL;
        j->p++;
        c = peek(j);
        j->at = json_here(j);
        j->expect = j->in_object ? JSON_EXPECT_KEY : JSON_EXPECT_VALUE;
    } else if (j->expect == JSON_EXPECT_COLON) {
        if (c != ':') return fail_found(j, "a colon"), JSON_FAIL;
        j->p++;
        c = peek(j);
        j->at = json_here(j);
        j->expect = JSON_EXPECT_VALUE;
    }
    switch (j->expect) {
    case JSON_EXPECT_FIRST_KEY:
        if (c == '}') return close_container(j);
        return key(j, c);
    case JSON_EXPECT_KEY: return key(j, c);
    case JSON_EXPECT_FIRST_VALUE:
        if (c == ']') return close_container(j);
        return value(j, c);
    case JSON_EXPECT_VALUE: return value(j, c);
    default: return outside(j, c);
    }
}

bool json_skip_open(json *j)
{
    if (j->tok != JSON_OBJECT && j->tok != JSON_ARRAY) return !j->bad;
    uint32_t outer = j->depth - 1;
    while (j->depth > outer)
        if (json_next(j) == JSON_FAIL) return false;
    return true;
}

bool json_skip_value(json *j) { return json_next(j) != JSON_FAIL && json_skip_open(j); }

bool json_finish(json *j) { return !j->bad && json_next(j) == JSON_END; }

bool json_window(json *j) { return !j->bad && peek(j) >= 0; }

bool json_another(json *j)
{
    if (j->bad || j->expect != JSON_EXPECT_NOTHING || peek(j) < 0) return false;
    j->expect = JSON_EXPECT_VALUE;
    return true;
}
