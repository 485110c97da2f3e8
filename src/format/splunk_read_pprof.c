/* Reads bodies that are pprof in gzip and base64; each becomes its own Profiles. */
#include "format/splunk_read.h"

#include "wire/base64.h"
#include "base/ban.h"

typedef enum label_kind {
    LABEL_PLAIN,
    LABEL_TIME,
    LABEL_PERIOD,
    LABEL_TRACE,
    LABEL_SPAN,
    LABEL_STATE,
    LABEL_TRUNCATED,
    LABEL_NOTHING, /* an empty text (C-6) */
} label_kind;

/* A record's pprof while it is read. */
typedef struct body {
    model m;
    splunk_import x;
    uint8_t *kind; /* by attribute of m: label_kind */
    bool typed;
    uint64_t record_time, frames;
} body;

static label_kind kind_of(const dict *d, const attribute *v)
{
    static const struct {
        const char *key;
        label_kind kind;
        uint32_t type;
    } known[] = {{SPLUNK_TIME, LABEL_TIME, ANY_INT},
                 {SPLUNK_PERIOD, LABEL_PERIOD, ANY_INT},
                 {"trace_id", LABEL_TRACE, ANY_STRING},
                 {"span_id", LABEL_SPAN, ANY_STRING},
                 {ATTR_THREAD_STATE, LABEL_STATE, ANY_STRING},
                 {SPLUNK_TRUNCATED, LABEL_TRUNCATED, ANY_STRING},
                 {ATTR_THREAD_NAME, LABEL_PLAIN, ANY_STRING},
                 {SPLUNK_EVENT_NAME, LABEL_PLAIN, ANY_STRING}};
    str key = dict_str(d, v->key);
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (!str_eq(key, str_of(known[i].key))) continue;
        if (v->value.kind == known[i].type) return known[i].kind;
        bool none = known[i].type == ANY_STRING && v->value.kind == ANY_INT && !v->value.i;
        return none ? LABEL_NOTHING : LABEL_PLAIN;
    }
    return LABEL_PLAIN;
}

/* Parses hex digits, padded on the left (C-7). */
static bool take_hex(str text, uint8_t *id, size_t n)
{
    char padded[32];
    if (!text.n || text.n > 2 * n) return false;
    memset(padded, '0', 2 * n);
    memcpy(padded + (2 * n - text.n), text.p, text.n);
    return hex_decode((str){padded, 2 * n}, id);
}

static bool is_true(str s)
{
    static const char want[] = "true";
    if (s.n != 4) return false;
    for (size_t i = 0; i < 4; i++)
        if ((s.p[i] | 0x20) != want[i]) return false;
    return true;
}

typedef struct labels {
    uint32_t trace, span_id; /* attributes of the body's model; 0: none */
    bool timed;
} labels;

static bool take_label(splunk_reader *r, body *b, uint32_t attr, splunk_row *w, labels *seen)
{
    const any *v = &b->m.dict.attributes.v[attr].value;
    switch ((label_kind)b->kind[attr]) {
    case LABEL_TIME:
        if (v->i < 0 || (uint64_t)v->i > UINT64_MAX / NS_PER_MS) {
            splunk_read_lose(r, LOSS_TIMESTAMP, NULL, 1, STR(SPLUNK_TIME));
            return true;
        }
        w->time = (uint64_t)v->i * NS_PER_MS;
        return seen->timed = true;
    case LABEL_PERIOD: w->period_ms = splunk_period_ms(v->i); return true;
    case LABEL_TRACE: seen->trace = attr; return true;
    case LABEL_SPAN: seen->span_id = attr; return true;
    case LABEL_STATE: return splunk_list_str(r, &r->row_attrs, ATTR_THREAD_STATE, any_str(v));
    case LABEL_TRUNCATED:
        if (!is_true(any_str(v))) break;
        return splunk_list_add(r, &r->row_attrs,
                               builder_attribute_bool(&r->b, STR(KILN_ATTR_STACK_TRUNCATED), true));
    case LABEL_NOTHING: return true;
    default: break;
    }
    return splunk_list_add(r, &r->row_attrs, splunk_import_attr(&b->x, attr));
}

/* Converts trace and span ids that pprof.h left as labels because they are short or in upper
 * case. */
