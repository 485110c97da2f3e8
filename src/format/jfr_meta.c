/* Reads metadata (the types and the layout of their bytes) and builds plans from it. */
#include "format/jfr_internal.h"

#include "base/ban.h"

/* ---- the tree ----
 *
 *   element: name, n attributes x (key, value), n children x element; all are indices of strings
 *   root > metadata > class {id name superType simpleType} > field {name class constantPool dimension}
 *                                                          > annotation {class value} */

typedef struct tree {
    jfr *r;
    jcur c;
    VEC(str) strings;
    bool memory; /* false when the budget is exhausted */
} tree;

typedef struct element {
    str name;
    str id, name_attr, class_id, constant, dimension, value;
} element;

static str tree_string(tree *t)
{
    uint32_t i = jcur_int(&t->c);
    if (i < t->strings.n) return t->strings.v[i];
    jcur_fail(&t->c);
    return (str){0};
}

static void take_attributes(tree *t, element *x)
{
    uint32_t n = jcur_int(&t->c);
    for (uint32_t i = 0; i < n && !t->c.failed; i++) {
        str key = tree_string(t), value = tree_string(t);
        str *to = str_eq(key, STR("id"))             ? &x->id
                  : str_eq(key, STR("name"))         ? &x->name_attr
                  : str_eq(key, STR("class"))        ? &x->class_id
                  : str_eq(key, STR("constantPool")) ? &x->constant
                  : str_eq(key, STR("dimension"))    ? &x->dimension
                  : str_eq(key, STR("value"))        ? &x->value
                                                     : NULL;
        if (to) *to = value;
    }
}

/* Parses a decimal number, possibly negative (ids of classes are Java longs). */
static bool number_of(str s, uint64_t *out)
{
    uint64_t v = 0;
    bool minus = s.n && s.p[0] == '-';
    if (s.n == (size_t)minus) return false;
    for (size_t i = minus; i < s.n; i++) {
        unsigned d = (unsigned)(unsigned char)s.p[i] - '0';
        if (d > 9 || ckd_mul(&v, v, 10u) || ckd_add(&v, v, d)) return false;
    }
    *out = minus ? 0 - v : v;
    return true;
}

static jprim prim_of(str name)
{
    static const struct {
        const char *name;
        jprim prim;
    } prims[] = {{"boolean", J_BYTE}, {"byte", J_BYTE},     {"short", J_SHORT},
                 {"char", J_CHAR},    {"int", J_INT},       {"long", J_LONG},
                 {"float", J_FLOAT},  {"double", J_DOUBLE}, {"java.lang.String", J_STRING}};
    for (size_t i = 0; i < ARRAY_LEN(prims); i++)
        if (str_eq(name, str_of(prims[i].name))) return prims[i].prim;
    return J_STRUCT;
}

static junit unit_of(str word)
{
    static const struct {
        const char *word;
        junit unit;
    } units[] = {{"TICKS", JU_TICKS},
                 {"NANOSECONDS", JU_NS},
                 {"MICROSECONDS", JU_US},
                 {"MILLISECONDS", JU_MS},
                 {"SECONDS", JU_S},
                 {"MILLISECONDS_SINCE_EPOCH", JU_EPOCH_MS},
                 {"NANOSECONDS_SINCE_EPOCH", JU_EPOCH_NS}};
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (str_eq(word, str_of(units[i].word))) return units[i].unit;
    return JU_NONE;
}

jtype *jfr_type(const jfr *r, uint64_t id)
{
    if (!r->meta.types.n) return NULL;
    uint64_t h = hash_mix(r->meta.by_id.seed, id);
    uint32_t i = hash_first(&r->meta.by_id, h);
    for (uint32_t at; hash_next(&r->meta.by_id, &i, h, &at); i++)
        if (r->meta.types.v[at]->id == id) return r->meta.types.v[at];
    return NULL;
}

/* Returns a new or cleared type with that id. Later metadata of a chunk replaces types that it
 * repeats. */
