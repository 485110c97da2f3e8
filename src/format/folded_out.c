/* Turns a model into frames in text form and records the losses. The writers of `folded` and
 * `collapsed` share it. */
#include "format/folded_text.h"

#include "wire/carried.h"
#include "base/ban.h"
#include <inttypes.h>

/* ---- losses ---- */

void text_lose(text_writer *w, loss_concept c, uint64_t n, str value, const char *fmt, ...)
{
    text_loss *x = &w->lost[c];
    if (!n) return;
    if (!x->n) {
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(x->path, sizeof x->path, fmt, ap);
        va_end(ap);
        x->value = value;
    }
    x->n += n;
}

const any *text_attr(const dict *d, const uint32_t *attrs, size_t n, str key)
{
    for (size_t i = 0; i < n; i++) {
        const attribute *t = &d->attributes.v[attrs[i]];
        if (str_eq(d->strings.v[t->key], key)) return &t->value;
    }
    return NULL;
}

static const any *profile_attr(const model *m, const profile *p, str key)
{
    return text_attr(&m->dict, refs_at(&m->dict.attr_refs, p->attrs), p->attrs.n, key);
}

static bool is_text(const any *v, const char *text)
{
    return v && v->kind == ANY_STRING && str_eq(any_str(v), str_of(text));
}

static bool has_key(const dict *d, const attribute *t, const char *key)
{
    return str_eq(d->strings.v[t->key], str_of(key));
}

static void lose_profile_attrs(text_writer *w, const profile *p, size_t i)
{
    const dict *d = &w->m->dict;
    for (uint32_t k = 0; k < p->attrs.n; k++) {
        const attribute *t = &d->attributes.v[d->attr_refs.v[p->attrs.at + k]];
        bool carried = has_key(d, t, KILN_ATTR_VALUE_SCALE) ||
                       (w->differs && has_key(d, t, KILN_ATTR_PROFILE_NAME));
        bool comment = has_key(d, t, PPROF_ATTR_COMMENT);
        if (!carried)
            text_lose(w, comment ? LOSS_COMMENTS : LOSS_ATTRIBUTE, 1, d->strings.v[t->key],
                      "profiles[%zu].attributes", i);
    }
    text_lose(w, LOSS_ATTRIBUTE, p->dropped_attributes_count, (str){0},
              "profiles[%zu].dropped_attributes_count", i);
}

static void lose_profile(text_writer *w, const profile *p, size_t i)
{
    const dict *d = &w->m->dict;
    const scope *s = &w->m->scopes.v[p->scope];
    const resource *r = &w->m->resources.v[s->resource];
    bool named = s->name.n || s->version.n || s->schema_url.n || s->attrs.n;
    bool owned = r->attrs.n || r->n_entity_refs || r->schema_url.n || r->dropped_attributes_count;
    str owner = r->attrs.n ? r->attrs.v[0].key : s->name;
    text_lose(w, LOSS_RESOURCE, named || owned, owner, "profiles[%zu]", i);
    text_lose(w, LOSS_PERIOD, p->period || p->period_type.type || p->period_type.unit,
              d->strings.v[p->period_type.type], "profiles[%zu].period", i);
    text_lose(w, LOSS_TIME, p->time_unix_nano || p->duration_nano, (str){0},
              "profiles[%zu].time_unix_nano", i);
    text_lose(w, LOSS_PROFILE_ID, !id_is_zero(p->profile_id, 16), (str){0},
              "profiles[%zu].profile_id", i);
    text_lose(w, LOSS_ORIGINAL_PAYLOAD, p->original_payload.n != 0, p->original_payload_format,
              "profiles[%zu].original_payload", i);
    lose_profile_attrs(w, p, i);
}

