/* Transcodes OTLP/JSON to protobuf by the schema.
 *
 * The length of a message is known only at its end.  One byte is reserved for the length, and the
 * message is moved when that is not enough.  Large messages (FF_LARGE) get five bytes, filled with
 * a padded varint, so that they are not moved once per level. */
#include "wire/otlp_json.h"

#include "base/utf8.h"
#include "wire/base64.h"
#include "wire/json_quick.h"
#include "wire/pb.h"

#include "base/ban.h"

enum { LARGE_LEN = 5, ID_HEX_CAP = 32 };

typedef struct shape shape;

/* A field of the schema, ready to be looked up by its JSON name. */
typedef struct slot slot;
struct slot {
    const field_desc *f;
    str camel, snake;
    str quoted; /* the lowerCamelCase name in quotes, for json_take_key */
    slot *then; /* the field that followed this one in the previous message */
    uint32_t tag;
    int64_t min, max; /* range of the quick integer reader */
    shape *message;   /* NULL until first used */
};

struct shape {
    const message_desc *d;
    shape *next;
    bool value;  /* AnyValue: the only recursion of the schema */
    slot *first; /* the first field of the previous message */
    slot slots[];
};

typedef struct to_pb {
    json *j;
    buf *out;
    size_t cap;       /* capacity of out, or its limit when that is less */
    arena *in;        /* the arena that contains out->p; NULL: out owns its memory */
    arena *shapes_in; /* memory of shapes */
    shape *shapes;    /* built so far */
    otlp_json_found *found;
    unsigned any_depth;
} to_pb;

/* ---- shapes: built at the first use of a message ---- */

enum { QUOTED_SLACK = 12 }; /* quotes, colon, terminator, and 8 that json_take_key may read */

/* Initializes a slot; `text` is memory for the quoted name. */
static void slot_init(slot *s, const field_desc *f, char *text)
{
    static const struct {
        int64_t min, max;
    } range[] = {[FT_INT32] = {INT32_MIN, INT32_MAX},
                 [FT_INT64] = {INT64_MIN, INT64_MAX},
                 [FT_UINT32] = {0, UINT32_MAX},
                 [FT_UINT64] = {0, INT64_MAX},
                 [FT_BOOL] = {1, 0},
                 [FT_ENUM] = {INT32_MIN, INT32_MAX},
                 [FT_FIXED64] = {0, INT64_MAX},
                 [FT_DOUBLE] = {1, 0}};
    unsigned wire = field_packable(f) ? 2 : field_wire_type(f);
    *s = (slot){
        .f = f, .snake = str_of(f->name), .tag = (uint32_t)f->number << 3 | wire, .then = s + 1};
    if (f->type < ARRAY_LEN(range)) s->min = range[f->type].min, s->max = range[f->type].max;
    memset(text, 0, s->snake.n + QUOTED_SLACK);
    size_t n = field_json_name(f, text + 1, s->snake.n + 1);
    text[0] = text[n + 1] = '"';
    text[n + 2] = ':';
    s->camel = (str){text + 1, n};
    s->quoted = (str){text, n + 3};
}

static shape *shape_new(to_pb *c, const message_desc *d)
{
    size_t names = 0;
    for (size_t i = 0; i < d->n_fields; i++) names += strlen(d->fields[i].name) + QUOTED_SLACK;
    shape *m = arena_alloc(c->shapes_in, sizeof *m + d->n_fields * sizeof *m->slots + names);
    if (!m) {
        err_set(c->j->e, ERR_MEMORY, "no memory for the schema");
        return NULL;
    }
    *m = (shape){.d = d, .next = c->shapes, .value = strcmp(d->name, "AnyValue") == 0};
    m->first = m->slots;
    char *text = (char *)&m->slots[d->n_fields];
    for (size_t i = 0; i < d->n_fields; i++) {
        slot_init(&m->slots[i], &d->fields[i], text);
        text += m->slots[i].snake.n + QUOTED_SLACK;
    }
    m->slots[d->n_fields - 1].then = m->slots;
    return c->shapes = m;
}