static jtype *type_slot(jfr *r, uint64_t id)
{
    jtype *t = jfr_type(r, id);
    if (t) {
        t->fields.n = 0;
        return t;
    }
    if (!hash_index_room(&r->meta.by_id, &r->chunk_a)) return NULL;
    uint64_t h = hash_mix(r->meta.by_id.seed, id);
    uint32_t i = hash_first(&r->meta.by_id, h);
    for (uint32_t at; hash_next(&r->meta.by_id, &i, h, &at); i++) continue;
    jtype **slot = vec_push(&r->chunk_a, &r->meta.types);
    if (!slot || !(t = arena_new(&r->chunk_a, jtype, 1))) return NULL;
    *slot = t;
    hash_put(&r->meta.by_id, i, h, (uint32_t)(r->meta.types.n - 1));
    t->id = id;
    return t;
}

static jtype *take_class(tree *t, const element *x)
{
    uint64_t id;
    if (!number_of(x->id, &id)) {
        jcur_fail(&t->c);
        return NULL;
    }
    jtype *type = type_slot(t->r, id);
    if (!type) {
        t->memory = false;
        return NULL;
    }
    type->name = x->name_attr;
    type->prim = prim_of(type->name);
    return type;
}

static void take_field(tree *t, jtype *type, const element *x)
{
    jfield *f = vec_push(&t->r->chunk_a, &type->fields);
    if (!f) {
        t->memory = false;
        return;
    }
    f->name = x->name_attr;
    f->constant = str_eq(x->constant, STR("true"));
    f->array = x->dimension.n && !str_eq(x->dimension, STR("0"));
    if (!number_of(x->class_id, &f->class_id)) jcur_fail(&t->c);
}

/* Reads an element. `type`: the class that contains it. `in_field`: whether it is inside a field of
 * that class. */
static void take_element(tree *t, jtype *type, bool in_field, unsigned nesting)
{
    if (nesting > JFR_MAX_NESTING) {
        jcur_fail(&t->c);
        return;
    }
    element x = {.name = tree_string(t)};
    take_attributes(t, &x);
    if (t->c.failed) return;
    if (str_eq(x.name, STR("class"))) {
        type = take_class(t, &x);
        in_field = false;
    } else if (str_eq(x.name, STR("field")) && type) {
        take_field(t, type, &x);
        in_field = true;
    } else if (str_eq(x.name, STR("annotation")) && in_field && type && type->fields.n) {
        junit u = unit_of(x.value);
        if (u) type->fields.v[type->fields.n - 1].unit = u;
    }
    uint32_t n = jcur_int(&t->c);
    for (uint32_t i = 0; i < n && !t->c.failed && t->memory; i++)
        take_element(t, type, in_field, nesting + 1);
}

bool jfr_metadata(jfr *r, jcur c)
{
    tree t = {.r = r, .c = c, .memory = true};
    jcur_long(&t.c); /* start */
    jcur_long(&t.c); /* duration */
    jcur_long(&t.c); /* id */
    uint32_t n = jcur_int(&t.c);
    for (uint32_t i = 0; i < n && !t.c.failed && t.memory; i++) {
        str *s = vec_push(&r->chunk_a, &t.strings);
        t.memory = s != NULL;
        if (s) *s = jcur_str(&t.c, &r->made).text;
        t.memory &= !r->made.failed;
    }
    if (!t.c.failed && t.memory) take_element(&t, NULL, false, 0);
    if (!t.memory) return err_memory(r->e);
    if (t.c.failed)
        return err_at(r->e, ERR_MALFORMED, jfr_offset(r, t.c.p),
                      "the metadata is truncated or has an undefined reference");
    return true;
}

/* ---- layout of bytes ---- */

/* Whether the field is one integer. A run of LEB128 integers can be skipped at once. */
static bool is_var(const jfield *f)
{
    if (f->array) return false;
    if (f->constant) return true;
    jprim p = f->type ? f->type->prim : J_STRUCT;
    return p == J_SHORT || p == J_CHAR || p == J_INT || p == J_LONG;
}

