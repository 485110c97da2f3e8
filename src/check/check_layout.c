/* Walks over a message of an older layout or a draft (layout.h): first counts tables, then checks
 * wire types, UTF-8, ids and indices of every field. The rules by message are in
 * check_layout_rules.c. */
#include "check/layout.h"

#include "wire/otlp.h"

#include "base/ban.h"
#include <inttypes.h>

enum { NS_IN_MS = 1000000 };
#define NANOSECONDS_FROM UINT64_C(1000000000000000) /* smaller times since 1970 are in ms */

/* ---- fields of a message ---- */

static const slot absent;

const slot *node_field(const node *x, const char *name)
{
    const field_desc *fd = message_field_named(x->m, str_of(name));
    return fd ? slot_at(x, fd) : &absent;
}

bool node_has(const node *x, const char *name)
{
    return message_field_named(x->m, str_of(name)) != NULL;
}

const char *at_field(layout_walk *w, const node *x, const char *name)
{
    return at_step(w->c, &(step){x->self, name, NO_INDEX});
}

uint64_t field_offset(const layout_walk *w, const node *x, const slot *s)
{
    return offset(w, s->at ? s->at : x->at);
}

/* Reports one violation of a field of the message. */
void layout_report(layout_walk *w, rule_no r, const node *x, const char *field, const char *found,
                   const char *expected)
{
    const slot *s = field[0] ? node_field(x, field) : &absent;
    report_at(w->c, r, field_offset(w, x, s),
              field[0] ? at_field(w, x, field) : at_step(w->c, x->self), found, expected);
}

/* ---- survey: reads the tables of a message before references are checked ---- */

static uint64_t n_elements(const field_desc *fd, const pb_field *f)
{
    if (f->wire != 2 || !field_packable(fd)) return 1;
    if (field_wire_type(fd) == 1) return f->value / 8;
    uint64_t n = 0;
    for (size_t i = 0; i < f->value; i++) n += f->data[i] < 0x80;
    return n;
}

/* Returns the last field of that name in a message; .at is NULL if there is none. */
pb_field find_field(const message_desc *m, str bytes, const char *name)
{
    const field_desc *fd = message_field_named(m, str_of(name));
    pb_cur c = pb_open(bytes.p, bytes.n, NULL);
    pb_field last = {0};
    for (pb_field f; fd && pb_next(&c, &f);)
        if (f.number == fd->number && f.wire == field_wire_type(fd)) last = f;
    return last;
}

static void survey_mapping(layout_walk *w, const message_desc *m, str bytes)
{
    mapped *x = vec_push(&w->c->tmp, &w->mappings);
    if (!x) {
        out_of_memory(w);
        return;
    }
    x->start = find_field(m, bytes, "memory_start").value;
    x->limit = find_field(m, bytes, "memory_limit").value;
}

/* Returns whether the attribute has a value; an empty build id does not count. */
static bool has_value(const message_desc *kv, str bytes)
{
    pb_field v = find_field(kv, bytes, "value");
    const field_desc *fd = message_field_named(kv, STR("value"));
    if (!v.at || !fd) return false;
    pb_field text = find_field(fd->message, pb_bytes(&v), "string_value");
    return v.value != 0 && (!text.at || text.value != 0);
}

static void survey_attribute(layout_walk *w, const message_desc *m, str bytes)
{
    named *x = vec_push(&w->c->tmp, &w->attributes);
    if (!x) {
        out_of_memory(w);
        return;
    }
    pb_field key = find_field(m, bytes, "key");
    if (key.at) x->key = pb_bytes(&key);
    x->has_value = has_value(m, bytes);
}

static void survey_event_type(layout_walk *w, const message_desc *m, str bytes)
{
    bool *x = vec_push(&w->c->tmp, &w->clocked);
    if (!x)
        out_of_memory(w);
    else
        *x = find_field(m, bytes, "clock_index").at != NULL;
}

static void survey_entry(layout_walk *w, const field_desc *fd, const pb_field *f)
{
    str bytes = f->wire == 2 ? pb_bytes(f) : (str){0};
    if (fd->fills == TABLE_STRING) {
        str *s = vec_push(&w->c->tmp, &w->strings);
        if (!s)
            out_of_memory(w);
        else
            *s = bytes;
    } else if (fd->fills == TABLE_MAPPING) {
        survey_mapping(w, fd->message, bytes);
    } else if (fd->fills == TABLE_ATTRIBUTE && message_is(fd->message, "KeyValue")) {
        survey_attribute(w, fd->message, bytes);
    } else if (fd->message && message_is(fd->message, "EventType")) {
        survey_event_type(w, fd->message, bytes);
    }
}

