/* The rules of older layouts: checks that run at the end of a message, when all its fields are known.
 * The table `rows` maps messages to their rules. */
#include "check/layout.h"

#include "base/ban.h"
#include <inttypes.h>

/* ---- keys: P-21, P-23, P-28 ---- */

typedef struct keys {
    hash_index index;
    VEC(str) v;
} keys;

/* Adds a key; returns the position of the first equal key, which may be this one. */
static size_t key_add(layout_walk *w, keys *k, str key)
{
    str *slot_of = vec_push(&w->c->tmp, &k->v);
    if (!slot_of || !hash_index_room(&k->index, &w->c->tmp)) {
        out_of_memory(w);
        return k->v.n;
    }
    *slot_of = key;
    uint64_t h = hash_bytes(key.p, key.n, k->index.seed);
    uint32_t at_slot = hash_first(&k->index, h), i;
    for (; hash_next(&k->index, &at_slot, h, &i); at_slot++)
        if (str_eq(k->v.v[i], key)) return i;
    hash_put(&k->index, at_slot, h, (uint32_t)(k->v.n - 1));
    return k->v.n - 1;
}

static bool key_known(const keys *k, str key)
{
    if (!k->v.n) return false;
    uint64_t h = hash_bytes(key.p, key.n, k->index.seed);
    uint32_t at_slot = hash_first(&k->index, h), i;
    for (; hash_next(&k->index, &at_slot, h, &i); at_slot++)
        if (str_eq(k->v.v[i], key)) return true;
    return false;
}

static void check_unique_keys(layout_walk *w, const node *x, const field_desc *list)
{
    if (!w->c->on[RULE_P23] || slot_at(x, list)->n < 2) return;
    keys k = {0};
    char q[80];
    pb_cur c = pb_open(x->bytes.p, x->bytes.n, NULL);
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number != list->number || f.wire != 2) continue;
        pb_field key = find_field(list->message, pb_bytes(&f), "key");
        str text = key.at ? pb_bytes(&key) : (str){"", 0};
        size_t i = k.v.n, first = key_add(w, &k, text);
        if (first == i || !violated(w->c, RULE_P23)) continue;
        const char *found =
            found_text(w->c, "key %s again, first at [%zu]", quote(text, q, sizeof q), first);
        report_at(w->c, RULE_P23, offset(w, f.at), at_step(w->c, &(step){x->self, list->name, i}),
                  found, "a unique key");
    }
}

/* Keys of a nested map may be empty. */
static void check_key(layout_walk *w, const node *x)
{
    if (!node_has(x, "key") || node_field(x, "key")->v || !violated(w->c, RULE_P28)) return;
    if (x->up && message_is(x->up->m, "KeyValueList")) {
        w->c->by[RULE_P28].count--;
        return;
    }
    layout_report(w, RULE_P28, x, "", "an empty key", "a key");
}

/* ---- P-12, P-31 ---- */

static void check_dictionary(layout_walk *w, const node *x)
{
    const slot *d = node_field(x, "dictionary");
    if (!node_has(x, "dictionary") || d->n == 1 || !violated(w->c, RULE_P12)) return;
    layout_report(w, RULE_P12, x, "dictionary",
                  d->n ? found_text(w->c, "%" PRIu64 " dictionaries", d->n) : "no dictionary",
                  "one dictionary");
}

