/* Indexes the constants by type and key, and reads their texts. The constants stay in the input. */
#include "format/jfr_internal.h"

#include "base/utf8.h"
#include "base/ban.h"

jentry *jfr_constant(const jtype *t, uint64_t key, juse use)
{
    jpool *p = t ? t->pool : NULL;
    if (!p || !p->entries.n) return NULL;
    if (!p->use) p->use = use;
    if (p->use != use) return NULL;
    uint64_t h = hash_mix(p->by_key.seed, key);
    uint32_t i = hash_first(&p->by_key, h);
    for (uint32_t at; hash_next(&p->by_key, &i, h, &at); i++)
        if (p->entries.v[at].key == key) return &p->entries.v[at];
    return NULL;
}

jcur jfr_at(const jfr *r, uint32_t at)
{
    return (jcur){.p = r->chunk + at, .end = r->chunk_end, .fixed = r->fixed};
}

/* Adds a constant. The first value of a repeated key wins, as in the JDK's reader, which reads the
 * checkpoints from the last to the first and overwrites. */
static bool add(jfr *r, jpool *p, uint64_t key, uint32_t at)
{
    if (!hash_index_room(&p->by_key, &r->chunk_a)) return false;
    uint64_t h = hash_mix(p->by_key.seed, key);
    uint32_t i = hash_first(&p->by_key, h);
    for (uint32_t k; hash_next(&p->by_key, &i, h, &k); i++)
        if (p->entries.v[k].key == key) return true;
    jentry *e = vec_push(&r->chunk_a, &p->entries);
    if (!e) return false;
    *e = (jentry){.key = key, .at = at};
    hash_put(&p->by_key, i, h, (uint32_t)(p->entries.n - 1));
    return true;
}

static bool take_pool(jfr *r, jcur *c)
{
    const uint8_t *begin = c->p;
    uint64_t id = jcur_long(c);
    uint32_t n = jcur_int(c);
    if (!n || c->failed) return true;
    jtype *t = jfr_type(r, id);
    if (!r->whole && !t) { /* its metadata was not written before the end */
        jfr_lose(r, LOSS_METADATA, n, "constants of a type that the metadata lacks", (str){0});
        c->p = c->end;
        return true;
    }
    if (!t || t->broken)
        return err_at(r->e, ERR_MALFORMED, jfr_offset(r, begin),
                      "constants of type %llu, which the metadata %s", (unsigned long long)id,
                      t ? "defines recursively" : "does not define");
    if (!t->pool && !(t->pool = arena_new(&r->chunk_a, jpool, 1))) return err_memory(r->e);
    for (uint32_t i = 0; i < n && !c->failed; i++) {
        uint64_t key = jcur_long(c);
        uint32_t at = (uint32_t)(c->p - r->chunk);
        jfr_skip_type(c, t);
        if (!c->failed && !add(r, t->pool, key, at)) return err_memory(r->e);
    }
    if (!c->failed) return true;
    return err_at(r->e, ERR_MALFORMED, jfr_offset(r, c->p), "a constant of %.*s is truncated",
                  STR_ARG(t->name));
}

bool jfr_checkpoint(jfr *r, jcur c)
{
    jcur_long(&c);     /* start */
    jcur_long(&c);     /* duration */
    jcur_long(&c);     /* distance to the previous checkpoint: unused */
    jcur_fixed(&c, 1); /* flags */
    uint32_t n = jcur_int(&c);
    for (uint32_t i = 0; i < n && !c.failed && c.p < c.end; i++)
        if (!take_pool(r, &c)) return false;
    if (c.failed)
        return err_at(r->e, ERR_MALFORMED, jfr_offset(r, c.p), "the checkpoint is truncated");
    return true;
}

/* ---- texts ---- */

static str text_of(jfr *r, const jtype *t, uint64_t key, unsigned nesting);

/* Reads a string at c; a reference is a key of the pool of java.lang.String. */
static str string_at(jfr *r, jcur c, const jtype *string_type, unsigned nesting)
{
    jstring s = jcur_str(&c, &r->made);
    if (r->made.failed) r->b.failed = true;
    if (c.failed) return (str){0};
    return s.tag == JSTR_REF ? text_of(r, string_type, s.key, nesting + 1) : s.text;
}

/* Returns the text of a field at c. */
static str field_text(jfr *r, const jfield *f, jcur c, unsigned nesting)
{
    if (f->array || !f->type) return (str){0};
    if (f->constant) return text_of(r, f->type, jcur_long(&c), nesting + 1);
    return f->type->prim == J_STRING ? string_at(r, c, f->type, nesting) : (str){0};
}

/* Returns the first text field of a constant: Symbol.string, ThreadState.name, ... */
static str constant_text(jfr *r, const jtype *t, uint32_t at, unsigned nesting)
{
    jcur c = jfr_at(r, at);
    if (t->prim == J_STRING) return string_at(r, c, t, nesting);
    for (size_t i = 0; i < t->fields.n; i++) {
        str s = field_text(r, &t->fields.v[i], c, nesting);
        if (s.n) return s;
        jfr_skip_field(&c, &t->fields.v[i]);
        if (c.failed) break;
    }
    return (str){0};
}

static str text_of(jfr *r, const jtype *t, uint64_t key, unsigned nesting)
{
    jentry *x = nesting > 4 ? NULL : jfr_constant(t, key, USE_TEXT);
    if (!x) return (str){0};
    if (x->memo) return r->texts.v[x->memo - 1];
    str s = constant_text(r, t, x->at, nesting);
    if (s.n > JFR_MAX_SYMBOL) {
        s.n = utf8_valid(s.p, JFR_MAX_SYMBOL);
        jfr_lose(r, LOSS_NAME, 1, "a text longer than 64 KiB", (str){s.p, s.n < 32 ? s.n : 32});
    }
    str *slot = vec_push(&r->chunk_a, &r->texts);
    if (!slot) {
        r->b.failed = true;
        return s;
    }
    *slot = s;
    x->memo = (uint32_t)r->texts.n;
    return s;
}

str jfr_constant_text(jfr *r, const jtype *t, uint32_t at) { return constant_text(r, t, at, 0); }

str jfr_text(jfr *r, const jtype *t, uint64_t key) { return text_of(r, t, key, 0); }

str jfr_slot_text(jfr *r, const jplan *p, unsigned slot, const uint64_t *slots)
{
    const jfield *f = p->field[slot];
    if (!f || f->array || !f->type) return (str){0};
    if (f->constant) return jfr_text(r, f->type, slots[slot]);
    return f->type->prim == J_STRING ? string_at(r, jfr_at(r, (uint32_t)slots[slot]), f->type, 0)
                                     : (str){0};
}