/* Marks types without bytes, so that no loop runs over millions of them, and types that cannot be
 * read because they contain themselves or nest too deep. */
static void lay_out(jtype *t, unsigned nesting)
{
    if (t->laid_out) return;
    t->laid_out = true;
    t->broken = true; /* set until the recursion returns, so that a cycle finds it */
    bool broken = nesting > JFR_MAX_NESTING, zero = t->prim == J_STRUCT;
    unsigned inner = 0, n_vars = 0;
    for (size_t i = 0; i < t->fields.n && t->prim == J_STRUCT && !broken; i++) {
        jfield *f = &t->fields.v[i];
        if (!f->constant) {
            if (!f->type) {
                broken = true;
                break;
            }
            lay_out(f->type, nesting + 1);
            broken |= f->type->broken;
            if (f->type->nesting >= inner) inner = f->type->nesting + 1u;
        }
        zero &= !f->constant && !f->array && f->type->zero;
        n_vars += is_var(f);
    }
    t->zero = zero;
    t->nesting = (uint8_t)(inner > JFR_MAX_NESTING ? JFR_MAX_NESTING + 1 : inner);
    t->broken = broken || inner > JFR_MAX_NESTING;
    t->n_vars = t->prim == J_STRUCT && n_vars == t->fields.n ? n_vars : 0;
}

void jfr_lay_out(jfr *r)
{
    for (size_t i = 0; i < r->meta.types.n; i++) {
        jtype *t = r->meta.types.v[i];
        for (size_t k = 0; k < t->fields.n; k++)
            t->fields.v[k].type = jfr_type(r, t->fields.v[k].class_id);
    }
    for (size_t i = 0; i < r->meta.types.n; i++) lay_out(r->meta.types.v[i], 0);
}

static void skip_vars(jcur *c, uint64_t n)
{
    for (; n && !c->failed; n--) jcur_var(c);
}

void jfr_skip_type(jcur *c, const jtype *t)
{
    if (!t || t->broken) {
        jcur_fail(c);
        return;
    }
    switch (t->prim) {
    case J_STRUCT: break;
    case J_BYTE: jcur_skip(c, 1); return;
    case J_SHORT:
    case J_CHAR: c->fixed ? jcur_skip(c, 2) : (void)jcur_var(c); return;
    case J_INT: jcur_int(c); return;
    case J_LONG: jcur_long(c); return;
    case J_FLOAT: jcur_skip(c, 4); return;
    case J_DOUBLE: jcur_skip(c, 8); return;
    case J_STRING: jcur_skip_str(c); return;
    }
    if (t->n_vars && !c->fixed) {
        skip_vars(c, t->n_vars);
        return;
    }
    for (size_t i = 0; i < t->fields.n && !c->failed; i++) jfr_skip_field(c, &t->fields.v[i]);
}

static void skip_one(jcur *c, const jfield *f)
{
    if (f->constant)
        jcur_long(c);
    else
        jfr_skip_type(c, f->type);
}

void jfr_skip_field(jcur *c, const jfield *f)
{
    bool zero = !f->constant && f->type && f->type->zero;
    if (!f->array) {
        if (!zero) skip_one(c, f);
        return;
    }
    uint64_t n = jcur_int(c);
    if (zero) return;
    if (!f->constant && f->type && f->type->n_vars && !c->fixed && !f->type->broken)
        skip_vars(c, n * f->type->n_vars);
    else
        for (; n && !c->failed; n--) skip_one(c, f);
}

/* ---- plans ---- */

/* Returns the free slot for this field, or -1. */
static int slot_of(const jplan *p, const jfield *f, const char *const *names, size_t n)
{
    for (size_t s = 0; s < n; s++)
        if (names[s] && !p->field[s] && jfr_word_is(names[s], f->name)) return (int)s;
    return -1;
}