/* Checks one entity, which names attributes of its resource. */
static void entity_rules(layout_walk *w, const node *x, const message_desc *m, const pb_field *at,
                         uint64_t index, const keys *known)
{
    static const char *const lists[] = {"id_keys", "description_keys"};
    str bytes = pb_bytes(at);
    step self = {x->self, "entity_refs", index};
    node e = {.m = m, .self = &self, .bytes = bytes, .at = at->at};
    char q[80];
    if (!find_field(m, bytes, "type").value && violated(w->c, RULE_P31))
        layout_report(w, RULE_P31, &e, "type", "no type", "a type");
    if (!find_field(m, bytes, "id_keys").at && violated(w->c, RULE_P31))
        layout_report(w, RULE_P31, &e, "id_keys", "no id keys", "at least one");
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const field_desc *fd = message_field_named(m, str_of(lists[i]));
        pb_cur c = pb_open(bytes.p, bytes.n, NULL);
        for (pb_field f; fd && pb_next(&c, &f);) {
            if (f.number != fd->number || f.wire != 2 || key_known(known, pb_bytes(&f))) continue;
            if (violated(w->c, RULE_P31))
                layout_report(w, RULE_P31, &e, fd->name, quote(pb_bytes(&f), q, sizeof q),
                              "a key of the resource's attributes");
        }
    }
}

static void check_resource(layout_walk *w, const node *x)
{
    const field_desc *list = message_field_named(x->m, STR("attributes"));
    const field_desc *refs = message_field_named(x->m, STR("entity_refs"));
    if (!list || !refs || !w->c->on[RULE_P31] || !slot_at(x, refs)->n) return;
    keys known = {0};
    pb_cur c = pb_open(x->bytes.p, x->bytes.n, NULL), again = c;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number != list->number || f.wire != 2) continue;
        pb_field key = find_field(list->message, pb_bytes(&f), "key");
        if (key.at) key_add(w, &known, pb_bytes(&key));
    }
    uint64_t i = 0;
    for (pb_field f; !w->c->failed && pb_next(&again, &f);)
        if (f.number == refs->number && f.wire == 2)
            entity_rules(w, x, refs->message, &f, i++, &known);
}

/* Checks P-21 on the attributes of a profile. */
static void check_profile_attributes(layout_walk *w, const node *x)
{
    const field_desc *fd = message_field_named(x->m, STR("attribute_indices"));
    if (!fd || !w->c->on[RULE_P21] || slot_at(x, fd)->n < 2) return;
    keys k = {0};
    size_t n = 0;
    char q[80];
    pb_cur c = pb_open(x->bytes.p, x->bytes.n, NULL);
    c.base = w->base;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number != fd->number) continue;
        pb_cur e = f.wire == 2 ? pb_message(&c, &f) : (pb_cur){.p = f.at, .end = c.p};
        uint64_t v = 0;
        if (f.wire == 0) pb_varint(&e, &v); /* the tag */
        while (e.p < e.end) {
            const uint8_t *p = e.p;
            if (!pb_varint(&e, &v)) break;
            str key = v < w->attributes.n ? w->attributes.v[v].key : (str){NULL, 0};
            size_t i = n++, last = k.v.n;
            if (!key.n || key_add(w, &k, key) == last || !violated(w->c, RULE_P21)) continue;
            report_at(w->c, RULE_P21, offset(w, p), at_step(w->c, &(step){x->self, fd->name, i}),
                      found_text(w->c, "key %s again", quote(key, q, sizeof q)), "a unique key");
        }
    }
}

/* ---- profiles ---- */

static void check_id(layout_walk *w, const node *x)
{
    if (!node_has(x, "profile_id")) return;
    const slot *id = node_field(x, "profile_id");
    bool zero = id->v == 16 && id_is_zero(id->data, 16);
    if (id->v == 0 || zero) {
        if (violated(w->c, RULE_L02))
            layout_report(w, RULE_L02, x, "profile_id", zero ? "16 zero bytes" : "no id",
                          "16 bytes");
        return;
    }
    if (id->v != 16) {
        if (violated(w->c, RULE_P52))
            layout_report(w, RULE_P52, x, "profile_id",
                          found_text(w->c, "%" PRIu64 " bytes", id->v), "16 bytes");
        return;
    }
    profile_id *slot_of = vec_push(&w->c->tmp, &w->ids);
    if (!slot_of || !hash_index_room(&w->id_index, &w->c->tmp)) {
        out_of_memory(w);
        return;
    }
    memcpy(slot_of->bytes, id->data, 16);
    uint64_t h = hash_bytes(id->data, 16, w->id_index.seed);
    uint32_t i = hash_first(&w->id_index, h), first;
    for (; hash_next(&w->id_index, &i, h, &first); i++) {
        if (memcmp(w->ids.v[first].bytes, id->data, 16)) continue;
        char hex[33];
        hex_encode(id->data, 16, hex);
        if (violated(w->c, RULE_P52))
            layout_report(
                w, RULE_P52, x, "profile_id",
                found_text(w->c, "%s, also the id of profile %u of the message", hex, first),
                "a unique id");
        return;
    }
    hash_put(&w->id_index, i, h, (uint32_t)(w->ids.n - 1));
}

