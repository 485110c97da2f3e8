/* Writes the model as one profile.proto message: types, samples, tables, strings. The other
 * pprof_write_*.c files prepare its parts. */
#include "format/pprof_write.h"

#include "wire/pb.h"
#include "base/ban.h"
#include <inttypes.h>

/* ---- helpers ---- */

void pw_lose(pw *w, loss_concept c, const char *carried_as, uint64_t n, const char *path, str value)
{
    ledger_add_n(w->ledger, STAGE_WRITE, c, carried_as, n, path, value);
}

bool pw_text(pw *w, str s, uint32_t *out)
{
    *out = 0;
    if (!s.n) return true;
    if (!hash_index_room(&w->by_text, &w->a)) return err_memory(w->e);
    uint64_t h = hash_bytes(s.p, s.n, w->by_text.seed);
    uint32_t i = hash_first(&w->by_text, h);
    for (uint32_t at; hash_next(&w->by_text, &i, h, &at); i++)
        if (str_eq(w->strings.v[at], s)) return *out = at, true;
    str *slot = vec_push(&w->a, &w->strings);
    if (!slot) return err_memory(w->e);
    *slot = s;
    *out = (uint32_t)(w->strings.n - 1);
    hash_put(&w->by_text, i, h, *out);
    return true;
}

bool pw_string(pw *w, uint32_t model_string, uint32_t *out)
{
    if (model_string >= w->string.n) return *out = 0, true;
    uint32_t *known = &w->string.v[model_string];
    if (!*known) {
        uint32_t i;
        if (!pw_text(w, dict_str(w->d, model_string), &i)) return false;
        *known = i + 1;
    }
    *out = *known - 1;
    return true;
}

/* Writes a number field; 0 is omitted. */
static void put(buf *b, uint32_t number, uint64_t v)
{
    if (v) pb_put_uint(b, number, v);
}

static bool put_string(pw *w, buf *b, uint32_t number, uint32_t model_string)
{
    uint32_t s;
    if (!pw_string(w, model_string, &s)) return false;
    put(b, number, s);
    return true;
}

/* Writes the scratch buffer as a message field of the output. */
static void put_scratch(pw *w, uint32_t number)
{
    pb_put_bytes(w->out, number, buf_view(&w->scratch));
    if (w->scratch.failed) w->out->failed = true;
}

static bool put_value_type(pw *w, uint32_t number, value_type t)
{
    buf_reset(&w->scratch);
    if (!put_string(w, &w->scratch, 1, t.type) || !put_string(w, &w->scratch, 2, t.unit))
        return false;
    put_scratch(w, number);
    return true;
}

/* ---- samples ---- */

static uint64_t packed_len(const pw *w, const uint32_t *frame, uint32_t n)
{
    uint64_t len = 0;
    for (uint32_t i = 0; i < n; i++) len += pb_varint_len(pw_location_id(w, frame[i]));
    return len;
}

static uint8_t *put_varint(uint8_t *p, uint64_t v)
{
    for (; v >= 0x80; v >>= 7) *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    return p;
}

/* Sets *again if the row has the key already: a reader then makes one attribute with a list of
 * both. */
static bool note_key(pw *w, uint32_t key, bool *again)
{
    while (w->key_row.n <= key)
        if (!vec_push(&w->a, &w->key_row)) return err_memory(w->e);
    *again = w->key_row.v[key] == w->row;
    if (*again)
        pw_lose(w, LOSS_ATTRIBUTE_SET, NULL, 1, "samples.attribute_indices", w->strings.v[key]);
    w->key_row.v[key] = w->row;
    return true;
}

/* Writes all labels of a row into the scratch buffer. */
static bool row_labels(pw *w, const pw_row *r)
{
    buf *b = &w->scratch;
    size_t n = 0;
    bool ids = false, again, trace = false, span_ = false;
    str records;
    w->row++;
    for (uint32_t i = 0; i < r->n_attrs; i++) { /* pw_attr_label uses the scratch buffer */
        const pw_label *l;
        if (!pw_attr_label(w, r->attrs[i], &l)) return false;
        if (l->records.n && !note_key(w, l->key, &again)) return false;
        n += l->records.n;
        ids |= l->is_id;
        trace |= l->kind == PP_TRACE;
        span_ |= l->kind == PP_SPAN;
    }
    if (r->link && !pw_link_label(w, r->link, &records)) return false;
    if (w->resource_label && !pw_resource_label(w, r->resource, &records)) return false;
    buf_reset(b);
    for (uint32_t i = 0; n && i < r->n_attrs; i++) buf_str(b, w->attr_label[r->attrs[i]].records);
    if (!r->link && trace && span_) /* readers make them a link */
        pw_lose(w, LOSS_LINK, "link", 1, "samples.attribute_indices", STR("trace_id"));
    if (r->link) {
        if (ids) pw_lose(w, LOSS_LINK, NULL, 1, "samples.link_index", STR("trace_id"));
        buf_str(b, w->link_label[r->link]);
    }
    if (w->resource_label) buf_str(b, w->resource_label[r->resource]);
    if (!r->timed) return true;
    uint32_t key;
    if (!pw_text(w, STR("timestamp"), &key) || !note_key(w, key, &again)) return false;
    if (again)
        pw_lose(w, LOSS_TIMESTAMP, NULL, 1, "samples.timestamps_unix_nano", STR("timestamp"));
    return pw_put_num(w, STR("timestamp"), (int64_t)r->time, STR("nanoseconds"), b);
}

