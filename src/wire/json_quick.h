/* wire/json_quick.h - shortcuts that replace json_next() when the caller, the transcoder, expects a
 * certain token.
 *
 * Each accepts exactly one form.  On other spellings, the end of the window and errors it returns
 * false and the caller uses json_next, so shortcuts do not change which text is accepted. */
#pragma once
#include "wire/json.h"
#include "wire/swar.h"

/* ---- parts of the reader that json.c shares ---- */

static inline bool json_is_digit(char c) { return (unsigned char)(c - '0') < 10; }
static inline bool json_is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
static inline uint64_t json_here(const json *j) { return j->base + (uint64_t)(j->p - j->window); }

/* Skips any number of spaces. */
const char *json_skip_run(const char *p, const char *end);

/* Skips spaces.  Text usually has none, one after commas and colons, or indentation. */
static inline const char *json_skip_blanks(const char *p, const char *end)
{
    if (LIKELY(p < end && (unsigned char)*p > ' ')) return p;
    if (end - p >= 2 && *p == ' ' && (unsigned char)p[1] > ' ') return p + 1;
    return json_skip_run(p, end);
}

static inline void json_value_done(json *j)
{
    j->expect = j->depth ? JSON_EXPECT_COMMA : JSON_EXPECT_NOTHING;
}

/* Moves past a { or [; the caller has checked the depth. */
static inline void json_enter(json *j, bool object)
{
    uint64_t bit = UINT64_C(1) << (j->depth % 64), *w = &j->objects[j->depth / 64];
    *w = object ? *w | bit : *w & ~bit;
    j->depth++;
    j->in_object = object;
    j->expect = object ? JSON_EXPECT_FIRST_KEY : JSON_EXPECT_FIRST_VALUE;
    j->p++;
}

/* Moves past the } or ] of the open container. */
static inline void json_leave(json *j)
{
    j->p++;
    j->depth--;
    if (j->depth) j->in_object = j->objects[(j->depth - 1) / 64] >> ((j->depth - 1) % 64) & 1;
    json_value_done(j);
}

/* ---- shortcuts ---- */

/* Skips spaces and the comma before the next element (array) or key (object).  Returns NULL when
 * there is no comma or none is allowed. */
ALWAYS_INLINE const char *json_quick_comma(const json *j, bool object)
{
    const char *p = json_skip_blanks(j->p, j->end);
    if (j->expect == JSON_EXPECT_COMMA && j->in_object == object)
        return p < j->end && *p == ',' ? json_skip_blanks(p + 1, j->end) : NULL;
    bool first = object ? j->expect == JSON_EXPECT_FIRST_KEY : j->expect <= JSON_EXPECT_FIRST_VALUE;
    return first && !j->bad ? p : NULL;
}

/* Reads the { (object) or [ of a value. */
static inline bool json_take_open(json *j, bool object)
{
    const char *p = json_quick_comma(j, false);
    if (!p || p == j->end || *p != (object ? '{' : '[')) return false;
    if (j->depth >= j->max_depth || j->depth >= JSON_DEPTH_CAP) return false;
    j->p = p;
    j->at = json_here(j);
    j->tok = object ? JSON_OBJECT : JSON_ARRAY;
    json_enter(j, object);
    return true;
}

/* Reads the } or ] of the open container. */
static inline bool json_take_close(json *j)
{
    bool ready = j->expect == JSON_EXPECT_COMMA || j->expect == JSON_EXPECT_FIRST_KEY ||
                 j->expect == JSON_EXPECT_FIRST_VALUE;
    const char *p = json_skip_blanks(j->p, j->end);
    if (j->bad || !ready || p == j->end || *p != (j->in_object ? '}' : ']')) return false;
    j->p = p;
    j->tok = j->in_object ? JSON_OBJECT_END : JSON_ARRAY_END;
    json_leave(j);
    return true;
}

/* Reads the next key if it is written exactly like `quoted`: a name in quotes and a colon.  8 bytes
 * after the end of `quoted` must be readable. */