/* Returns the inner field of a struct with one field ("simple type"); it has the same bytes. */
static const jfield *unwrapped(jfr *r, const jfield *f)
{
    const jfield *in = f;
    for (unsigned i = 0; i < JFR_MAX_NESTING && !in->constant && !in->array; i++) {
        const jtype *t = in->type;
        if (!t || t->broken || t->prim != J_STRUCT || t->fields.n != 1) break;
        in = &t->fields.v[0];
    }
    if (in == f) return f;
    jfield *copy = arena_new(&r->chunk_a, jfield, 1);
    if (!copy) return NULL;
    *copy = *in;
    if (f->unit) copy->unit = f->unit;
    return copy;
}

jplan *jfr_plan(jfr *r, const jtype *t, const char *const *names, size_t n, bool full)
{
    jplan *p = arena_new(&r->chunk_a, jplan, 1);
    jop *ops = arena_new(&r->chunk_a, jop, t->fields.n);
    if (!p || !ops) return NULL;
    size_t n_ops = 0, last = 0;
    for (size_t i = 0; i < t->fields.n; i++) {
        const jfield *f = &t->fields.v[i];
        int slot = slot_of(p, f, names, n);
        if (slot >= 0) {
            if (!(f = unwrapped(r, f))) return NULL;
            bool at = f->array || (!f->constant && (!f->type || f->type->prim == J_STRUCT ||
                                                    f->type->prim == J_STRING));
            ops[n_ops++] = (jop){.kind = at ? OP_AT : OP_KEEP, .slot = (uint8_t)slot, .f = f};
            p->field[slot] = f;
            last = n_ops;
        } else if (is_var(f) && n_ops && ops[n_ops - 1].kind == OP_VARS && !r->fixed) {
            ops[n_ops - 1].n++;
        } else {
            bool var = is_var(f) && !r->fixed;
            ops[n_ops++] = (jop){.kind = var ? OP_VARS : OP_SKIP, .n = 1, .f = f};
        }
    }
    p->ops = ops;
    p->n = full ? n_ops : last; /* bytes after the last kept field are not needed */
    return p;
}

static int64_t rounded(double d)
{
    if (!(d > -9.2e18 && d < 9.2e18)) return 0; /* also for NaN */
    return (int64_t)(d < 0 ? d - 0.5 : d + 0.5);
}

static uint64_t take_value(jcur *c, const jfield *f)
{
    if (f->constant) return jcur_long(c);
    switch (f->type->prim) {
    case J_BYTE: return (uint64_t)(int64_t)(int8_t)jcur_fixed(c, 1);
    case J_SHORT: return (uint64_t)(int64_t)(int16_t)(c->fixed ? jcur_fixed(c, 2) : jcur_var(c));
    case J_CHAR: return (uint16_t)(c->fixed ? jcur_fixed(c, 2) : jcur_var(c));
    case J_INT: return (uint64_t)(int64_t)(int32_t)jcur_int(c);
    case J_LONG: return jcur_long(c);
    case J_FLOAT: {
        uint32_t bits = (uint32_t)jcur_fixed(c, 4);
        float v;
        memcpy(&v, &bits, sizeof v);
        return (uint64_t)rounded((double)v);
    }
    case J_DOUBLE: {
        uint64_t bits = jcur_fixed(c, 8);
        double v;
        memcpy(&v, &bits, sizeof v);
        return (uint64_t)rounded(v);
    }
    case J_STRUCT:
    case J_STRING: break;
    }
    return 0;
}

void jfr_run(const jfr *r, const jplan *p, jcur *c, uint64_t slots[JFR_SLOTS])
{
    memset(slots, 0, JFR_SLOTS * sizeof *slots);
    for (const jop *o = p->ops, *end = p->ops + p->n; o < end; o++) {
        switch ((jop_kind)o->kind) {
        case OP_VARS: skip_vars(c, o->n); break;
        case OP_KEEP: slots[o->slot] = take_value(c, o->f); break;
        case OP_AT:
            slots[o->slot] = (uint64_t)(c->p - r->chunk);
            if (o + 1 < end) jfr_skip_field(c, o->f);
            break;
        case OP_SKIP: jfr_skip_field(c, o->f); break;
        }
    }
}
