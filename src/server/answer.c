#include "server/answer.h"

#include "base/ban.h"

const answer_encoding answer_encodings[ANSWER_ENCODINGS] = {
    {"json", "application/json", answer_json},
    {"binary", "application/vnd.kiln.columns", answer_binary},
};

void answer_init(answer *w, arena *a)
{
    *w = (answer){.a = a};
    w->root = w->spare = (answer_node){.of = w, .kind = ANSWER_OBJECT};
}

static answer_node *put(answer_node *in, const char *key, answer_kind kind)
{
    answer *w = in->of;
    answer_node *x = arena_new(w->a, answer_node, 1);
    if (!x) {
        w->failed = true;
        w->spare = (answer_node){.of = w, .kind = kind};
        return &w->spare;
    }
    *x = (answer_node){.of = w, .kind = kind, .key = key ? str_of(key) : (str){0}};
    if (in->last)
        in->last->next = x;
    else
        in->first = x;
    in->last = x;
    return x;
}

answer_node *answer_object(answer_node *in, const char *key) { return put(in, key, ANSWER_OBJECT); }

answer_node *answer_list(answer_node *in, const char *key) { return put(in, key, ANSWER_LIST); }

void answer_bool(answer_node *in, const char *key, bool v) { put(in, key, ANSWER_BOOL)->b = v; }
void answer_i64(answer_node *in, const char *key, int64_t v) { put(in, key, ANSWER_INT)->i = v; }
void answer_u64(answer_node *in, const char *key, uint64_t v) { put(in, key, ANSWER_UINT)->u = v; }
void answer_f64(answer_node *in, const char *key, double v) { put(in, key, ANSWER_REAL)->d = v; }

static void put_many(answer_node *in, const char *key, answer_kind kind, const void *p, size_t n)
{
    answer_node *x = put(in, key, kind);
    x->p = p;
    x->n = n;
}

void answer_text(answer_node *in, const char *key, str v)
{
    put_many(in, key, ANSWER_TEXT, v.p, v.n);
}

void answer_hex(answer_node *in, const char *key, const uint8_t *p, size_t n)
{
    put_many(in, key, ANSWER_HEX, p, n);
}

void answer_attributes(answer_node *in, const char *key, const keyvalue *v, size_t n)
{
    put_many(in, key, ANSWER_ATTRIBUTES, v, n);
}

void answer_i64s(answer_node *in, const char *key, const int64_t *v, size_t n)
{
    put_many(in, key, ANSWER_I64S, v, n);
}

void answer_u64s(answer_node *in, const char *key, const uint64_t *v, size_t n)
{
    put_many(in, key, ANSWER_U64S, v, n);
}

void answer_u32s(answer_node *in, const char *key, const uint32_t *v, size_t n)
{
    put_many(in, key, ANSWER_U32S, v, n);
}

void answer_f64s(answer_node *in, const char *key, const double *v, size_t n)
{
    put_many(in, key, ANSWER_F64S, v, n);
}

void answer_texts(answer_node *in, const char *key, const str *v, size_t n)
{
    put_many(in, key, ANSWER_TEXTS, v, n);
}

bool answer_goes_on(const answer_node *x)
{
    bool column = x->kind >= ANSWER_I64S;
    return stopper_step(x->of->stop, 1 + (column ? x->n : 0), &x->of->why);
}

/* ---- cutting ---- */

void answer_may_cut(answer_node *x) { x->cuts = true; }

static size_t length(const answer_node *x)
{
    size_t n = 0;
    if (x->kind == ANSWER_OBJECT) return x->first ? x->first->n : 0;
    for (const answer_node *y = x->first; y; y = y->next) n++;
    return n;
}

static void cut_to(answer_node *x, size_t n)
{
    if (x->kind == ANSWER_OBJECT) {
        for (answer_node *y = x->first; y; y = y->next) y->n = y->n < n ? y->n : n;
        return;
    }
    answer_node *y = x->first;
    if (!n) x->first = x->last = NULL;
    for (size_t i = 1; y && i < n; i++) y = y->next;
    if (n && y) answer_drop_after(x, y);
}

bool answer_shorten(answer *w, size_t *left)
{
    size_t most = 0;
    for (const answer_node *x = w->root.first; x; x = x->next) {
        size_t n = x->cuts ? length(x) : 0;
        most = n > most ? n : most;
    }
    *left = most / 2;
    for (answer_node *x = w->root.first; most && x; x = x->next)
        if (x->cuts) cut_to(x, *left);
    return most > 0;
}

void answer_drop_after(answer_node *in, answer_node *last)
{
    last->next = NULL;
    in->last = last;
}