static void check_times(layout_walk *w, const node *x)
{
    const slot *start = node_field(x, "start_time_unix_nano"),
               *end = node_field(x, "end_time_unix_nano");
    if (end->v < start->v && violated(w->c, RULE_L03))
        layout_report(w, RULE_L03, x, "end_time_unix_nano",
                      found_text(w->c, "%" PRIu64 ", the start is %" PRIu64, end->v, start->v),
                      "an end that is not before the start");
    static const char *const numbers_[] = {"time_nanos", "duration_nanos"};
    for (size_t i = 0; i < ARRAY_LEN(numbers_); i++) {
        int64_t v = (int64_t)node_field(x, numbers_[i])->v;
        if (v < 0 && violated(w->c, RULE_L03))
            layout_report(w, RULE_L03, x, numbers_[i], found_text(w->c, "%" PRId64, v),
                          "0 or more");
    }
}

static void check_original_payload(layout_walk *w, const node *x)
{
    const slot *format = node_field(x, "original_payload_format"),
               *raw = node_field(x, "original_payload");
    if (raw->v && !format->v && node_has(x, "original_payload_format") && violated(w->c, RULE_P53))
        layout_report(w, RULE_P53, x, "original_payload",
                      found_text(w->c, "%" PRIu64 " bytes without a format", raw->v),
                      "original_payload_format too");
    if (raw->v && str_eq(slot_bytes(format), STR("pprof")) && violated(w->c, RULE_L08))
        layout_report(w, RULE_L08, x, "original_payload",
                      found_text(w->c, "%" PRIu64 " bytes of pprof", raw->v), "no payload");
}

static void check_container(layout_walk *w, const node *x)
{
    check_id(w, x);
    check_times(w, x);
    check_original_payload(w, x);
    if (node_has(x, "profile") && !node_field(x, "profile")->at && violated(w->c, RULE_L05))
        layout_report(w, RULE_L05, x, "profile", "no profile", "the profile");
    w->window = false; /* the next profile has another one */
}

static void check_references(layout_walk *w, const node *x)
{
    for (size_t t = 0; t < V3_TABLES; t++) {
        const char *name = v3_table_name((v3_table)t);
        if (w->refs[t].broken && violated(w->c, RULE_P06))
            layout_report(w, RULE_P06, x, name, w->refs[t].why, "a position or an id of the table");
        if (w->refs[t].open && violated(w->c, RULE_L06))
            layout_report(w, RULE_L06, x, name, w->refs[t].why, "0, or a number that is not both");
    }
}

static void check_profile(layout_walk *w, const node *x)
{
    check_id(w, x);
    check_times(w, x);
    check_original_payload(w, x);
    check_profile_attributes(w, x);
    if (w->c->kind == LAYOUT_1_3)
        check_references(w, x);
    else
        w->window = false;
}

/* ---- types and samples ---- */

static bool is_period(const node *x) { return x->self && !strcmp(x->self->name, "period_type"); }

static void check_temporality(layout_walk *w, const node *x)
{
    static const char field[] = "aggregation_temporality";
    if (!node_has(x, field) || node_field(x, field)->v || is_period(x)) return;
    if (violated(w->c, RULE_L01))
        layout_report(w, RULE_L01, x, field, "unspecified", "delta or cumulative");
}