bool pw_sample(pw *w, const pw_row *r, const int64_t *values, size_t n_values)
{
    span s = r->stack < dict_n_stacks(w->d) ? dict_stack(w->d, r->stack) : (span){0};
    const uint32_t *frame = refs_at(&w->d->frames, s);
    for (uint32_t i = 0; i < s.n; i++) w->location_0 |= !w->location_id[frame[i]];
    if (!row_labels(w, r)) return false;
    uint64_t ids = packed_len(w, frame, s.n), numbers = 0;
    for (size_t i = 0; i < n_values; i++) numbers += pb_varint_len((uint64_t)values[i]);
    uint64_t n = w->scratch.n;
    if (ids) n += 1 + pb_varint_len(ids) + ids;
    if (numbers) n += 1 + pb_varint_len(numbers) + numbers;
    if (w->scratch.failed || !buf_reserve(w->out, n + 16)) return err_memory(w->e);
    uint8_t *begin = (uint8_t *)w->out->p + w->out->n, *p = begin;
    *p++ = 0x12;
    p = put_varint(p, n);
    if (ids) {
        *p++ = 0x0a;
        p = put_varint(p, ids);
        for (uint32_t i = 0; i < s.n; i++) p = put_varint(p, pw_location_id(w, frame[i]));
    }
    if (numbers) {
        *p++ = 0x12;
        p = put_varint(p, numbers);
        for (size_t i = 0; i < n_values; i++) p = put_varint(p, (uint64_t)values[i]);
    }
    if (w->scratch.n) memcpy(p, w->scratch.p, w->scratch.n);
    w->out->n += (size_t)(p - begin) + w->scratch.n;
    return true;
}

/* ---- tables ---- */

static void take_build_id(pw *w, pw_mapping_facts *f, const char *key, str id)
{
    /* in order of preference: pprof tools use the GNU id */
    static const char *const best[] = {ATTR_BUILD_ID_GNU, ATTR_BUILD_ID_GO, ATTR_BUILD_ID_HTLHASH,
                                       KILN_ATTR_BUILD_ID_HASH};
    size_t rank = 0, had = 0;
    while (strcmp(best[rank], key)) rank++;
    while (f->build_key && strcmp(best[had], f->build_key)) had++;
    if (f->build_key)
        pw_lose(w, LOSS_BUILD_ID, NULL, 1, "mapping_table", rank < had ? f->build_id : id);
    if (!f->build_key || rank < had) f->build_key = best[rank], f->build_id = id;
}

static void mapping_attr(pw *w, const attribute *t, pw_mapping_facts *f)
{
    static const char *const has[4] = {PPROF_ATTR_HAS_FUNCTIONS, PPROF_ATTR_HAS_FILENAMES,
                                       PPROF_ATTR_HAS_LINE_NUMBERS, PPROF_ATTR_HAS_INLINE_FRAMES};
    static const char *const ids[4] = {ATTR_BUILD_ID_GNU, ATTR_BUILD_ID_GO, ATTR_BUILD_ID_HTLHASH,
                                       KILN_ATTR_BUILD_ID_HASH};
    str key = dict_str(w->d, t->key), text = pw_attr_text(&t->value);
    if (t->unit) pw_lose(w, LOSS_ATTRIBUTE_UNIT, NULL, 1, "mapping_table", dict_str(w->d, t->unit));
    for (size_t i = 0; i < 4; i++) {
        if (str_eq(key, str_of(has[i])) && t->value.kind == ANY_BOOL) {
            f->has[i] = t->value.i != 0;
            return;
        }
        if (str_eq(key, str_of(ids[i])) && text.n) {
            take_build_id(w, f, ids[i], text);
            return;
        }
    }
    bool kind = str_eq(key, STR(KILN_ATTR_BUILD_ID_KIND));
    pw_lose(w, kind ? LOSS_BUILD_ID_KIND : LOSS_ATTRIBUTE, NULL, 1, "mapping_table", key);
}

