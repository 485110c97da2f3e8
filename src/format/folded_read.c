/* Reads folded stacks: `frame;frame;frame NUMBER`, one line per stack, root first (docs/folded.md).
 *
 * The reader makes two passes. The first determines properties of the whole file: whether every
 * line ends in two numbers (before and after), the number of decimals, whether every stack starts
 * with a thread. The second builds the model. */
#include "format/folded_text.h"

#include "wire/carried.h"
#include "base/utf8.h"
#include "base/ban.h"
#include <inttypes.h>

enum {
    DETECT_LINES = 64,
    SCALE_MAX = 9, /* decimals that are stored */
};

/* ---- a line ---- */

typedef struct folded_line {
    str stack;
    decimal number[2];
    bool two;  /* "stack 1 2": number[0] is the first of the two */
    str first; /* the stack if only number[1] is a value, because not all lines have two */
} folded_line;

/* Removes the last word of *s. Returns false when nothing precedes it. */
static bool take_last(str *s, str *word)
{
    size_t i = s->n;
    while (i && s->p[i - 1] != ' ' && s->p[i - 1] != '\t') i--;
    if (!i || i == s->n) return false;
    *word = (str){s->p + i, s->n - i};
    *s = (str){s->p, i - 1};
    return true;
}

static bool line_parse(str row, folded_line *out)
{
    while (row.n && (row.p[row.n - 1] == ' ' || row.p[row.n - 1] == '\t')) row.n--;
    str word, rest = row;
    *out = (folded_line){0};
    if (!take_last(&rest, &word) || !decimal_parse(word, &out->number[1])) return false;
    out->first = out->stack = rest;
    str shorter = rest;
    out->two = take_last(&shorter, &word) && decimal_parse(word, &out->number[0]);
    if (out->two) out->stack = shorter;
    return true;
}

/* ---- threads, from the first frame ---- */

typedef enum root_form {
    ROOT_NONE = 1,
    ROOT_TID = 2,    /* [name tid=12] */
    ROOT_COMM = 4,   /* comm-1/12, comm-?/12 */
    ROOT_AUSTIN = 8, /* P1;T12 */
    ROOT_ALL = 15
} root_form;

typedef struct root {
    str name, pid, tid; /* empty: unknown */
} root;

static str frame_at(str stack, size_t at)
{
    const char *end = at < stack.n ? memchr(stack.p + at, ';', stack.n - at) : NULL;
    return (str){stack.p + at, end ? (size_t)(end - stack.p) - at : stack.n - at};
}

static str from(str s, size_t at) { return (str){s.p + at, s.n - at}; }

static bool root_tid(str f, root *out)
{
    static const char mark[] = " tid=";
    if (f.n < 8 || f.p[0] != '[' || f.p[f.n - 1] != ']') return false;
    str in = {f.p + 1, f.n - 2};
    const char *at = memmem(in.p, in.n, mark, sizeof mark - 1);
    if (!at) return false;
    size_t n = (size_t)(at - in.p);
    *out = (root){.name = {in.p, n}, .tid = from(in, n + sizeof mark - 1)};
    return digits_only(out->tid);
}

static bool root_comm(str f, root *out)
{
    const char *slash = f.n ? memrchr(f.p, '/', f.n) : NULL;
    if (!slash) return false;
    str head = {f.p, (size_t)(slash - f.p)};
    const char *dash = head.n ? memrchr(head.p, '-', head.n) : NULL;
    if (!dash || dash == head.p) return false;
    str pid = from(head, (size_t)(dash - head.p) + 1);
    *out = (root){.name = {head.p, (size_t)(dash - head.p)}, .tid = from(f, head.n + 1)};
    if (digits_only(pid)) out->pid = pid;
    return digits_only(out->tid) && (out->pid.n || str_eq(pid, STR("?")));
}

static bool root_austin(str stack, str f, root *out)
{
    if (f.n < 2 || f.p[0] != 'P' || f.n >= stack.n) return false;
    str t = frame_at(stack, f.n + 1);
    if (t.n < 2 || t.p[0] != 'T') return false;
    const char *colon = memrchr(t.p, ':', t.n); /* T<interpreter>:<thread> */
    *out = (root){.pid = from(f, 1), .tid = from(t, colon ? (size_t)(colon - t.p) + 1 : 1)};
    return digits_only(out->pid) && digits_only(out->tid);
}

