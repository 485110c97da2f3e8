/* Reads the draft's collapsed form: `frame;frame NUMBER k=v,k=v TIME` (docs/spec/layouts.md,
 * docs/folded.md).
 *
 * A line is split at single spaces. When the second word is an integer and all later words are
 * attributes or digits, the line is read as the draft's own parser read it. Otherwise time,
 * attributes and value are read from the right, and the rest is the stack, so that names may
 * contain spaces. */
#include "format/folded_text.h"

#include "base/utf8.h"
#include "base/text.h"
#include "base/ban.h"

enum {
    DETECT_LINES = 64,
    TIME_DIGITS_MIN = 10, /* minimum digits of a time where a shorter number could be a value */
    TIME_DIGITS_SURE = 16,
};

static bool take_word(str *s, str *word)
{
    if (!s->n) return false;
    const char *end = memchr(s->p, ' ', s->n);
    size_t n = end ? (size_t)(end - s->p) : s->n;
    *word = (str){s->p, n};
    *s = end ? (str){end + 1, s->n - n - 1} : (str){s->p + n, 0};
    return true;
}

static bool is_attrs(str s) { return s.n && memchr(s.p, '=', s.n); }

/* Splits a line as the draft does. Returns false when a word after the value is neither attributes
 * nor a time. */
static bool split_from_left(str row, collapsed_line *out)
{
    str word;
    *out = (collapsed_line){0};
    if (!take_word(&row, &out->stack) || !take_word(&row, &word)) return false;
    if (!integer_parse(word, &out->value)) return false;
    while (take_word(&row, &word)) {
        str *to = is_attrs(word) ? &out->attrs : &out->time;
        if (to->n || (to == &out->time && !digits_only(word))) return false;
        *to = word;
    }
    return true;
}

static str last_word(str s)
{
    const char *blank = s.n ? memrchr(s.p, ' ', s.n) : NULL;
    size_t at = blank ? (size_t)(blank - s.p) + 1 : 0;
    return (str){s.p + at, s.n - at};
}

static str without_last(str s)
{
    size_t n = last_word(s).n;
    return (str){s.p, s.n > n ? s.n - n - 1 : 0};
}

/* Splits a line from its end. `timed`: the last word is a time if it can be one. */
static bool split_from_right(str row, bool timed, collapsed_line *out)
{
    *out = (collapsed_line){0};
    int64_t unused;
    str word = last_word(row), before = last_word(without_last(row));
    bool could = word.n >= TIME_DIGITS_MIN && digits_only(word);
    if (timed && could && (is_attrs(before) || integer_parse(before, &unused))) {
        out->time = word;
        row = without_last(row);
        word = last_word(row);
    }
    if (is_attrs(word)) {
        out->attrs = word;
        row = without_last(row);
        word = last_word(row);
    }
    if (!integer_parse(word, &out->value) || word.n == row.n) return false;
    out->stack = without_last(row);
    return true;
}

bool collapsed_parse(str row, collapsed_line *out)
{
    while (row.n && row.p[row.n - 1] == ' ') row.n--;
    return split_from_left(row, out) || split_from_right(row, true, out) ||
           split_from_right(row, false, out);
}

/* ---- attributes ---- */

typedef struct pair {
    str key, value;
} pair;

typedef struct collapsed {
    text_reader r;
    VEC(pair) pairs; /* attributes of the current line */
    u32s attrs;
} collapsed;

/* Adds a pair. If the key exists, its pair gets the new value. */
static bool put_pair(collapsed *x, str key, str value)
{
    for (size_t i = 0; i < x->pairs.n; i++)
        if (str_eq(x->pairs.v[i].key, key)) return x->pairs.v[i].value = value, true;
    pair *p = vec_push(&x->r.work, &x->pairs);
    if (!p) return !(x->r.b.failed = true);
    *p = (pair){key, value};
    return true;
}

enum { PAIRS_MAX = 256 }; /* limit per line, because lookup is linear */

/* Splits k=v,k=v. Returns NULL, or why they are invalid. */
static const char *split_attrs(collapsed *x, str s)
{
    x->pairs.n = 0;
    for (size_t at = 0; s.n && at <= s.n;) {
        const char *p = s.p + at, *comma = memchr(p, ',', s.n - at);
        size_t n = comma ? (size_t)(comma - p) : s.n - at;
        const char *equals = n ? memchr(p, '=', n) : NULL;
        if (!equals || equals == p) return "an attribute is not key=value";
        str key = {p, (size_t)(equals - p)}, value = {equals + 1, n - key.n - 1};
        if (x->pairs.n == PAIRS_MAX) return "more than 256 attributes";
        if (x->r.o->percent &&
            !(percent_decode(key, x->r.b.a, &key) && percent_decode(value, x->r.b.a, &value)))
            x->r.b.failed = true;
        if (!put_pair(x, key, value)) return NULL;
        at += n + 1;
    }
    return NULL;
}

static bool parse_id(str s, size_t n, uint8_t *out)
{
    if (str_starts(s, STR("0x"))) s = (str){s.p + 2, s.n - 2};
    return hex_bytes(s, out, n) && !id_is_zero(out, n);
}

static const pair *pair_of(const collapsed *x, str key)
{
    for (size_t i = 0; i < x->pairs.n; i++)
        if (str_eq(x->pairs.v[i].key, key)) return &x->pairs.v[i];
    return NULL;
}