pw_mapping_facts pw_mapping_facts_of(pw *w, const mapping *m, bool note)
{
    pw_mapping_facts f = {0};
    ledger *l = w->ledger;
    if (!note) w->ledger = NULL;
    const uint32_t *attrs = refs_at(&w->d->attr_refs, m->attrs);
    for (uint32_t i = 0; i < m->attrs.n; i++)
        if (attrs[i]) mapping_attr(w, &w->d->attributes.v[attrs[i]], &f);
    /* The reader makes any id a GNU id, unless it has Go's form. */
    bool slash = f.build_id.n && memchr(f.build_id.p, '/', f.build_id.n);
    if (f.build_key && strcmp(f.build_key, slash ? ATTR_BUILD_ID_GO : ATTR_BUILD_ID_GNU))
        pw_lose(w, LOSS_BUILD_ID_KIND, NULL, 1, "mapping_table", str_of(f.build_key));
    w->ledger = l;
    return f;
}

static bool put_mapping(pw *w, const mapping *m, uint64_t id)
{
    pw_mapping_facts f = pw_mapping_facts_of(w, m, false);
    buf *b = &w->scratch;
    uint32_t build;
    buf_reset(b);
    put(b, 1, id);
    put(b, 2, m->memory_start);
    put(b, 3, m->memory_limit);
    put(b, 4, m->file_offset);
    if (!put_string(w, b, 5, m->filename) || !pw_text(w, f.build_id, &build)) return false;
    put(b, 6, build);
    for (uint32_t i = 0; i < 4; i++) put(b, 7 + i, f.has[i]);
    put_scratch(w, 3);
    return true;
}

static bool put_mappings(pw *w)
{
    for (size_t i = 0; i < w->d->mappings.n; i++)
        (void)pw_mapping_facts_of(w, &w->d->mappings.v[i], true);
    for (size_t i = 0; i < w->mappings.n; i++)
        if (!put_mapping(w, &w->d->mappings.v[w->mappings.v[i]], i + 1)) return false;
    return true;
}

static bool is_folded_attr(const dict *d, const attribute *t)
{
    return str_eq(dict_str(d, t->key), STR(PPROF_ATTR_IS_FOLDED)) && t->value.kind == ANY_BOOL;
}

bool pw_folded(const pw *w, const location *l)
{
    const uint32_t *attrs = refs_at(&w->d->attr_refs, l->attrs);
    for (uint32_t i = 0; i < l->attrs.n; i++) {
        const attribute *t = &w->d->attributes.v[attrs[i]];
        if (is_folded_attr(w->d, t) && t->value.i) return true;
    }
    return false;
}

/* Records attributes for which pprof has no field. */
static void account_location(pw *w, const location *l)
{
    const uint32_t *attrs = refs_at(&w->d->attr_refs, l->attrs);
    for (uint32_t i = 0; i < l->attrs.n; i++) {
        const attribute *t = &w->d->attributes.v[attrs[i]];
        str key = dict_str(w->d, t->key), unit = dict_str(w->d, t->unit);
        if (!attrs[i]) continue;
        if (unit.n) pw_lose(w, LOSS_ATTRIBUTE_UNIT, NULL, 1, "location_table", unit);
        if (is_folded_attr(w->d, t)) continue;
        bool type = str_eq(key, STR(ATTR_FRAME_TYPE));
        pw_lose(w, type ? LOSS_FRAME_TYPE : LOSS_ATTRIBUTE, NULL, 1, "location_table",
                type ? pw_attr_text(&t->value) : key);
    }
}

static void put_line(pw *w, buf *b, const line *l)
{
    uint64_t function_id = l->function ? l->function : w->d->functions.n;
    uint64_t v[3] = {function_id, (uint64_t)l->line, (uint64_t)l->column}, n = 0;
    for (size_t i = 0; i < 3; i++)
        if (v[i]) n += 1 + pb_varint_len(v[i]);
    w->function_0 |= !l->function;
    buf_putc(b, 0x22);
    pb_put_varint(b, n);
    for (uint32_t i = 0; i < 3; i++) put(b, i + 1, v[i]);
}

static void put_location(pw *w, const location *l, uint64_t id)
{
    buf *b = &w->scratch;
    buf_reset(b);
    put(b, 1, id);
    put(b, 2, w->mapping_id[l->mapping]);
    put(b, 3, l->address);
    for (uint32_t i = 0; i < l->lines.n; i++) put_line(w, b, &w->d->lines.v[l->lines.at + i]);
    put(b, 5, pw_folded(w, l));
    put_scratch(w, 4);
}