static root_form root_of(str stack, unsigned forms, root *out)
{
    str f = frame_at(stack, 0);
    if (forms & ROOT_TID && root_tid(f, out)) return ROOT_TID;
    if (forms & ROOT_COMM && root_comm(f, out)) return ROOT_COMM;
    if (forms & ROOT_AUSTIN && root_austin(stack, f, out)) return ROOT_AUSTIN;
    return ROOT_NONE;
}

/* ---- first pass ---- */

typedef struct survey {
    uint64_t n, n_two; /* stacks; those with two numbers */
    unsigned roots;    /* forms (ROOT_*) that the first frame of every stack has */
    int decimals;      /* largest number of decimals */
    uint64_t n_comments;
    str mode, interval, duration; /* from austin's comments */
} survey;

static void survey_comment(survey *v, str row)
{
    static const struct {
        str key;
        size_t at;
    } keys[] = {{STR("mode: "), offsetof(survey, mode)},
                {STR("interval: "), offsetof(survey, interval)},
                {STR("duration: "), offsetof(survey, duration)}};
    str text = text_comment(row);
    v->n_comments++;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (str_starts(text, keys[i].key))
            *(str *)((char *)v + keys[i].at) = from(text, keys[i].key.n);
}

static survey survey_of(str text)
{
    survey v = {.roots = ROOT_ALL & ~ROOT_NONE};
    text_lines t = {.text = text};
    folded_line f;
    root r;
    for (str row; text_next(&t, &row);) {
        if (text_is_blank(row)) continue;
        if (text_is_comment(row)) {
            survey_comment(&v, row);
            continue;
        }
        if (!line_parse(row, &f)) continue;
        v.n++;
        v.n_two += f.two;
        for (int k = f.two ? 0 : 1; k < 2; k++)
            if (f.number[k].decimals > v.decimals) v.decimals = f.number[k].decimals;
        if (v.roots) v.roots &= root_of(f.stack, v.roots, &r);
    }
    if (!v.n) v.roots = 0;
    return v;
}

/* ---- second pass ---- */

typedef struct folded {
    text_reader r;
    survey v;
    bool differences;
    int scale; /* values are multiplied by 10^scale */
} folded;

static size_t thread_attrs(folded *x, str stack, uint32_t attrs[3])
{
    root r = {0};
    size_t n = 0;
    int64_t id;
    if (!x->v.roots || root_of(stack, x->v.roots, &r) == ROOT_NONE) return 0;
    if (r.name.n) attrs[n++] = builder_attribute_str(&x->r.b, STR("thread.name"), r.name);
    if (r.pid.n && integer_parse(r.pid, &id))
        attrs[n++] = builder_attribute_int(&x->r.b, STR("process.pid"), id);
    if (r.tid.n && integer_parse(r.tid, &id))
        attrs[n++] = builder_attribute_int(&x->r.b, STR("thread.id"), id);
    return n;
}

static void take_line(folded *x, const text_lines *t, str row)
{
    folded_line f;
    int64_t value[2] = {0};
    bool rounded = false;
    if (!line_parse(row, &f)) {
        text_bad(&x->r, t, row, "no number at the end of the line");
        return;
    }
    str stack = x->differences ? f.stack : f.first;
    bool fits = decimal_scale(&f.number[1], x->scale, &value[x->differences], &rounded) &&
                (!x->differences || decimal_scale(&f.number[0], x->scale, &value[0], &rounded));
    if (!fits) {
        text_bad(&x->r, t, row, "the number does not fit in 64 bits");
        return;
    }
    if (rounded) ledger_add(x->r.o->ledger, STAGE_READ, LOSS_ROUNDED, NULL, "value", row);
    uint32_t attrs[3];
    size_t n = thread_attrs(x, stack, attrs);
    text_add(&x->r, text_stack(&x->r, stack), 0, attrs, n, value, NULL);
}

static void take_lines(folded *x)
{
    text_lines t = {.text = x->r.text};
    for (str row; !x->r.b.failed && text_next(&t, &row);) {
        if (!text_is_blank(row) && !text_is_comment(row)) take_line(x, &t, row);
        text_progress(&x->r, &t);
    }
}

/* ---- the profile ---- */

