/* Builds a model from stacks in text form and their observations. The readers of `folded` and
 * `collapsed` share it. */
#include "format/folded_text.h"

#include "wire/carried.h"
#include "base/ban.h"
#include <inttypes.h>

enum { PROGRESS_STEP = 4 << 20 };

bool text_open(text_reader *r, str bytes, const read_opts *o, arena *a, err *e)
{
    *r = (text_reader){.o = o, .work = arena_beside(a), .base = NO_OFFSET};
    if (!text_decode(bytes, o->ledger, a, &r->text, e)) return false;
    uintptr_t skipped =
        (uintptr_t)r->text.p - (uintptr_t)bytes.p; /* byte order mark; huge if text is a copy */
    if (skipped <= bytes.n) r->base = skipped;
    if (!builder_init(&r->b, a)) return arena_spent(a, e);
    r->b.borrow = true;
    return true;
}

void text_close(text_reader *r) { arena_free(&r->work); }

static void spent(text_reader *r) { r->b.failed = true; }

void text_progress(text_reader *r, const text_lines *at)
{
    if (!r->o->progress || at->at - r->reported < PROGRESS_STEP) return;
    r->reported = at->at;
    r->o->progress(r->o->ctx, at->at, r->text.n);
}

/* ---- frames ---- */

/* Removes an annotation such as "_[k]" from the end of a frame. Returns its letter; 0: none. */
static char take_annotation(str *frame)
{
    size_t n = frame->n;
    if (n < 5 || memcmp(frame->p + n - 4, "_[", 2) != 0 || frame->p[n - 1] != ']') return 0;
    char c = frame->p[n - 2];
    if (!strchr("kjiw01", c) || !c) return 0;
    frame->n -= 4;
    return c;
}

static size_t annotation_attr(text_reader *r, char c, str frame, uint32_t *attr)
{
    if (!c) return 0;
    const char *key = c == 'k' ? ATTR_FRAME_TYPE : KILN_ATTR_FRAME_ANNOTATION;
    static const char letters[] = "jiw01";
    const char *at = strchr(letters, c);
    str value = c == 'k' ? STR("kernel") : (str){at ? at : letters, 1};
    *attr = builder_attribute_str(&r->b, str_of(key), value);
    ledger_add(r->o->ledger, STAGE_READ, LOSS_FRAME_TYPE, key, "frame", frame);
    return 1;
}

static uint32_t make_location(text_reader *r, str frame)
{
    str name = frame;
    uint32_t attr = 0;
    char c = take_annotation(&name);
    if (!name.n) {
        name = STR("[unknown]");
        ledger_add(r->o->ledger, STAGE_READ, LOSS_NAME, NULL, "frame without a name", (str){0});
    }
    if (r->o->percent && !percent_decode(name, r->b.a, &name)) spent(r);
    function f = {.name = builder_string(&r->b, name)};
    line l = {.function = builder_function(&r->b, &f)};
    size_t n = annotation_attr(r, c, frame, &attr);
    return builder_location(&r->b, 0, 0, &l, 1, &attr, n);
}

/* Returns the location of a frame's text; creates it once. */
static uint32_t frame_location(text_reader *r, str frame)
{
    if (!hash_index_room(&r->by_text, &r->work)) return spent(r), 0;
    uint64_t h = hash_bytes(frame.p, frame.n, r->by_text.seed);
    uint32_t i = hash_first(&r->by_text, h);
    for (uint32_t at; hash_next(&r->by_text, &i, h, &at); i++)
        if (str_eq(r->frames.v[at].text, frame)) return r->frames.v[at].location;
    text_frame *f = vec_push(&r->work, &r->frames);
    if (!f) return spent(r), 0;
    *f = (text_frame){frame, make_location(r, frame)};
    hash_put(&r->by_text, i, h, (uint32_t)(r->frames.n - 1));
    return f->location;
}