/* Returns the attributes of the line. Two valid ids become a link instead of attributes. */
static uint32_t take_attrs(collapsed *x)
{
    link_ids ids = {0};
    const pair *trace = pair_of(x, STR("trace_id")), *parent = pair_of(x, STR("span_id"));
    bool linked = trace && parent && parse_id(trace->value, 16, ids.trace_id) &&
                  parse_id(parent->value, 8, ids.span_id);
    x->attrs.n = 0;
    for (size_t i = 0; i < x->pairs.n; i++) {
        const pair *p = &x->pairs.v[i];
        if (linked && (p == trace || p == parent)) continue;
        uint32_t *slot = vec_push(&x->r.work, &x->attrs);
        if (!slot) return x->r.b.failed = true, 0;
        *slot = builder_attribute_str(&x->r.b, p->key, p->value);
    }
    return linked ? builder_link(&x->r.b, ids.trace_id, ids.span_id) : 0;
}

/* ---- time: the number of digits implies the unit ---- */

static bool parse_time(str s, uint64_t *ns)
{
    static const struct {
        uint64_t below, factor;
    } units[] = {
        {100000000000, 1000000000}, {100000000000000, 1000000}, {100000000000000000, 1000}};
    uint64_t v = 0;
    for (size_t i = 0; i < s.n; i++)
        if (ckd_mul(&v, v, UINT64_C(10)) || ckd_add(&v, v, (unsigned)(s.p[i] - '0'))) return false;
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (v < units[i].below) return !ckd_mul(ns, v, units[i].factor);
    *ns = v;
    return true;
}

/* ---- reading ---- */

/* Returns NULL, or why the line is invalid. */
static const char *take_line(collapsed *x, str row)
{
    collapsed_line f;
    uint64_t time = 0;
    if (!collapsed_parse(row, &f)) return "expected `frame;frame 12 key=value 1687841528000000`";
    if (f.time.n && !parse_time(f.time, &time)) return "the time does not fit in 64 bits";
    const char *wrong = split_attrs(x, f.attrs);
    if (wrong) return wrong;
    uint32_t stack = text_stack(&x->r, f.stack), link = take_attrs(x);
    text_add(&x->r, stack, link, x->attrs.v, x->attrs.n, (int64_t[2]){f.value, 0},
             time ? &time : NULL);
    return NULL;
}

static bool build(collapsed *x, model *out, err *e)
{
    text_lines t = {.text = x->r.text};
    uint64_t n_comments = 0;
    for (str row; !x->r.b.failed && text_next(&t, &row);) {
        text_progress(&x->r, &t);
        n_comments += text_is_comment(row);
        if (text_is_blank(row) || text_is_comment(row)) continue;
        const char *wrong = take_line(x, row);
        if (wrong) text_bad(&x->r, &t, row, wrong);
    }
    if (!text_check(&x->r, "frame;frame 12 key=value 1687841528000000", e)) return false;
    text_envelope(&x->r);
    const read_opts *o = x->r.o;
    profile *p = builder_profile(&x->r.b);
    p->sample_type = (value_type){builder_string(&x->r.b, o->sample_type),
                                  builder_string(&x->r.b, o->sample_unit)};
    p->has_sample_type = true;
    uint32_t attr;
    builder_profile_attrs(&x->r.b, &attr, text_comments(&x->r, n_comments, &attr));
    text_samples(&x->r, 0);
    return builder_finish(&x->r.b, out, e);
}

static bool read(const format *f, str bytes, const read_opts *o, arena *a, model *out,
                 layout_verdict *verdict, err *e)
{
    (void)f, (void)verdict;
    collapsed x = {0};
    bool ok = text_open(&x.r, bytes, o, a, e) && build(&x, out, e);
    text_close(&x.r);
    return ok;
}

/* ---- detection: a line has attributes, or every line ends in a long time ---- */

static unsigned detect(str bytes)
{
    str text = text_first_lines(bytes);
    if (!text.n || memchr(text.p, '\0', text.n)) return 0;
    if (str_starts(text, STR("\xef\xbb\xbf"))) text = (str){text.p + 3, text.n - 3};
    if (str_starts(text, STR(COLLAPSED_MARK))) return 60;
    unsigned n = 0, good = 0, attributed = 0, timed = 0;
    text_lines t = {.text = text};
    collapsed_line f;
    for (str row; n < DETECT_LINES && text_next(&t, &row);) {
        if (text_is_blank(row) || text_is_comment(row)) continue;
        n++;
        if (!collapsed_parse(row, &f)) continue;
        good++;
        attributed += f.attrs.n != 0;
        timed += f.time.n >= TIME_DIGITS_SURE;
    }
    bool is = attributed || (timed && timed == n);
    return !is || good * 2 <= n ? 0 : good == n ? 55 : 30;
}

const format format_collapsed = {
    .name = "collapsed",
    .what = "the draft's folded stacks with attributes, link and time",
    .suffixes = ".collapsed .collapsed.txt",
    .text = true,
    .carries = CARRIES(STACKS) | CARRIES(VALUES) | CARRIES(TIMESTAMPS) | CARRIES(LINKS) |
               CARRIES(SAMPLE_ATTRIBUTES),
    .detect = detect,
    .read = read,
    .is_current = text_is_utf8,
    .write = collapsed_write,
};
