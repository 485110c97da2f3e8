/* Finds the byte offsets of paths. Findings about the model have only a path; one walk over the
 * messages that contain an example finds the offsets of all of them. */
#include "check/internal.h"

#include "wire/pb.h"
#include "wire/schema.h"

#include "base/ban.h"

enum { MAX_STEPS = 64, MAX_FIELDS = 16 };

typedef struct place {
    const field_desc *field;
    uint64_t index; /* NO_INDEX: singular, or the list itself */
} place;

typedef struct target {
    place *at;
    size_t n;
    check_example *ex;
} target;

typedef struct targets {
    target **v;
    size_t n;
} targets;

/* The number of elements so far. A singular message may be split, so lists continue to count. */
typedef struct progress {
    uint64_t seen[MAX_FIELDS];
    struct progress *sub[MAX_FIELDS];
} progress;

/* ---- "dictionary.location_table[12].lines[1]" -> steps ---- */

static bool parse(const message_desc *m, const char *path, arena *a, target *out)
{
    place steps[MAX_STEPS];
    for (size_t n = 0; *path && m && n < MAX_STEPS; n++) {
        size_t len = strcspn(path, ".[");
        place *s = &steps[n];
        *s = (place){message_field_named(m, (str){path, len}), NO_INDEX};
        if (!s->field) return false;
        path += len;
        if (*path == '[') {
            char *end;
            s->index = strtoull(path + 1, &end, 10);
            path = *end == ']' ? end + 1 : end;
        }
        path += *path == '.';
        m = s->field->message;
        out->n = n + 1;
    }
    out->at = arena_array(a, out->n ? out->n : 1, sizeof *out->at);
    if (!out->at) return false;
    memcpy(out->at, steps, out->n * sizeof *steps);
    return out->n > 0;
}

/* ---- the walk ---- */

/* The indices to find in one field: the largest, and 64 bits that exclude most other indices. */
typedef struct filter {
    uint64_t bits, last;
} filter;

static uint64_t bit(uint64_t index)
{
    return index == NO_INDEX ? UINT64_MAX : 1ull << (index & 63);
}

static void filters(const message_desc *m, const targets *t, size_t depth, filter out[MAX_FIELDS])
{
    memset(out, 0, MAX_FIELDS * sizeof *out);
    for (size_t i = 0; i < t->n; i++) {
        const place *s = &t->v[i]->at[depth];
        filter *f = &out[s->field - m->fields];
        f->bits |= bit(s->index);
        if (s->index > f->last) f->last = s->index;
    }
}

static void elements(const pb_cur *c, const pb_field *f, const field_desc *fd, const targets *t,
                     size_t depth, uint64_t *seen)
{
    bool fixed = field_wire_type(fd) == 1;
    pb_cur p = pb_message(c, f);
    p.e = NULL;
    for (uint64_t v; p.p < p.end; ++*seen) {
        const uint8_t *from = p.p;
        if (fixed)
            p.p += p.end - p.p < 8 ? p.end - p.p : 8;
        else if (!pb_varint(&p, &v))
            return;
        for (size_t i = 0; i < t->n; i++) {
            const place *s = &t->v[i]->at[depth];
            if (s->field == fd && s->index == *seen) t->v[i]->ex->offset = pb_offset(c, from);
        }
    }
}

static bool walk(const message_desc *m, pb_cur c, const targets *t, size_t depth, progress *state,
                 arena *a)
{
    filter wanted[MAX_FIELDS];
    filters(m, t, depth, wanted);
    for (pb_field f; pb_next(&c, &f);) {
        const field_desc *fd = message_field(m, f.number);
        if (!fd) continue;
        size_t k = (size_t)(fd - m->fields);
        bool packed = f.wire == 2 && field_packable(fd), list = fd->flags & FF_REPEATED;
        if (!packed && f.wire != field_wire_type(fd)) continue;
        uint64_t index = list && !packed ? state->seen[k]++ : NO_INDEX;
        if (!(wanted[k].bits & bit(index)) || (list && !packed && index > wanted[k].last)) continue;
        target **inner = NULL;
        size_t n_inner = 0;
        for (size_t i = 0; i < t->n; i++) {
            const place *s = &t->v[i]->at[depth];
            if (s->field != fd || (list && !packed && s->index != index && s->index != NO_INDEX))
                continue;
            /* An element of a packed list has its own byte, which elements() finds. */
            if (!packed || s->index == NO_INDEX) t->v[i]->ex->offset = pb_offset(&c, f.at);
            if (depth + 1 >= t->v[i]->n || !fd->message) continue;
            if (!inner && !(inner = arena_new(a, target *, t->n))) return false;
            inner[n_inner++] = t->v[i];
        }
        if (packed) elements(&c, &f, fd, t, depth, &state->seen[k]);
        if (!n_inner) continue;
        progress once = {0}, *next = &once;
        if (!list) {
            if (!state->sub[k] && !(state->sub[k] = arena_new(a, progress, 1))) return false;
            next = state->sub[k];
        }
        if (!walk(fd->message, pb_message(&c, &f), &(targets){inner, n_inner}, depth + 1, next, a))
            return false;
    }
    return true;
}

bool check_locate(checker *c, const void *p, size_t n)
{
    const message_desc *root = schema_profiles_data((layout)c->kind);
    targets t = {0};
    for (size_t r = 0; r < RULE_COUNT; r++) t.n += c->by[r].n;
    if (!t.n) return true;
    target *all = arena_new(&c->tmp, target, t.n);
    t.v = arena_new(&c->tmp, target *, t.n);
    if (!all || !t.v) return !(c->failed = true);
    t.n = 0;
    for (size_t r = 0; r < RULE_COUNT; r++)
        for (size_t i = 0; i < c->by[r].n; i++) {
            target *x = &all[t.n];
            *x = (target){.ex = &c->by[r].ex[i]};
            if (x->ex->offset == NO_OFFSET && parse(root, x->ex->path, &c->tmp, x)) t.v[t.n++] = x;
        }
    progress state = {0};
    if (!t.n) return true;
    return walk(root, pb_open(p, n, NULL), &t, 0, &state, &c->tmp) || !(c->failed = true);
}