static shape *shape_of(to_pb *c, const message_desc *d)
{
    for (shape *m = c->shapes; m; m = m->next)
        if (m->d == d) return m;
    return shape_new(c, d);
}

static slot *slot_named(shape *m, str key)
{
    for (slot *s = m->slots, *end = s + m->d->n_fields; s < end; s++)
        if (str_eq(s->camel, key) || str_eq(s->snake, key)) return s;
    return NULL;
}

/* ---- bytes out ---- */

static COLD bool full(to_pb *c)
{
    c->j->bad = true;
    if (c->in)
        return err_at(c->j->e, ERR_MEMORY, c->j->at, "no memory for the message within the budget");
    if (c->out->limit)
        return err_at(c->j->e, ERR_LIMIT, c->j->at, "the message is larger than %zu bytes",
                      c->out->limit);
    return err_at(c->j->e, ERR_MEMORY, c->j->at, "no memory for the message");
}

static void set_cap(to_pb *c)
{
    c->cap = c->out->cap;
    if (c->out->limit && c->cap > c->out->limit) c->cap = c->out->limit;
    if (c->cap < c->out->n) c->cap = c->out->n;
}

static bool grow_in_arena(to_pb *c, size_t n)
{
    size_t cap = c->out->cap, want;
    if (ckd_add(&want, c->out->n, n) || want > SIZE_MAX / 4) return false;
    while (cap < want) cap = cap < 1024 ? 1024 : cap * 2;
    char *p = arena_grow(c->in, c->out->p, c->out->cap, cap);
    if (!p && !(p = arena_grow(c->in, c->out->p, c->out->cap, cap = want))) return false;
    c->out->p = p;
    c->out->cap = cap;
    return true;
}

static NOINLINE bool more(to_pb *c, size_t n)
{
    if (!(c->in ? grow_in_arena(c, n) : buf_reserve(c->out, n))) return full(c);
    set_cap(c);
    return true;
}

/* Makes room for n bytes at out->p + out->n. */
static inline bool room(to_pb *c, size_t n)
{
    return LIKELY(c->cap - c->out->n >= n) || more(c, n);
}

enum { VARINT_ROOM = 16 }; /* ten bytes, or two words */

/* Writes a varint without a branch, for indices and counts. */
static inline char *varint_at(char *p, uint64_t v)
{
    if (LIKELY(v < 1u << 21)) {
        uint32_t u = (uint32_t)v, two = u > 0x7f, three = u > 0x3fff;
        uint32_t w = (u & 0x7f) | (u << 1 & 0x7f00) | (u << 2) >> 16 << 16;
        store8(p, w | two << 7 | three << 15);
        return p + 1 + two + three;
    }
    for (; v >= 0x80; v >>= 7) *p++ = (char)(v | 0x80);
    *p++ = (char)v;
    return p;
}

static inline void put_varint(buf *b, uint64_t v)
{
    b->n = (size_t)(varint_at(b->p + b->n, v) - b->p);
}

static inline void put_fixed64(buf *b, uint64_t v)
{
    store8(b->p + b->n, v);
    b->n += 8;
}

/* Writes a tag and reserves room for the length; the message follows. */
static inline bool open_len(to_pb *c, uint32_t tag, size_t reserved, size_t *at)
{
    if (!room(c, 2 * VARINT_ROOM)) return false;
    put_varint(c->out, tag);
    *at = c->out->n;
    c->out->n += reserved;
    return true;
}

static inline bool close_len(to_pb *c, size_t at, size_t reserved)
{
    buf *b = c->out;
    size_t len = b->n - at - reserved;
    if (LIKELY(reserved == 1 && len < 0x80)) {
        b->p[at] = (char)len;
        return true;
    }
    size_t want = pb_varint_len(len);
    if (want > reserved) {
        if (len > OTLP_MAX_BYTES)
            return err_at(c->j->e, ERR_LIMIT, c->j->at, "a message has more than %d bytes",
                          OTLP_MAX_BYTES);
        if (!room(c, want - reserved)) return false;
        memmove(b->p + at + want, b->p + at + reserved, len);
        b->n += want - reserved;
        reserved = want;
    }
    char *p = b->p + at;
    for (size_t i = 0; i + 1 < reserved; i++, len >>= 7) p[i] = (char)(len | 0x80);
    p[reserved - 1] = (char)len;
    return true;
}