static void forget(layout_walk *w, unsigned table)
{
    w->n[table] = 0;
    if (table == TABLE_STRING) w->strings.n = 0;
    if (table == TABLE_MAPPING) w->mappings.n = 0;
    if (table == TABLE_ATTRIBUTE) w->attributes.n = 0;
    if (table == TABLE_SAMPLE_TYPE) w->clocked.n = 0;
}

static bool slices(const message_desc *m, str bytes)
{
    return find_field(m, bytes, "locations_start_index").at ||
           find_field(m, bytes, "locations_length").at;
}

/* Collects lists and references of 1.3, which the tables do not have. */
static void survey_v3(layout_walk *w, const message_desc *m, str bytes)
{
    size_t chunks = 0, plain = 0;
    bool sliced = false;
    pb_cur c = pb_open(bytes.p, bytes.n, NULL);
    for (pb_field f; pb_next(&c, &f);) {
        const field_desc *fd = message_field(m, f.number);
        if (!fd || strcmp(fd->name, "location_indices")) {
            if (fd && f.wire == 2 && fd->message && message_is(fd->message, "Sample") && !sliced)
                sliced = slices(fd->message, pb_bytes(&f));
            continue;
        }
        chunks++, plain += f.wire == 0;
        w->n[TABLE_LOCATION_INDEX] += n_elements(fd, &f);
    }
    w->doc_url = chunks == 1 && plain == 1 && !sliced;
    if (!v3_refs_judge(&bytes, 1, &w->c->tmp, w->refs)) out_of_memory(w);
}

static void survey(layout_walk *w, const message_desc *m, str bytes)
{
    for (size_t i = 0; i < m->n_fields; i++)
        if (m->fields[i].fills) forget(w, m->fields[i].fills);
    const field_desc *types = message_field_named(m, STR("sample_type"));
    if (types) w->n_types = 0;
    pb_cur c = pb_open(bytes.p, bytes.n, NULL);
    for (pb_field f; pb_next(&c, &f);) {
        const field_desc *fd = message_field(m, f.number);
        if (!fd) continue;
        w->n_types += fd == types;
        if (!fd->fills) continue;
        w->n[fd->fills] += n_elements(fd, &f);
        survey_entry(w, fd, &f);
    }
    if (w->c->kind == LAYOUT_1_3 && message_is(m, "Profile")) {
        w->n[TABLE_LOCATION_INDEX] = 0;
        survey_v3(w, m, bytes);
    }
}

static bool holds_tables(const message_desc *m)
{
    for (size_t i = 0; i < m->n_fields; i++)
        if (m->fields[i].fills) return !message_is(m, "ProfilesDictionary");
    return false;
}

/* Reads the window of the current profile before its samples. */
static void survey_window(layout_walk *w, const message_desc *m, str bytes)
{
    pb_field start = find_field(m, bytes, "start_time_unix_nano");
    pb_field end = find_field(m, bytes, "end_time_unix_nano");
    pb_field time = find_field(m, bytes, "time_nanos");
    pb_field duration = find_field(m, bytes, "duration_nanos");
    if (start.at || end.at) {
        w->window = start.value && end.value >= start.value;
        w->start = start.value, w->end = end.value;
    } else if (!w->window && (int64_t)time.value > 0 && (int64_t)duration.value > 0) {
        w->window = true;
        w->start = time.value, w->end = time.value + duration.value;
    }
}

/* A dictionary may be split; its tables are counted together. */
static void survey_dictionary(layout_walk *w, const message_desc *root, str bytes)
{
    const field_desc *fd = message_field_named(root, STR("dictionary"));
    if (!fd) return;
    pb_cur c = pb_open(bytes.p, bytes.n, NULL);
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number != fd->number || f.wire != 2) continue;
        pb_cur d = pb_message(&c, &f);
        for (pb_field x; pb_next(&d, &x);) {
            const field_desc *td = message_field(fd->message, x.number);
            if (!td || !td->fills) continue;
            w->n[td->fills]++;
            survey_entry(w, td, &x);
        }
    }
}

/* ---- indices ---- */