/* Uses the metric that austin names, or a count of samples. */
static void set_types(folded *x, profile *p)
{
    const read_opts *o = x->r.o;
    builder *b = &x->r.b;
    bool timed = str_eq(x->v.mode, STR("wall")) || str_eq(x->v.mode, STR("cpu"));
    bool memory = str_eq(x->v.mode, STR("memory"));
    str type = timed || memory ? x->v.mode : STR("samples");
    str unit = timed ? STR("microseconds") : memory ? STR("bytes") : STR("count");
    bool given = o->sample_type.n || o->sample_unit.n;
    value_type is = {builder_string(b, given ? o->sample_type : type),
                     builder_string(b, given ? o->sample_unit : unit)};
    p->sample_type = is;
    int64_t n;
    if (timed && integer_parse(x->v.interval, &n) && n > 0) {
        p->period = n;
        p->period_type = (value_type){builder_string(b, type), builder_string(b, unit)};
    }
    if (timed && integer_parse(x->v.duration, &n) && n > 0 && n < INT64_MAX / 1000)
        p->duration_nano = (uint64_t)n * 1000;
}

static uint32_t scale_attr(folded *x)
{
    int64_t by = 1;
    for (int i = 0; i < x->scale; i++) by *= 10;
    ledger_add(x->r.o->ledger, STAGE_READ, LOSS_VALUE_SCALE, KILN_ATTR_VALUE_SCALE, "value",
               (str){0});
    return builder_attribute_int(&x->r.b, STR(KILN_ATTR_VALUE_SCALE), by);
}

static void make_profile(folded *x, unsigned k)
{
    uint32_t attrs[3];
    size_t n = 0;
    profile *p = builder_profile(&x->r.b);
    set_types(x, p);
    if (x->differences)
        attrs[n++] = builder_attribute_str(&x->r.b, STR(KILN_ATTR_PROFILE_NAME),
                                           k ? STR("after") : STR("before"));
    if (x->scale) attrs[n++] = scale_attr(x);
    if (!k) n += text_comments(&x->r, x->v.n_comments, &attrs[n]);
    builder_profile_attrs(&x->r.b, attrs, n);
    text_samples(&x->r, k);
}

static bool build(folded *x, model *out, err *e)
{
    x->v = survey_of(x->r.text);
    x->differences = x->v.n && x->v.n_two == x->v.n;
    x->scale = x->v.decimals < SCALE_MAX ? x->v.decimals : SCALE_MAX;
    take_lines(x);
    if (!text_check(&x->r, "frame;frame 12", e)) return false;
    text_envelope(&x->r);
    make_profile(x, 0);
    if (x->differences) make_profile(x, 1);
    return builder_finish(&x->r.b, out, e);
}

static bool read(const format *f, str bytes, const read_opts *o, arena *a, model *out,
                 layout_verdict *verdict, err *e)
{
    (void)f, (void)verdict;
    folded x = {0};
    bool ok = text_open(&x.r, bytes, o, a, e) && build(&x, out, e);
    text_close(&x.r);
    return ok;
}

/* ---- detection ---- */

static bool is_utf16(str bytes)
{
    return str_starts(bytes, STR("\xff\xfe")) || str_starts(bytes, STR("\xfe\xff"));
}

/* Gives a low score to text where most lines end in a number and some line has a ;. */
static unsigned detect(str bytes)
{
    str text = text_first_lines(bytes);
    arena a = {0};
    if (is_utf16(text) && !text_decode(text, NULL, &a, &text, NULL)) text.n = 0;
    unsigned n = 0, good = 0, joined = 0;
    text_lines t = {.text = text};
    folded_line f;
    bool binary = text.n && memchr(text.p, '\0', text.n);
    for (str row; !binary && n < DETECT_LINES && text_next(&t, &row);) {
        if (text_is_blank(row) || text_is_comment(row)) continue;
        n++;
        bool is = line_parse(row, &f);
        good += is;
        joined += is && memchr(f.stack.p, ';', f.stack.n);
    }
    arena_free(&a);
    if (!good || (!joined && good < n)) return 0;
    return good == n ? (joined ? 50 : 12) : good * 2 > n ? 25 : 0;
}

/* Whether the first lines are folded stacks, even if a name looks like `collapsed` attributes. */
static bool may_be(const format *f, str bytes)
{
    (void)f;
    text_lines t = {.text = text_first_lines(bytes)};
    folded_line l;
    unsigned n = 0;
    for (str row; n < DETECT_LINES && text_next(&t, &row);) {
        if (text_is_blank(row) || text_is_comment(row)) continue;
        if (!line_parse(row, &l)) return false;
        n++;
    }
    return n > 0;
}

const format format_folded = {
    .name = "folded",
    .what = "folded stacks: lines `frame;frame number`, also with numbers before and after",
    .suffixes = ".folded .folded.txt",
    .text = true,
    .carries = CARRIES(STACKS),
    .detect = detect,
    .may_be = may_be,
    .read = read,
    .is_current = text_is_utf8,
    .write = folded_write,
};