/* ---- values ---- */

static bool keeps_default(const field_desc *f)
{
    return f->flags & (FF_ONEOF | FF_OPTIONAL | FF_REPEATED);
}

/* Writes the number of a singular field with its tag. */
static bool put_number(to_pb *c, const slot *s, uint64_t v)
{
    if (v == 0 && !keeps_default(s->f)) return true;
    if (!room(c, 2 * VARINT_ROOM)) return false;
    put_varint(c->out, s->tag);
    if (field_wire_type(s->f) == 1)
        put_fixed64(c->out, v);
    else
        put_varint(c->out, v);
    return true;
}

/* Converts the name of an enum's value. */
static bool enum_bits(to_pb *c, const slot *s, uint64_t *bits)
{
    const char *const *names = s->f->enum_names;
    for (uint64_t i = 0; names[i]; i++)
        if (str_eq(c->j->text, str_of(names[i]))) return *bits = i, true;
    return json_fail(c->j, "%s has no value of this name", s->f->name);
}

/* Converts the last token to the bits of its wire value. */
static bool number_bits(to_pb *c, const slot *s, uint64_t *bits)
{
    json *j = c->j;
    int64_t i = 0;
    double d;
    switch ((field_type)s->f->type) {
    case FT_UINT64:
    case FT_FIXED64: return json_to_u64(j, UINT64_MAX, bits);
    case FT_BOOL:
        *bits = j->tok == JSON_TRUE;
        return j->tok == JSON_TRUE || j->tok == JSON_FALSE || json_expected(j, "true or false");
    case FT_DOUBLE:
        if (!json_to_double(j, &d)) return false;
        memcpy(bits, &d, sizeof d);
        return true;
    default:
        if (s->f->enum_names && j->tok == JSON_STRING) return enum_bits(c, s, bits);
        if (!json_to_i64(j, s->min, s->max, &i)) return false;
        *bits = (uint64_t)i;
        return true;
    }
}

static bool put_text(to_pb *c, const slot *s, str t)
{
    if (t.n == 0 && !keeps_default(s->f)) return true;
    if (t.n > OTLP_MAX_BYTES || !room(c, 2 * VARINT_ROOM + t.n)) return full(c);
    put_varint(c->out, s->tag);
    put_varint(c->out, t.n);
    if (t.n) memcpy(c->out->p + c->out->n, t.p, t.n);
    c->out->n += t.n;
    return true;
}

static bool put_string(to_pb *c, const slot *s)
{
    if (c->j->tok != JSON_STRING) return json_expected(c->j, "a string");
    return put_text(c, s, c->j->text);
}

/* Writes an id.  A profileId of 32 characters is hex, one of 22 or 24 is base64, because the
 * specification and the Collector disagree. */
static bool put_id(to_pb *c, const slot *s, str t)
{
    uint8_t id[ID_HEX_CAP];
    size_t want = field_id_size(s->f), n = 0;
    if (t.n == 0) return true;
    if ((t.n == 22 || t.n == 24) && str_eq(s->snake, STR("profile_id"))) {
        if (!base64_decode(t, id, &n) || n != want)
            return json_fail(c->j, "%s is not base64 of %zu bytes", s->f->name, want);
    } else if (t.n != 2 * want) {
        return json_fail(c->j, "%s has %zu hex digits, expected %zu or none", s->f->name, t.n,
                         2 * want);
    } else if (!hex_decode(t, id)) {
        return json_fail(c->j, "%s is not hex", s->f->name);
    }
    return put_text(c, s, (str){(const char *)id, want});
}