/* Returns the table that a field refers to. 1.3 has none for references that may be ids. */
static unsigned target_of(const layout_walk *w, const message_desc *m, const field_desc *fd)
{
    static const struct {
        const char *message, *field;
        v3_table which;
        table_kind table;
    } v3[] = {{"Sample", "location_index", V3_LOCATION, TABLE_LOCATION},
              {"Profile", "location_indices", V3_LOCATION, TABLE_LOCATION},
              {"Line", "function_index", V3_FUNCTION, TABLE_FUNCTION},
              {"Location", "mapping_index", V3_MAPPING, TABLE_MAPPING}};
    if (fd->target || w->c->kind != LAYOUT_1_3) return fd->target;
    for (size_t i = 0; i < ARRAY_LEN(v3); i++) {
        if (fd->name[0] != v3[i].field[0] || !message_is(m, v3[i].message)) continue;
        if (strcmp(fd->name, v3[i].field)) continue;
        bool url = i == 1 && w->doc_url;
        return w->refs[v3[i].which].has_ids || url ? TABLE_NONE : v3[i].table;
    }
    return TABLE_NONE;
}

/* Returns whether a 0 in this field is a reference: in a list or in a field with presence.
 * Elsewhere it means "not set". */
static bool refers(const field_desc *fd) { return fd->flags & (FF_REPEATED | FF_OPTIONAL); }

static void index_rule(layout_walk *w, unsigned table, const field_desc *fd, uint64_t v,
                       const uint8_t *p, const step *s)
{
    uint64_t n = w->n[table];
    int64_t i = fd->type == FT_INT32 ? (int32_t)(uint32_t)v : (int64_t)v;
    if (v < n || (v == 0 && !refers(fd)) || !violated(w->c, RULE_P06)) return;
    const char *found =
        n ? found_text(w->c, "index %" PRId64 ", the table has %" PRIu64 " entries", i, n)
          : found_text(w->c, "index %" PRId64 ", the table is empty", i);
    report_at(w->c, RULE_P06, offset(w, p), at_step(w->c, s), found,
              n ? expected_text(w->c, "an index below %" PRIu64, n) : "an index into a table");
}

/* ---- P-67 ---- */

static bool in_window(const layout_walk *w, uint64_t t)
{
    if (w->c->kind == LAYOUT_1_3 && t < NANOSECONDS_FROM)
        return t >= w->start / NS_IN_MS && t <= w->end / NS_IN_MS;
    return t >= w->start && t <= w->end;
}

static void time_rule(layout_walk *w, uint64_t t, const uint8_t *p, const step *s)
{
    if (!w->window || in_window(w, t) || !violated(w->c, RULE_P67)) return;
    report_at(w->c, RULE_P67, offset(w, p), at_step(w->c, s), found_text(w->c, "%" PRIu64, t),
              expected_text(w->c, "a time in [%" PRIu64 ", %" PRIu64 "]", w->start, w->end));
}

/* ---- numeric fields ---- */

static void number(layout_walk *w, const message_desc *m, const field_desc *fd, uint64_t v,
                   const uint8_t *p, const step *s)
{
    unsigned table = target_of(w, m, fd);
    if (w->rest) {
        if (strcmp(fd->name, "comment_strindices") == 0)
            (void)checker_list(w->c, &w->c->used_strings, v);
        return;
    }
    if (table) index_rule(w, table, fd, v, p, s);
    if (fd->name[0] == 't' && strcmp(fd->name, "timestamps_unix_nano") == 0) time_rule(w, v, p, s);
}

static void numbers(layout_walk *w, const message_desc *m, const field_desc *fd,
                    const pb_cur *outer, const pb_field *f, const step *s, uint64_t first)
{
    if (field_wire_type(fd) == 1) return;
    pb_cur c = pb_message(outer, f);
    c.e = NULL;
    for (uint64_t v; c.p < c.end; first++) {
        const uint8_t *p = c.p;
        if (!pb_varint(&c, &v)) return;
        number(w, m, fd, v, p, &(step){s->up, s->name, first});
    }
}

/* ---- the walk ---- */

static void walk(layout_walk *w, const message_desc *m, const pb_cur *outer, const pb_field *f,
                 const step *self, const node *up, unsigned depth);

/* LogRecord has raw ids and fixed32 flags. The schema tables, which are for JSON, describe them as
 * text and varint. */