static void lose_location(text_writer *w, const location *l, uint32_t i)
{
    const dict *d = &w->m->dict;
    bool place = false, mangled = false;
    for (uint32_t k = 0; k < l->lines.n; k++) {
        const line *n = &d->lines.v[l->lines.at + k];
        const function *f = &d->functions.v[n->function];
        place |= n->line || n->column || f->filename || f->start_line;
        mangled |= f->name && f->system_name && f->system_name != f->name;
    }
    bool named = l->lines.n && d->functions.v[d->lines.v[l->lines.at].function].name;
    text_lose(w, LOSS_MAPPING, l->mapping || (l->address && named), (str){0}, "location_table[%u]",
              i);
    text_lose(w, LOSS_SOURCE_LINE, place, (str){0}, "location_table[%u].lines", i);
    text_lose(w, LOSS_SYSTEM_NAME, mangled, (str){0}, "location_table[%u].lines", i);
    text_lose(w, LOSS_INLINED, l->lines.n > 1, (str){0}, "location_table[%u].lines", i);
    for (uint32_t k = 0; k < l->attrs.n; k++) {
        const attribute *t = &d->attributes.v[d->attr_refs.v[l->attrs.at + k]];
        bool type = has_key(d, t, ATTR_FRAME_TYPE),
             mark = has_key(d, t, KILN_ATTR_FRAME_ANNOTATION);
        if (type && !is_text(&t->value, "kernel"))
            text_lose(w, LOSS_FRAME_TYPE, 1, any_str(&t->value), "location_table[%u]", i);
        if (!type && !mark)
            text_lose(w, LOSS_ATTRIBUTE, 1, d->strings.v[t->key], "location_table[%u]", i);
    }
}

static void lose_mapping(text_writer *w, uint32_t i)
{
    const dict *d = &w->m->dict;
    const mapping *m = &d->mappings.v[i];
    if (w->mapping_seen[i]) return;
    w->mapping_seen[i] = true;
    for (uint32_t k = 0; k < m->attrs.n; k++) {
        const attribute *t = &d->attributes.v[d->attr_refs.v[m->attrs.at + k]];
        bool id = str_starts(d->strings.v[t->key], STR("process.executable.build_id."));
        text_lose(w, id ? LOSS_BUILD_ID : LOSS_ATTRIBUTE, 1, d->strings.v[t->key],
                  "mapping_table[%u]", i);
    }
}

/* ---- choice of profiles ---- */

static int64_t scale_of(const model *m, const profile *p)
{
    const any *v = profile_attr(m, p, STR(KILN_ATTR_VALUE_SCALE));
    int64_t n = v && v->kind == ANY_INT ? v->i : 1, by = 1;
    while (by < n && by < 1000000000) by *= 10;
    return by == n ? n : 1;
}

static bool same_type(const model *m, const profile *p, const profile *q)
{
    const str *s = m->dict.strings.v;
    return str_eq(s[p->sample_type.type], s[q->sample_type.type]) &&
           str_eq(s[p->sample_type.unit], s[q->sample_type.unit]) &&
           scale_of(m, p) == scale_of(m, q);
}

static bool is_difference(const model *m)
{
    if (m->profiles.n != 2) return false;
    const profile *p = m->profiles.v;
    return same_type(m, &p[0], &p[1]) &&
           is_text(profile_attr(m, &p[0], STR(KILN_ATTR_PROFILE_NAME)), "before") &&
           is_text(profile_attr(m, &p[1], STR(KILN_ATTR_PROFILE_NAME)), "after");
}

static void choose(text_writer *w, str type, str unit)
{
    const model *m = w->m;
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        str name = m->dict.strings.v[p->sample_type.type];
        w->chosen[i] = same_type(m, &m->profiles.v[0], p);
        bool known = str_eq(name, type) && str_eq(m->dict.strings.v[p->sample_type.unit], unit);
        text_lose(w, LOSS_VALUE_TYPE, !w->chosen[i] || (!i && !known), name,
                  "profiles[%zu].sample_type", i);
        if (w->chosen[i]) lose_profile(w, p, i);
    }
}