uint32_t text_stack(text_reader *r, str list)
{
    r->stack.n = 0;
    for (size_t at = 0; at <= list.n;) {
        const char *p = list.p + at, *end = memchr(p, ';', list.n - at);
        size_t n = end ? (size_t)(end - p) : list.n - at;
        uint32_t *slot = vec_push(&r->work, &r->stack);
        if (!slot) return spent(r), 0;
        *slot = frame_location(r, (str){p, n});
        at += n + 1;
    }
    for (size_t i = 0, k = r->stack.n - 1; i < k; i++, k--) { /* reverses to leaf first */
        uint32_t t = r->stack.v[i];
        r->stack.v[i] = r->stack.v[k];
        r->stack.v[k] = t;
    }
    return builder_stack(&r->b, r->stack.v, r->stack.n);
}

/* ---- samples ---- */

static bool same_sample(const text_reader *r, const text_sample *s, const text_sample *key,
                        const uint32_t *attrs)
{
    return s->stack == key->stack && s->link == key->link && s->timed == key->timed &&
           s->attrs.n == key->attrs.n &&
           (!key->attrs.n ||
            !memcmp(r->attrs.v + s->attrs.at, attrs, key->attrs.n * sizeof *attrs));
}

static text_sample *new_sample(text_reader *r, text_sample key, const uint32_t *attrs)
{
    if (r->attrs.n > UINT32_MAX - key.attrs.n || !vec_reserve(&r->work, &r->attrs, key.attrs.n))
        return NULL;
    text_sample *s = vec_push(&r->work, &r->samples);
    if (!s) return NULL;
    key.attrs.at = (uint32_t)r->attrs.n;
    if (key.attrs.n) memcpy(r->attrs.v + r->attrs.n, attrs, key.attrs.n * sizeof *attrs);
    r->attrs.n += key.attrs.n;
    *s = key;
    return s;
}

static text_sample *find_sample(text_reader *r, text_sample key, const uint32_t *attrs)
{
    if (!hash_index_room(&r->by_identity, &r->work)) return NULL;
    uint64_t h = hash_mix(hash_mix(hash_mix(r->by_identity.seed, key.timed), key.stack), key.link);
    if (key.attrs.n) h = hash_bytes(attrs, key.attrs.n * sizeof *attrs, h);
    uint32_t i = hash_first(&r->by_identity, h);
    for (uint32_t at; hash_next(&r->by_identity, &i, h, &at); i++)
        if (same_sample(r, &r->samples.v[at], &key, attrs)) return &r->samples.v[at];
    text_sample *s = new_sample(r, key, attrs);
    if (s) hash_put(&r->by_identity, i, h, (uint32_t)(r->samples.n - 1));
    return s;
}

void text_add(text_reader *r, uint32_t stack, uint32_t link, const uint32_t *attrs, size_t n_attrs,
              const int64_t value[2], const uint64_t *time)
{
    text_sample key = {
        .stack = stack, .link = link, .attrs.n = (uint32_t)n_attrs, .timed = time != NULL};
    text_sample *s = find_sample(r, key, attrs);
    if (!s) {
        spent(r);
        return;
    }
    if (time) {
        text_observation *o = vec_push(&r->work, &r->observations);
        if (!o) return spent(r);
        *o = (text_observation){(uint32_t)(s - r->samples.v), value[0], *time};
        s->n++;
        return;
    }
    bool saturated = false;
    for (int k = 0; k < 2; k++) s->value[k] = add_saturating(s->value[k], value[k], &saturated);
    if (saturated)
        ledger_add(r->o->ledger, STAGE_READ, LOSS_VALUE_SATURATED, NULL, "samples[].values",
                   (str){0});
}

/* Observations grouped by sample, in the order of the file. Those of sample i start at first[i]. */
typedef struct grouped {
    uint32_t *first;
    int64_t *values;
    uint64_t *times;
} grouped;