static bool take_ids(splunk_reader *r, body *b, const labels *seen, splunk_row *w)
{
    const attribute *at = b->m.dict.attributes.v;
    uint8_t trace[16], span_id[8];
    if (seen->trace && seen->span_id && take_hex(any_str(&at[seen->trace].value), trace, 16) &&
        take_hex(any_str(&at[seen->span_id].value), span_id, 8)) {
        if (!id_is_zero(trace, 16) && !id_is_zero(span_id, 8))
            w->link = builder_link(&r->b, trace, span_id);
        return true;
    }
    return (!seen->trace ||
            splunk_list_add(r, &r->row_attrs, splunk_import_attr(&b->x, seen->trace))) &&
           (!seen->span_id ||
            splunk_list_add(r, &r->row_attrs, splunk_import_attr(&b->x, seen->span_id)));
}

static bool pprof_row(splunk_reader *r, body *b, size_t i)
{
    sample s = sample_at(&b->m, &b->m.profiles.v[0], i);
    splunk_row w = {.link = splunk_import_link(&b->x, s.link), .time = b->record_time};
    labels seen = {0};
    size_t at = r->row_attrs.n;
    splunk_list_begin(r);
    for (uint32_t k = 0; k < s.n_attrs; k++)
        if (!take_label(r, b, s.attrs[k], &w, &seen)) return false;
    if (!take_ids(r, b, &seen, &w)) return false;
    if (r->row_attrs.n > UINT32_MAX) return arena_spent(r->a, r->e);
    w.attrs = (span){(uint32_t)at, (uint32_t)(r->row_attrs.n - at)};
    w.stack = splunk_import_stack(&b->x, s.stack);
    b->frames += dict_stack(&b->m.dict, s.stack).n;
    splunk_row *slot = vec_push(r->a, &r->rows);
    if (!slot || !vec_reserve(r->a, &r->values, b->m.profiles.n)) return arena_spent(r->a, r->e);
    *slot = w;
    for (size_t k = 0; k < b->m.profiles.n; k++) {
        sample x = sample_at(&b->m, &b->m.profiles.v[k], i);
        r->values.v[r->values.n++] = x.n_values ? x.values[0] : 0;
    }
    return !r->b.failed || arena_spent(r->a, r->e);
}

/* Copies the order of the types, which pprof.h stores as an attribute of the scope. */
static bool add_scope_facts(splunk_reader *r, const scope *s, u32s *to)
{
    for (size_t i = 0; i < s->attrs.n; i++) {
        const keyvalue *kv = &s->attrs.v[i];
        bool order = str_eq(kv->key, STR(PPROF_ATTR_SAMPLE_TYPE_ORDER));
        str key = order ? STR(KILN_ATTR_SAMPLE_TYPE_ORDER) : STR(KILN_ATTR_DEFAULT_SAMPLE_TYPE);
        if (!splunk_list_add(r, to, builder_attribute(&r->b, key, &kv->value, (str){0})))
            return false;
    }
    return true;
}

/* Adds an attribute of the record. The number of frames is stored only if it differs from the real
 * one, which the writer computes. */
static bool pprof_attr(splunk_reader *r, const keyvalue *kv, const body *b, u32s *to)
{
    if (str_eq(kv->key, STR(SPLUNK_SOURCETYPE)) || str_eq(kv->key, STR(SPLUNK_DATA_FORMAT)))
        return true;
    if (str_eq(kv->key, STR(SPLUNK_FRAME_COUNT)) && kv->value.kind == ANY_INT &&
        (uint64_t)kv->value.i == b->frames)
        return true;
    if (str_eq(kv->key, STR(SPLUNK_PROFILE_ID)) && kv->value.kind == ANY_STRING &&
        kv->value.n == 32 && hex_decode(any_str(&kv->value), r->g.profile_id))
        return true;
    return splunk_list_any(r, to, kv->key, &kv->value);
}

static bool pprof_group_attrs(splunk_reader *r, const splunk_record *rec, body *b)
{
    u32s *to = &r->g.attrs;
    const profile *p = &b->m.profiles.v[0];
    splunk_list_begin(r);
    for (size_t i = 0; i < rec->attrs.n; i++)
        if (!pprof_attr(r, &rec->attrs.v[i], b, to)) return false;
    const uint32_t *v = refs_at(&b->m.dict.attr_refs, p->attrs);
    for (uint32_t i = 0; i < p->attrs.n; i++)
        if (!splunk_list_add(r, to, splunk_import_attr(&b->x, v[i]))) return false;
    if (rec->time || rec->observed)
        splunk_read_lose(r, LOSS_TIME,
                         rec->time ? KILN_ATTR_SPLUNK_TIME : KILN_ATTR_SPLUNK_OBSERVED, 1,
                         STR("of the record"));
    if (splunk_record_link(r, rec))
        splunk_read_lose(r, LOSS_LINK, NULL, 1, STR("ids of a record with many samples"));
    return splunk_list_int(r, to, KILN_ATTR_SPLUNK_TIME, rec->time) &&
           splunk_list_int(r, to, KILN_ATTR_SPLUNK_OBSERVED, rec->observed) &&
           splunk_record_fields(r, rec, to) &&
           (!b->typed || add_scope_facts(r, &b->m.scopes.v[0], to));
}