static bool put_bytes(to_pb *c, const slot *s)
{
    if (c->j->tok != JSON_STRING) return json_expected(c->j, "a string");
    str t = c->j->text;
    if (s->f->flags & FF_ID) return put_id(c, s, t);
    size_t at, n = 0, reserved = t.n < 128 ? 1 : LARGE_LEN;
    if (t.n == 0) return put_text(c, s, t);
    if (!open_len(c, s->tag, reserved, &at) || !room(c, base64_max(t.n))) return false;
    if (!base64_decode(t, (uint8_t *)c->out->p + c->out->n, &n)) {
        if (n == t.n) return json_fail(c->j, "base64 text ends in the middle of a byte");
        return json_fail(c->j, "character %zu is not base64", n);
    }
    c->out->n += n;
    return close_len(c, at, reserved);
}

static bool put_fields(to_pb *c, shape *m);

/* Transcodes the object whose { was read. */
static bool put_message(to_pb *c, slot *s)
{
    if (c->j->tok != JSON_OBJECT) return json_expected(c->j, "an object");
    if (!s->message && !(s->message = shape_of(c, s->f->message))) return false;
    size_t at, reserved = s->f->flags & FF_LARGE ? LARGE_LEN : 1;
    return open_len(c, s->tag, reserved, &at) && put_fields(c, s->message) &&
           close_len(c, at, reserved);
}

static bool put_value(to_pb *c, slot *s)
{
    uint64_t bits = 0;
    switch ((field_type)s->f->type) {
    case FT_MESSAGE: return put_message(c, s);
    case FT_STRING: return put_string(c, s);
    case FT_BYTES: return put_bytes(c, s);
    default: return number_bits(c, s, &bits) && put_number(c, s, bits);
    }
}

/* ---- lists ---- */

static bool put_element(to_pb *c, const slot *s, uint64_t v)
{
    if (!room(c, VARINT_ROOM)) return false;
    if (s->f->type == FT_FIXED64 || s->f->type == FT_DOUBLE)
        put_fixed64(c->out, v);
    else
        put_varint(c->out, v);
    return true;
}

static inline char *fixed64_at(char *p, uint64_t v)
{
    store8(p, v);
    return p + 8;
}

/* Writes plain integers without calling json_next. */
static bool put_ints(to_pb *c, const slot *s, size_t *i)
{
    enum { SOME = 64 };
    size_t n;
    do {
        if (!room(c, (SOME + 1) * VARINT_ROOM)) return false;
        char *p = c->out->p + c->out->n;
        if (s->f->type == FT_FIXED64)
            p = json_take_ints(c->j, s->min, s->max, SOME, &n, p, fixed64_at);
        else
            p = json_take_ints(c->j, s->min, s->max, SOME, &n, p, varint_at);
        c->out->n = (size_t)(p - c->out->p);
        *i += n;
    } while (n == SOME);
    return true;
}

static bool put_packed(to_pb *c, slot *s, size_t *i)
{
    size_t start = c->out->n, at;
    if (!open_len(c, s->tag, 1, &at)) return false;
    for (;; ++*i) {
        if (!put_ints(c, s, i)) return false;
        if (json_take_close(c->j)) break;
        json_token t = json_next(c->j);
        if (t == JSON_ARRAY_END) break;
        uint64_t v = 0;
        if (t == JSON_FAIL || !number_bits(c, s, &v) || !put_element(c, s, v)) return false;
    }
    if (*i == 0) c->out->n = start; /* an empty list is absent */
    return *i == 0 || close_len(c, at, 1);
}

static bool put_messages(to_pb *c, slot *s, size_t *i)
{
    for (;; ++*i) {
        if (!json_take_open(c->j, true)) {
            json_token t = json_next(c->j);
            if (t == JSON_ARRAY_END) return true;
            if (t == JSON_FAIL) return false;
        }
        if (!put_message(c, s)) return false;
    }
}

static bool put_texts(to_pb *c, slot *s, size_t *i)
{
    for (;; ++*i) {
        json_token t = json_next(c->j);
        if (t == JSON_ARRAY_END) return true;
        if (t == JSON_FAIL || !put_value(c, s)) return false;
    }
}