static bool group(text_reader *r, grouped *g)
{
    size_t n = r->observations.n;
    if (n >= UINT32_MAX) return false;
    *g = (grouped){arena_new(&r->work, uint32_t, r->samples.n + 1),
                   arena_array(&r->work, n, sizeof *g->values),
                   arena_array(&r->work, n, sizeof *g->times)};
    if (!g->first || !g->values || !g->times) return false;
    for (size_t i = 0; i < r->samples.n; i++) g->first[i + 1] = g->first[i] + r->samples.v[i].n;
    for (size_t i = 0; i < n; i++) {
        const text_observation *o = &r->observations.v[i];
        uint32_t at = g->first[o->sample]++;
        g->values[at] = o->value;
        g->times[at] = o->time;
    }
    for (size_t i = r->samples.n; i > 0; i--)
        g->first[i] = g->first[i - 1]; /* restores the positions that the loop advanced */
    g->first[0] = 0;
    return true;
}

void text_samples(text_reader *r, unsigned k)
{
    grouped g;
    if (r->b.failed || !group(r, &g)) return spent(r);
    for (size_t i = 0; i < r->samples.n; i++) {
        const text_sample *s = &r->samples.v[i];
        sample out = {.stack = s->stack,
                      .link = s->link,
                      .attrs = refs_at(&r->attrs, s->attrs),
                      .n_attrs = s->attrs.n,
                      .values = &s->value[k],
                      .n_values = 1};
        if (s->timed) {
            out.values = g.values + g.first[i];
            out.times = g.times + g.first[i];
            out.n_values = out.n_times = s->n;
        }
        builder_sample(&r->b, &out);
    }
}

void text_envelope(text_reader *r)
{
    builder_resource(&r->b, NULL)->present = true;
    builder_scope(&r->b, NULL)->present = true;
}

/* ---- lines that are not samples ---- */

enum { COMMENTS_MAX = 1000 };

str text_comment(str row)
{
    size_t i = row.p[0] == '#' ? 1 : 2;
    while (i < row.n && row.p[i] == ' ') i++;
    return (str){row.p + i, row.n - i};
}

size_t text_comments(text_reader *r, uint64_t n_all, uint32_t *attr)
{
    size_t n = n_all < COMMENTS_MAX ? (size_t)n_all : COMMENTS_MAX, k = 0;
    if (!n) return 0;
    any *v = arena_new(&r->work, any, n);
    if (!v) return spent(r), 0;
    text_lines t = {.text = r->text};
    for (str row; k < n && text_next(&t, &row);) {
        if (!text_is_comment(row)) continue;
        str text = text_comment(row);
        if (text.n > UINT32_MAX) text.n = 0;
        v[k++] = (any){.kind = ANY_STRING, .n = (uint32_t)text.n, .s = text.p};
    }
    ledger *l = r->o->ledger;
    ledger_add_n(l, STAGE_READ, LOSS_COMMENTS, PPROF_ATTR_COMMENT, n, "comment", any_str(&v[0]));
    ledger_add_n(l, STAGE_READ, LOSS_COMMENTS, NULL, n_all - n, "comment", (str){0});
    any list = {.kind = ANY_ARRAY, .n = (uint32_t)n, .array = v};
    *attr = builder_attribute(&r->b, STR(PPROF_ATTR_COMMENT), &list, (str){0});
    return 1;
}

void text_bad(text_reader *r, const text_lines *at, str row, const char *why)
{
    if (!r->n_bad++) r->first_bad = *at;
    if (!r->o->ledger) return;
    char path[96];
    snprintf(path, sizeof path, "line %" PRIu64 ": %s", at->number, why);
    ledger_add(r->o->ledger, STAGE_READ, LOSS_TEXT_LINE, NULL, path, row);
}

bool text_check(const text_reader *r, const char *form, err *e)
{
    if (!r->n_bad || r->samples.n || r->b.failed) return true;
    uint64_t at = r->base == NO_OFFSET ? NO_OFFSET : r->base + r->first_bad.begin;
    err_at(e, ERR_MALFORMED, at, "no line has the form `%s`", form);
    return err_in(e, "line %" PRIu64, r->first_bad.number);
}