static bool pprof_rows(splunk_reader *r, const splunk_record *rec, body *b, arena *scratch)
{
    const profile *p = &b->m.profiles.v[0];
    size_t n = b->m.dict.attributes.n;
    b->kind = arena_new(scratch, uint8_t, n);
    value_type *types = arena_new(r->a, value_type, b->m.profiles.n);
    if (!b->kind || !types) return arena_spent(r->a, r->e);
    for (size_t i = 1; i < n; i++)
        b->kind[i] = (uint8_t)kind_of(&b->m.dict, &b->m.dict.attributes.v[i]);
    b->x = (splunk_import){.from = &b->m, .to = &r->b};
    for (size_t k = 0; k < b->m.profiles.n; k++) {
        const value_type *t = &b->m.profiles.v[k].sample_type;
        types[k] = (value_type){splunk_import_string(&b->x, t->type),
                                splunk_import_string(&b->x, t->unit)};
    }
    if (!splunk_rows_flush(r)) return false;
    r->g = (splunk_group){.allocation = splunk_record_is_allocation(rec),
                          .typed = b->typed,
                          .dropped = rec->dropped,
                          .types = types,
                          .n_types = b->m.profiles.n,
                          .period = p->period,
                          .time = p->time_unix_nano,
                          .duration = p->duration_nano};
    r->g.period_type = (value_type){splunk_import_string(&b->x, p->period_type.type),
                                    splunk_import_string(&b->x, p->period_type.unit)};
    r->open = true;
    for (size_t i = 0; i < p->n_samples; i++)
        if (!pprof_row(r, b, i)) return false;
    splunk_read_lose(r, LOSS_STACK_DEPTH, NULL, b->x.cut, (str){0});
    splunk_read_lose(r, LOSS_SOURCE_LINE, NULL, b->x.unknown_lines,
                     STR("negative lines mean unknown"));
    return pprof_group_attrs(r, rec, b) && splunk_rows_flush(r);
}

/* Decodes base64, gzip and pprof. On failure sets *re to the error of the record; ERR_MEMORY means
 * out of memory. */
static bool open_body(splunk_reader *r, const splunk_record *rec, arena *scratch, buf *norm,
                      body *b, err *re)
{
    str text = any_str(&rec->body);
    if (text.n > SPLUNK_MAX_BODY)
        return err_set(re, ERR_MALFORMED, "a body of %zu characters; the limit is %d", text.n,
                       SPLUNK_MAX_BODY);
    size_t n;
    uint8_t *gz = arena_alloc(scratch, base64_max(text.n));
    if (!gz) return arena_spent(r->a, r->e), err_memory(re);
    if (!base64_decode(text, gz, &n))
        return err_set(re, ERR_MALFORMED, "not base64: character %zu of the body is invalid", n);
    size_t cap =
        n > SPLUNK_MAX_INFLATED / SPLUNK_MAX_RATIO ? SPLUNK_MAX_INFLATED : n * SPLUNK_MAX_RATIO;
    unpacked u;
    bool exhausted = scratch->budget && scratch->budget - scratch->used < cap;
    if (!unpack((str){(const char *)gz, n}, cap ? cap : 1, scratch, &u, re)) {
        if (err_exhausted(re) && !exhausted)
            re->code = ERR_MALFORMED; /* it exceeds the limit when decompressed */
        return false;
    }
    norm->limit = scratch->budget ? scratch->budget : 0;
    if (!splunk_pprof_normalize(u.bytes, splunk_record_is_allocation(rec), norm, &b->typed, re))
        return false;
    pprof_read_opts o = {.ledger = r->ledger};
    return pprof_decode(buf_view(norm), &o, scratch, &b->m, re);
}

bool splunk_read_pprof(splunk_reader *r, const splunk_record *rec, arena *scratch, err *re)
{
    buf norm = {0};
    body b = {.record_time = rec->time ? rec->time : rec->observed};
    bool ok = open_body(r, rec, scratch, &norm, &b, re);
    if (!ok) re->offset = NO_OFFSET; /* the offset refers to the pprof, not to the input */
    ok = ok && pprof_rows(r, rec, &b, scratch);
    buf_free(&norm);
    return ok;
}