static void check_sample(layout_walk *w, const node *x)
{
    const slot *start = node_field(x, "locations_start_index"),
               *length = node_field(x, "locations_length"), *value = node_field(x, "value");
    uint64_t n = w->n[TABLE_LOCATION_INDEX];
    if (node_has(x, "value") && value->n != w->n_types && violated(w->c, RULE_L04))
        layout_report(
            w, RULE_L04, x, "value",
            found_text(w->c, "%" PRIu64 " values, %" PRIu64 " sample types", value->n, w->n_types),
            "one value for each sample type");
    bool outside = length->v > n || start->v > n - length->v;
    if (length->v && outside && violated(w->c, RULE_P06))
        layout_report(w, RULE_P06, x, "locations_length",
                      found_text(w->c,
                                 "[%" PRId64 ", + %" PRId64 "), location_indices has %" PRIu64,
                                 (int64_t)start->v, (int64_t)length->v, n),
                      "a slice of location_indices");
}

static void check_label(layout_walk *w, const node *x)
{
    const slot *text = node_field(x, "str"), *num = node_field(x, "num"),
               *unit = node_field(x, "num_unit");
    if (text->v && num->v && violated(w->c, RULE_L09))
        layout_report(w, RULE_L09, x, "num", "str and num are both set", "one of the two");
    else if (text->v && unit->v && violated(w->c, RULE_L09))
        layout_report(w, RULE_L09, x, "num_unit", "num_unit together with str",
                      "num_unit with num");
}

/* ---- tables ---- */

static void id_rule(layout_walk *w, const node *x, const char *name, uint64_t right)
{
    const slot *id = node_field(x, name);
    if (id->v == right || (id->v == 0 && is_first(x)) || !violated(w->c, RULE_P80)) return;
    layout_report(w, RULE_P80, x, name, found_text(w->c, "%" PRIu64 " bytes", id->v),
                  expected_text(w->c, "%" PRIu64 " bytes", right));
}

static void check_link(layout_walk *w, const node *x)
{
    id_rule(w, x, "trace_id", 16);
    id_rule(w, x, "span_id", 8);
    if (!is_first(x)) return;
    const slot *trace = node_field(x, "trace_id"), *span_id = node_field(x, "span_id");
    bool real = (trace->v && !id_is_zero(trace->data, trace->v)) ||
                (span_id->v && !id_is_zero(span_id->data, span_id->v));
    if (real && violated(w->c, RULE_L07))
        layout_report(w, RULE_L07, x, "", "a link", "an empty link");
    if ((trace->v || span_id->v) && violated(w->c, RULE_A03))
        layout_report(w, RULE_A03, x, "", "a link", "an empty link");
}

static void check_set(layout_walk *w, const node *x)
{
    uint64_t n = node_field(x, "attributes")->n;
    if (is_first(x) && n && violated(w->c, RULE_A03))
        layout_report(w, RULE_A03, x, "attributes", found_text(w->c, "%" PRIu64 " attributes", n),
                      "an empty set");
}

/* Returns the mapping of a location if its index is unambiguous, otherwise NULL. */
static const mapped *mapping_of(const layout_walk *w, const node *x)
{
    const field_desc *fd = message_field_named(x->m, STR("mapping_index"));
    if (!fd || (w->c->kind == LAYOUT_1_3 && w->refs[V3_MAPPING].by_id)) return NULL;
    const slot *s = slot_at(x, fd);
    bool given = (fd->flags & FF_OPTIONAL) ? s->at != NULL : s->v != 0;
    return given && s->v < w->mappings.n ? &w->mappings.v[s->v] : NULL;
}

static void check_location(layout_walk *w, const node *x)
{
    const mapped *m = mapping_of(w, x);
    uint64_t address = node_field(x, "address")->v;
    if (!m || !address || (!m->start && !m->limit)) return;
    if ((address >= m->start && address <= m->limit) || !violated(w->c, RULE_P71)) return;
    layout_report(
        w, RULE_P71, x, "address", found_text(w->c, "%#" PRIx64, address),
        expected_text(w->c, "an address in [%#" PRIx64 ", %#" PRIx64 "]", m->start, m->limit));
}