static bool is_log_exception(const message_desc *m, const pb_field *f)
{
    bool id = (f->number == 9 || f->number == 10) && f->wire == 2;
    return message_is(m, "LogRecord") && (id || (f->number == 8 && f->wire == 5));
}

static void first_string(layout_walk *w, const pb_field *f, const step *s)
{
    char q[64];
    rule_no r = w->c->kind == CHECK_EVENTS ? RULE_E01 : RULE_P03;
    if (f->value && violated(w->c, r))
        report_at(w->c, r, offset(w, f->at), at_step(w->c, s), quote(pb_bytes(f), q, sizeof q),
                  "the empty string");
}

static void field(layout_walk *w, node *x, const field_desc *fd, pb_cur *c, const pb_field *f,
                  uint64_t *seen, unsigned depth)
{
    bool packed = f->wire == 2 && field_packable(fd), list = fd->flags & FF_REPEATED;
    size_t k = (size_t)(fd - x->m->fields);
    slot none, *s = k < NODE_FIELDS ? &x->f[k] : &none;
    uint64_t first = s->n;
    step at_here = {x->self, fd->name, list && !packed ? *seen : NO_INDEX};
    *s = (slot){f->value, f->data, f->at, first + (packed ? n_elements(fd, f) : 1)};
    *seen += packed ? 0 : 1;
    if (fd->type == FT_MESSAGE) {
        walk(w, fd->message, c, f, &at_here, x, depth);
        return;
    }
    if (fd->type == FT_STRING) {
        if (w->rest) return;
        if (!is_log_exception(x->m, f)) wire_text(w->c, w->base, f, &at_here);
        if (fd->fills == TABLE_STRING && at_here.index == 0) first_string(w, f, &at_here);
    } else if (packed) {
        if (!w->rest) wire_packed(w->c, w->base, fd, c, f, &at_here);
        numbers(w, x->m, fd, c, f, &at_here, first);
    } else if (f->wire == 0) {
        number(w, x->m, fd, f->value, f->at, &at_here);
    }
}

static void fields(layout_walk *w, node *x, pb_cur *c, unsigned depth)
{
    uint64_t seen[NODE_FIELDS] = {0}, over = 0;
    for (pb_field f; pb_next(c, &f) && !w->c->failed;) {
        const field_desc *fd = message_field(x->m, f.number);
        bool packed = fd && f.wire == 2 && field_packable(fd);
        if (!fd || (f.wire != field_wire_type(fd) && !packed)) {
            if (!w->rest && !is_log_exception(x->m, &f))
                wire_unknown(w->c, w->base, x->m, &f, x->self);
            continue;
        }
        size_t k = (size_t)(fd - x->m->fields);
        field(w, x, fd, c, &f, k < NODE_FIELDS ? &seen[k] : &over, depth);
    }
}

static void walk(layout_walk *w, const message_desc *m, const pb_cur *outer, const pb_field *f,
                 const step *self, const node *up, unsigned depth)
{
    err e = {0};
    node x = {.m = m, .self = self, .up = up, .bytes = pb_bytes(f), .at = f->at};
    pb_cur c = pb_message(outer, f);
    c.e = &e;
    if (holds_tables(m)) survey(w, m, x.bytes);
    if (message_is(m, "Profile") || message_is(m, "ProfileContainer")) survey_window(w, m, x.bytes);
    if (message_is(m, "ScopeLogs")) check_scope_logs(w, &x);
    if (message_is(m, "AnyValue") && depth++ >= OTLP_MAX_DEPTH)
        pb_fail(&c, f->at, "values nest deeper than %d", OTLP_MAX_DEPTH);
    else
        fields(w, &x, &c, depth);
    if (!pb_ok(&c) && !w->rest) wire_broken(w->c, self, &e);
    layout_check(w, &x);
}

void check_layout(checker *c, const message_desc *root, const void *p, size_t n, bool rest)
{
    err e = {0};
    pb_cur cur = pb_open(p, n, &e);
    layout_walk w = {.c = c, .base = cur.base, .rest = rest, .hex = c->plain};
    node x = {.m = root, .bytes = {(const char *)cur.p, n}, .at = cur.p};
    w.id_index.seed = c->tmp.seed;
    survey_dictionary(&w, root, x.bytes);
    if (holds_tables(root)) survey(&w, root, x.bytes);
    fields(&w, &x, &cur, 0);
    if (!pb_ok(&cur) && !rest) wire_broken(c, NULL, &e);
    layout_check(&w, &x);
}