static bool put_elements(to_pb *c, slot *s, size_t *i)
{
    if (field_packable(s->f)) return put_packed(c, s, i);
    return s->f->type == FT_MESSAGE ? put_messages(c, s, i) : put_texts(c, s, i);
}

static bool put_list(to_pb *c, slot *s)
{
    if (c->j->tok != JSON_ARRAY)
        return json_expected(c->j, "an array") || err_in(c->j->e, "%s", s->f->name);
    size_t i = 0;
    if (put_elements(c, s, &i)) return true;
    return err_in(c->j->e, "%s[%zu]", s->f->name, i);
}

/* ---- messages ---- */

static bool skip_unknown(to_pb *c, const shape *m)
{
    otlp_json_found *f = c->found;
    if (f->n_unknown++ == 0) {
        str key = c->j->text;
        key.n =
            utf8_valid(key.p, key.n < sizeof f->unknown_key ? key.n : sizeof f->unknown_key - 1);
        snprintf(f->unknown_in, sizeof f->unknown_in, "%s", m->d->name);
        snprintf(f->unknown_key, sizeof f->unknown_key, "%.*s", STR_ARG(key));
    }
    return json_skip_value(c->j);
}

/* Transcodes the value of a key.  Sets *absent if it is null. */
static inline bool put_field(to_pb *c, slot *s, bool *absent)
{
    int64_t v;
    if (s->f->flags & FF_REPEATED) {
        if (json_take_open(c->j, false)) return put_list(c, s);
    } else if (s->min < s->max && json_take_int(c->j, s->min, s->max, &v)) {
        return put_number(c, s, (uint64_t)v);
    }
    json_token t = json_next(c->j);
    *absent = t == JSON_NULL;
    if (t == JSON_NULL) return true;
    if (t != JSON_FAIL && (s->f->flags & FF_REPEATED)) return put_list(c, s);
    return (t != JSON_FAIL && put_value(c, s)) || err_in(c->j->e, "%s", s->f->name);
}

/* Finds the field of the next key.  Writers keep the order of keys, so the key that followed in the
 * previous message is tried first.  Returns NULL for an unknown key, and sets *key to false if
 * there is no key. */
static inline slot *next_slot(to_pb *c, shape *m, slot **guess, bool *key)
{
    *key = true;
    if (LIKELY(json_take_key(c->j, (*guess)->quoted))) return *guess;
    *key = !json_take_close(c->j) && json_next(c->j) == JSON_KEY;
    slot *s = *key ? slot_named(m, c->j->text) : NULL;
    if (s) *guess = s;
    return s;
}

static bool put_keys(to_pb *c, shape *m)
{
    uint64_t seen = 0;
    slot **guess = &m->first;
    for (bool key;;) {
        slot *s = next_slot(c, m, guess, &key);
        if (!key) return c->j->tok == JSON_OBJECT_END;
        if (!s) {
            if (!skip_unknown(c, m)) return false;
            continue;
        }
        uint64_t bit = UINT64_C(1) << (s - m->slots);
        if (seen & bit) return json_fail(c->j, "%s appears twice", s->f->name);
        bool absent = false;
        if (!put_field(c, s, &absent)) return false;
        if (!absent) seen |= bit;
        guess = &s->then;
    }
}

static bool put_fields(to_pb *c, shape *m)
{
    if (!m->value) return put_keys(c, m);
    if (c->any_depth >= OTLP_MAX_DEPTH) {
        c->j->bad = true;
        return err_at(c->j->e, ERR_LIMIT, c->j->at, "values nest deeper than %d", OTLP_MAX_DEPTH);
    }
    c->any_depth++;
    bool ok = put_keys(c, m);
    c->any_depth--;
    return ok;
}

/* ---- the public functions ---- */

static bool put_root(to_pb *c, const message_desc *root)
{
    json *j = c->j;
    /* One level of AnyValue has up to four levels of JSON: {"kvlistValue":{"values":[{"value":{ */
    if (j->max_depth == JSON_MAX_DEPTH) j->max_depth = JSON_DEPTH_CAP;
    shape *m = shape_of(c, root);
    if (!m || json_next(j) == JSON_FAIL) return false;
    return j->tok == JSON_OBJECT ? put_fields(c, m) : json_expected(j, "an object");
}