static void put_locations(pw *w)
{
    static const location none;
    for (size_t i = 0; i < w->d->locations.n; i++) account_location(w, &w->d->locations.v[i]);
    for (size_t i = 0; i < w->locations.n; i++)
        put_location(w, &w->d->locations.v[w->locations.v[i]], i + 1);
    if (w->location_0) put_location(w, &none, w->locations.n + 1);
}

static bool put_function(pw *w, const function *f, uint64_t id)
{
    buf *b = &w->scratch;
    buf_reset(b);
    put(b, 1, id);
    if (!put_string(w, b, 2, f->name) || !put_string(w, b, 3, f->system_name) ||
        !put_string(w, b, 4, f->filename))
        return false;
    put(b, 5, (uint64_t)f->start_line);
    put_scratch(w, 5);
    return true;
}

static bool put_functions(pw *w)
{
    size_t n = w->d->functions.n;
    for (size_t i = 1; i < n; i++)
        if (!put_function(w, &w->d->functions.v[i], i)) return false;
    return !w->function_0 || !n || put_function(w, &w->d->functions.v[0], n);
}

/* ---- the message ---- */

static uint64_t as_signed(pw *w, uint64_t v, const char *path)
{
    if (v <= INT64_MAX) return v;
    char text[24];
    int n = snprintf(text, sizeof text, "%" PRIu64, v);
    pw_lose(w, LOSS_TIME, NULL, 1, path, (str){text, (size_t)n});
    return INT64_MAX;
}

static bool prepare(pw *w)
{
    str *first = vec_push(&w->a, &w->strings);
    w->attr_label = arena_new(&w->a, pw_label, w->d->attributes.n);
    w->link_label = arena_new(&w->a, str, w->d->links.n);
    if (!first || !w->attr_label || !w->link_label ||
        !vec_reserve(&w->a, &w->string, w->d->strings.n))
        return err_memory(w->e);
    *first = (str){"", 0};
    memset(w->string.v, 0, w->d->strings.n * sizeof *w->string.v);
    w->string.n = w->d->strings.n;
    return true;
}

static bool put_types(pw *w, const pw_plan *p)
{
    /* A model with one profile without type and samples comes from a pprof without types. */
    const profile *v = w->m->profiles.v;
    if (p->groups.n == 1 && p->types.n == 1 && !v[0].n_samples && !v[0].sample_type.type &&
        !v[0].sample_type.unit)
        return true;
    for (size_t i = 0; i < p->types.n; i++)
        if (!put_value_type(w, 1, p->types.v[i])) return false;
    return true;
}

static bool put_tail(pw *w, const pw_plan *p, const pw_texts *t)
{
    pw_window x = pw_window_of(w);
    put(w->out, 7, t->drop_frames);
    put(w->out, 8, t->keep_frames);
    put(w->out, 9, as_signed(w, x.start, "profiles.time_unix_nano"));
    put(w->out, 10, as_signed(w, x.end - x.start, "profiles.duration_nano"));
    if ((x.period_type.type || x.period_type.unit) && !put_value_type(w, 11, x.period_type))
        return false;
    put(w->out, 12, (uint64_t)x.period);
    buf_reset(&w->scratch);
    for (size_t i = 0; i < t->comments.n; i++) pb_put_varint(&w->scratch, t->comments.v[i]);
    if (w->scratch.n) put_scratch(w, 13);
    uint32_t name;
    if (!pw_text(w, p->default_type, &name)) return false;
    put(w->out, 14, name);
    put(w->out, 15, t->doc_url);
    return true;
}

static bool write_all(pw *w)
{
    pw_plan plan = {0};
    pw_texts t = {0};
    if (!prepare(w) || !pw_ids_make(w) || !pw_plan_make(w, &plan) || !pw_texts_of(w, &t) ||
        !put_types(w, &plan) || !pw_rows(w, &plan) || !put_mappings(w))
        return false;
    put_locations(w);
    if (!put_functions(w) || !put_tail(w, &plan, &t)) return false;
    for (size_t i = 0; i < w->strings.n; i++) pb_put_bytes(w->out, 6, w->strings.v[i]);
    return true;
}

bool pprof_encode(const model *m, const pprof_write_opts *o, buf *out, err *e)
{
    if (!m->checked) return err_set(e, ERR_USAGE, "only a checked model can be written as pprof");
    pw w = {
        .m = m, .d = &m->dict, .o = o, .ledger = o->ledger, .e = e, .out = out, .a.seed = m->seed};
    bool ok = write_all(&w);
    if (ok && out->failed) ok = err_set(e, ERR_MEMORY, "the output exceeds the memory limit");
    buf_free(&w.scratch);
    arena_free(&w.a);
    return ok;
}