bool text_write_open(text_writer *w, const model *m, const write_opts *o, str type, str unit,
                     err *e)
{
    *w = (text_writer){.m = m, .o = o, .scale = 1, .a.seed = m->seed};
    w->chosen = arena_new(&w->a, bool, m->profiles.n);
    w->of_location = arena_new(&w->a, span, m->dict.locations.n);
    w->mapping_seen = arena_new(&w->a, bool, m->dict.mappings.n);
    if (!w->chosen || !w->of_location || !w->mapping_seen) return err_memory(e);
    w->differs = is_difference(m);
    if (m->profiles.n) w->scale = scale_of(m, &m->profiles.v[0]);
    choose(w, type, unit);
    return true;
}

void text_write_close(text_writer *w)
{
    for (unsigned c = 0; c < LOSS_CONCEPT_COUNT; c++)
        ledger_add_n(w->o->ledger, STAGE_WRITE, (loss_concept)c, NULL, w->lost[c].n,
                     w->lost[c].path, w->lost[c].value);
    buf_free(&w->scratch);
    arena_free(&w->a);
}

/* ---- text ---- */

static bool breaks_line(char c) { return c == '\n' || c == '\r' || c == '\0'; }

void text_put(text_writer *w, buf *out, str s, const char *stop, const char *path)
{
    bool changed = false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (w->o->percent && (breaks_line(c) || strchr("% ;,=", c))) {
            buf_printf(out, "%%%02X", (unsigned)(uint8_t)c);
        } else if (breaks_line(c) || strchr(stop, c)) {
            buf_putc(out, c == ';' ? ':' : '_');
            changed = true;
        } else {
            buf_putc(out, c);
        }
    }
    if (changed) text_lose(w, LOSS_NAME, 1, s, "%s", path);
}

static void digits_trimmed(buf *out, uint64_t v, int64_t scale)
{
    while (scale > 1 && v % 10 == 0) v /= 10, scale /= 10;
    if (scale == 1) return;
    buf_putc(out, '.');
    for (scale /= 10; scale > 0; scale /= 10) {
        buf_putc(out, (char)('0' + v / (uint64_t)scale % 10));
    }
}

void text_put_value(const text_writer *w, buf *out, int64_t v)
{
    uint64_t size = v < 0 ? 0 - (uint64_t)v : (uint64_t)v, by = (uint64_t)w->scale;
    if (v < 0) buf_putc(out, '-');
    buf_u64(out, size / by);
    digits_trimmed(out, size % by, w->scale);
}

void text_put_stack(text_writer *w, buf *out, const uint32_t *list, size_t n)
{
    size_t from = out->n;
    if (!n) {
        buf_z(out, "[unknown]");
        text_lose(w, LOSS_NAME, 1, (str){0}, "sample without a stack");
    }
    for (size_t i = 0; i < n; i++) {
        if (i) buf_putc(out, ';');
        buf_str(out, w->names.v[list[i]]);
    }
    if (out->failed) return;
    str row = {out->p + from, out->n - from};
    if (!text_is_comment(row)) return;
    out->p[from] = '_';
    text_lose(w, LOSS_NAME, 1, w->names.v[list[0]], "frame that starts like a comment");
}

/* ---- frames ---- */

/* Returns the number of the frame whose text is in scratch. */
static bool intern(text_writer *w, uint32_t *frame)
{
    if (w->scratch.failed || !hash_index_room(&w->by_name, &w->a)) return false;
    str s = buf_view(&w->scratch);
    uint64_t h = hash_bytes(s.p, s.n, w->by_name.seed);
    uint32_t i = hash_first(&w->by_name, h);
    for (uint32_t at; hash_next(&w->by_name, &i, h, &at); i++)
        if (str_eq(w->names.v[at], s)) return *frame = at, true;
    char *copy = arena_alloc(&w->a, s.n);
    str *slot = copy ? vec_push(&w->a, &w->names) : NULL;
    if (!slot || w->names.n >= UINT32_MAX) return false;
    if (s.n) memcpy(copy, s.p, s.n);
    *slot = (str){copy, s.n};
    *frame = (uint32_t)(w->names.n - 1);
    hash_put(&w->by_name, i, h, *frame);
    return true;
}