static inline bool json_take_key(json *j, str quoted)
{
    const char *p = json_quick_comma(j, true);
    if (!p || (size_t)(j->end - p) < quoted.n + 8) return false;
    size_t i = 0;
    for (; quoted.n - i > 8; i += 8)
        if (load8(p + i) != load8(quoted.p + i)) return false;
    if ((load8(p + i) ^ load8(quoted.p + i)) << (8 * (8 - (quoted.n - i)))) return false;
    j->p = p;
    j->at = json_here(j);
    j->p += quoted.n;
    j->expect = JSON_EXPECT_VALUE;
    return true;
}

/* Reads 1 to 19 digits at *s.  Returns false for none, for more, or for a leading 0. */
static inline bool json_quick_digits(const char **s, const char *end, uint64_t *v)
{
    const char *p = *s;
    uint64_t r = 0;
    size_t total = 0, n = 8;
    while (n == 8 && end - p >= 8) {
        uint64_t w = load8(p);
        n = digits8(w); /* may be 0; there is no branch because a ninth digit is hard to predict */
        r = r * pow10_8(n) + digits8_value(w, n);
        total += n;
        p += n;
        if (total > 19) return false;
    }
    for (; n == 8 && p < end && json_is_digit(*p); p++) { /* at the end of the window */
        if (++total > 19) return false;
        r = r * 10 + (uint64_t)(*p - '0');
    }
    if (total == 0 || (**s == '0' && total > 1)) return false;
    *s = p;
    *v = r; /* below 10^19, so it fits */
    return true;
}

/* Reads an integer at s, quoted or not.  Returns the byte after it, or NULL for anything else. */
static inline const char *json_quick_int(const char *s, const char *end, int64_t *out)
{
    uint64_t v;
    bool minus = false;
    if (s == end) return NULL;
    char quote = *s;
    if (quote == '"' && ++s == end) return NULL;
    if (*s == '-') minus = true, s++;
    if (!json_quick_digits(&s, end, &v) || v > INT64_MAX || s == end) return NULL;
    *out = minus ? -(int64_t)v : (int64_t)v;
    if (quote == '"') return *s == '"' ? s + 1 : NULL;
    return *s == ',' || *s == ']' || *s == '}' || json_is_blank(*s) ? s : NULL;
}

/* Reads a bare number of up to seven digits and the comma or bracket after it in one word.  Returns the
 * number of digits, 0 for anything else. */
static inline size_t json_short_int(const char *s, int64_t *out, char *after)
{
    uint64_t w = load8(s);
    size_t d = digits8(w);
    if (d - 1 > 6 || ((w & 0xff) == '0' && d > 1)) return 0;
    *after = (char)(w >> (8 * d) & 0xff);
    *out = (int64_t)digits8_value(w, d);
    return *after == ',' || *after == ']' || *after == '}' ? d : 0;
}

/* Reads the value of the last key if it is a plain integer in [min, max], quoted or not. */
static inline bool json_take_int(json *j, int64_t min, int64_t max, int64_t *v)
{
    if (j->bad || j->expect != JSON_EXPECT_VALUE) return false;
    const char *s = json_skip_blanks(j->p, j->end);
    char after;
    size_t d = j->end - s >= 8 ? json_short_int(s, v, &after) : 0;
    s = d ? s + d : json_quick_int(s, j->end, v);
    if (!s || *v < min || *v > max) return false;
    j->p = s;
    json_value_done(j);
    return true;
}

/* Reads up to n elements of the open array while they are such integers.  Passes each to put(),
 * which writes it at p and returns the end.  Returns the last end and sets *taken to the number of
 * elements. */
ALWAYS_INLINE char *json_take_ints(json *j, int64_t min, int64_t max, size_t n, size_t *taken,
                                   char *p, char *(*put)(char *p, uint64_t v))
{
    const char *s = json_quick_comma(j, false), *end = j->end, *done = NULL;
    size_t k = 0;
    while (s && k < n) {
        int64_t v;
        char after = 0;
        size_t d = end - s >= 8 ? json_short_int(s, &v, &after) : 0;
        s = d ? s + d : json_quick_int(s, end, &v);
        if (!s || v < min || v > max) break;
        p = put(p, (uint64_t)v);
        k++;
        done = s;
        if (after != ',') {
            if (after == ']') break;
            s = json_skip_blanks(s, end);
            if (s == end || *s != ',') break;
        }
        s = json_skip_blanks(s + 1, end);
    }
    if (done) {
        j->p = done;
        json_value_done(j);
    }
    *taken = k;
    return p;
}