static void check_lines(layout_walk *w, const node *x)
{
    static const char *const names[] = {"line", "column", "start_line"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        int64_t v = (int64_t)node_field(x, names[i])->v;
        if (v < 0 && violated(w->c, RULE_P74))
            layout_report(w, RULE_P74, x, names[i], found_text(w->c, "%" PRId64, v),
                          "1 or more, or 0 for unknown");
    }
}

static bool is_build_id(const named *a)
{
    static const char *const kinds[] = {"gnu", "go", "htlhash", "profiling"};
    static const str prefix = {"process.executable.build_id.", 28};
    if (!a->has_value || !str_starts(a->key, prefix)) return false;
    str kind = {a->key.p + prefix.n, a->key.n - prefix.n};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_eq(kind, str_of(kinds[i]))) return true;
    return false;
}

static void check_mapping(layout_walk *w, const node *x)
{
    const field_desc *fd = message_field_named(x->m, STR("attribute_indices"));
    if (!fd || !w->c->on[RULE_P76] || !x->bytes.n) return; /* an empty entry is not a mapping */
    bool found = false;
    pb_cur c = pb_open(x->bytes.p, x->bytes.n, NULL);
    for (pb_field f; !found && pb_next(&c, &f);) {
        if (f.number != fd->number) continue;
        uint64_t v = f.value;
        pb_cur e = f.wire == 2 ? pb_message(&c, &f) : (pb_cur){0};
        if (f.wire == 0) found = v < w->attributes.n && is_build_id(&w->attributes.v[v]);
        while (!found && e.p < e.end && pb_varint(&e, &v))
            found = v < w->attributes.n && is_build_id(&w->attributes.v[v]);
    }
    if (found || !violated(w->c, RULE_P76)) return;
    char q[80];
    uint64_t name = node_field(x, "filename_strindex")->v;
    str text = name < w->strings.n ? w->strings.v[name] : (str){"", 0};
    layout_report(w, RULE_P76, x, "",
                  found_text(w->c, "no build id on %s", quote(text, q, sizeof q)),
                  "process.executable.build_id.gnu, .go or .htlhash");
}

/* ---- rules by message ---- */

static const struct row {
    const char *message;
    void (*check)(layout_walk *w, const node *x);
    bool rest; /* also for layouts whose other rules are checked on the model */
} rows[] = {
    {"ProfilesData", check_dictionary, false},
    {"Resource", check_resource, false},
    {"ProfileContainer", check_container, false},
    {"Profile", check_profile, false},
    {"ValueType", check_temporality, true},
    {"Sample", check_sample, false},
    {"Label", check_label, false},
    {"Mapping", check_mapping, false},
    {"Location", check_location, false},
    {"Line", check_lines, false},
    {"Function", check_lines, false},
    {"Link", check_link, false},
    {"KeyValue", check_key, false},
    {"ProfileType", check_columns, false},
    {"SampleList", check_columns, false},
    {"AttributeSet", check_set, false},
    {"EventType", check_event_type, false},
    {"Event", check_event, false},
    {"Clock", check_clock, false},
    {"Stack", check_stack, false},
    {"ResourceLogs", check_resource_logs, false},
    {"LogRecord", check_log_record, false},
};

void layout_check(layout_walk *w, const node *x)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (message_is(x->m, rows[i].message) && (rows[i].rest || !w->rest)) rows[i].check(w, x);
    if (w->rest) return;
    for (size_t i = 0; i < x->m->n_fields; i++) {
        const field_desc *fd = &x->m->fields[i];
        bool pairs =
            fd->message && message_is(fd->message, "KeyValue") && (fd->flags & FF_REPEATED);
        if (pairs && !fd->fills && message_field_named(fd->message, STR("key")))
            check_unique_keys(w, x, fd);
    }
}