/* Returns the letter of the annotation "_[k]" for the attributes of a location; 0: none. */
static char annotation_of(const dict *d, const location *l)
{
    const uint32_t *attrs = refs_at(&d->attr_refs, l->attrs);
    const any *mark = text_attr(d, attrs, l->attrs.n, STR(KILN_ATTR_FRAME_ANNOTATION));
    if (mark && mark->kind == ANY_STRING && mark->n == 1 && strchr("jiw01", *mark->s))
        return *mark->s;
    return is_text(text_attr(d, attrs, l->attrs.n, STR(ATTR_FRAME_TYPE)), "kernel") ? 'k' : 0;
}

static bool put_frame(text_writer *w, const location *l, uint32_t i_location, uint32_t function_i,
                      uint32_t *to)
{
    const dict *d = &w->m->dict;
    const function *f = &d->functions.v[function_i];
    str name = d->strings.v[f->name ? f->name : f->system_name];
    char mark = annotation_of(d, l);
    buf_reset(&w->scratch);
    if (name.n)
        text_put(w, &w->scratch, name, ";", "frame");
    else if (l->address)
        buf_printf(&w->scratch, "0x%" PRIx64, l->address);
    else
        buf_z(&w->scratch, "[unknown]");
    if (!name.n && !l->address)
        text_lose(w, LOSS_NAME, 1, (str){0}, "location_table[%u] without a name", i_location);
    if (mark) buf_printf(&w->scratch, "_[%c]", mark);
    return intern(w, to);
}

/* Adds the frames of a location, from the outermost caller to the innermost inlined call. */
static bool location_frames(text_writer *w, uint32_t i)
{
    const dict *d = &w->m->dict;
    const location *l = &d->locations.v[i];
    uint32_t n = l->lines.n ? l->lines.n : 1;
    span *s = &w->of_location[i];
    if (s->n) return true;
    if (w->pool.n > UINT32_MAX - n || !vec_reserve(&w->a, &w->pool, n)) return false;
    for (uint32_t k = n; k-- > 0;) {
        uint32_t f = l->lines.n ? d->lines.v[l->lines.at + k].function : 0;
        if (!put_frame(w, l, i, f, &w->pool.v[w->pool.n + (n - 1 - k)])) return false;
    }
    *s = (span){(uint32_t)w->pool.n, n};
    w->pool.n += n;
    lose_location(w, l, i);
    lose_mapping(w, l->mapping);
    return true;
}

bool text_write_stack(text_writer *w, uint32_t stack, u32s *to)
{
    const dict *d = &w->m->dict;
    if (stack >= dict_n_stacks(d)) return true;
    span s = dict_stack(d, stack);
    for (uint32_t k = s.n; k-- > 0;) {
        uint32_t i = d->frames.v[s.at + k];
        if (!location_frames(w, i)) return false;
        span f = w->of_location[i];
        if (!vec_reserve(&w->a, to, f.n)) return false;
        memcpy(to->v + to->n, w->pool.v + f.at, f.n * sizeof *to->v);
        to->n += f.n;
    }
    return true;
}

bool text_write_thread(text_writer *w, const sample *s, u32s *to)
{
    const dict *d = &w->m->dict;
    if (!w->o->threads) return true;
    const any *name = text_attr(d, s->attrs, s->n_attrs, STR("thread.name"));
    const any *id = text_attr(d, s->attrs, s->n_attrs, STR("thread.id"));
    bool named = name && name->kind == ANY_STRING && name->n, numbered = id && id->kind == ANY_INT;
    if (!named && !numbered) return true;
    buf_reset(&w->scratch);
    buf_putc(&w->scratch, '[');
    if (named) text_put(w, &w->scratch, any_str(name), ";", "thread.name");
    if (numbered) buf_printf(&w->scratch, "%stid=%" PRId64, named ? " " : "", id->i);
    buf_putc(&w->scratch, ']');
    uint32_t *slot = vec_push(&w->a, to);
    return slot && intern(w, slot);
}