static bool transcode(json *j, const message_desc *root, buf *out, arena *in,
                      otlp_json_found *found)
{
    arena shapes = {0};
    found->n_unknown = 0;
    to_pb c = {.j = j, .out = out, .in = in, .shapes_in = &shapes, .found = found};
    set_cap(&c);
    bool ok = put_root(&c, root);
    arena_free(&shapes);
    return ok;
}

bool otlp_json_read_message(json *j, const message_desc *root, buf *out, otlp_json_found *found)
{
    otlp_json_found unwanted;
    return transcode(j, root, out, NULL, found ? found : &unwanted);
}

static const message_desc *root_for(json *j, layout l, otlp_json_found *found)
{
    if (l == LAYOUT_UNKNOWN)
        l = json_window(j) ? otlp_json_layout(j->p, (size_t)(j->end - j->p)) : LAYOUT_CURRENT;
    found->layout = l;
    const message_desc *root = schema_profiles_data(l);
    if (!root) err_set(j->e, ERR_USAGE, "no such layout");
    return root;
}

bool otlp_json_read(json *j, layout l, buf *out, otlp_json_found *found)
{
    otlp_json_found unwanted, *f = found ? found : &unwanted;
    const message_desc *root = root_for(j, l, f);
    return root && transcode(j, root, out, NULL, f);
}

bool otlp_json_to_pb(const void *p, size_t n, layout l, buf *out, otlp_json_found *found, err *e)
{
    arena scratch = {0};
    json j = json_open(p, n, &scratch, e);
    bool ok = otlp_json_read(&j, l, out, found) && json_finish(&j);
    arena_free(&scratch);
    return ok;
}

/* ---- decoding to a model ---- */

/* Transcodes the whole text into `a`.  Half of its size is usually enough; untouched pages cost nothing,
 * and unused memory returns to the budget. */
static bool transcode_into(arena *a, const void *p, size_t n, layout l, str *pb,
                           otlp_json_found *found, err *e)
{
    arena scratch = arena_beside(a);
    buf out = {0};
    size_t cap = n / 2 + 64;
    if ((out.p = arena_alloc(a, cap))) out.cap = cap;
    json j = json_open(p, n, &scratch, e);
    const message_desc *root = root_for(&j, l, found);
    bool ok = root && transcode(&j, root, &out, a, found) && json_finish(&j);
    arena_free(&scratch);
    arena_trim(a, out.p, out.cap, out.n);
    *pb = buf_view(&out);
    return ok;
}

static void set_verdict(const otlp_json_found *f, const otlp_decode_opts *o)
{
    if (f->n_unknown)
        ledger_add_n(o->ledger, STAGE_READ, LOSS_UNKNOWN_FIELD, NULL, f->n_unknown, f->unknown_in,
                     str_of(f->unknown_key));
    if (!o->verdict || o->layout != LAYOUT_UNKNOWN) return;
    o->verdict->confidence = LAYOUT_UNIQUE;
    snprintf(o->verdict->evidence, sizeof o->verdict->evidence, "the names of the JSON keys");
}

bool otlp_json_decode(const void *p, size_t n, const otlp_decode_opts *o, arena *a, model *out,
                      err *e)
{
    static const otlp_decode_opts defaults;
    if (!o) o = &defaults;
    otlp_json_found found = {0};
    str pb;
    if (!transcode_into(a, p, n, o->layout, &pb, &found, e)) return false;
    otlp_decode_opts known = *o;
    known.layout = found.layout;
    err inner = {0}; /* its offsets are those of the transcoded bytes */
    bool ok = otlp_decode(pb.p, pb.n, &known, a, out, &inner);
    set_verdict(&found, o);
    if (ok) {
        out->n_unknown += found.n_unknown;
        return true;
    }
    inner.offset = NO_OFFSET;
    if (e && e->code == ERR_OK) *e = inner;
    return false;
}
