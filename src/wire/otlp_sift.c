#include "wire/otlp_sift.h"

#include "wire/locate.h"
#include "wire/otlp.h"
#include "base/ban.h"

/* Three walks over the bytes: the first counts the tables, the second finds broken dictionary entries (again as long as it finds
 * some, since entries refer to entries), the third judges the profiles and copies what is valid. */

enum { RESOURCES = 1, SCOPES = 2, PROFILES = 2 }; /* field numbers in every layout */
enum { LENGTH = 5 }; /* bytes of a container's length: padded, since it is known only at the end */

typedef struct sift {
    locator w;
    layout layout;
    arena *a;
    uint8_t *broken[TABLE_COUNT]; /* what w.broken views */
    size_t n_containers;
    buf out;
    otlp_sifted *found;
    err *e;
    bool news; /* this walk over the dictionary found a broken entry */
} sift;

const char *otlp_fault_name(otlp_fault f)
{
    static const char *const names[] = {
#define X(id, name, what) [OTLP_FAULT_##id] = name,
        OTLP_FAULTS(X)
#undef X
    };
    return names[f];
}

static void note(sift *x, const err *why)
{
    otlp_sifted *s = x->found;
    if (s->n_reasons < OTLP_SIFT_REASONS) s->reason[s->n_reasons] = *why;
    s->n_reasons++;
}

/* A fault that belongs to no profile alone; always false. */
static bool fail(sift *x, const err *why)
{
    if (x->e && !x->e->code) *x->e = *why;
    return false;
}

static bool is_tables(const field_desc *fd)
{
    return fd->type == FT_MESSAGE && !strcmp(fd->message->name, "ProfilesDictionary");
}

/* The field's description when a parser would read it; NULL: unknown. */
static const field_desc *known(const message_desc *m, const pb_field *f)
{
    const field_desc *fd = message_field(m, f->number);
    return fd && locate_takes(fd, f) ? fd : NULL;
}

/* ---- tables ---- */

static void count_scopes(sift *x, pb_cur c)
{
    for (pb_field f; pb_next(&c, &f);) x->n_containers += f.number == SCOPES && f.wire == 2;
}

static void count_tables(sift *x, const message_desc *m, pb_cur c)
{
    c.e = NULL; /* judge_entries meets the same failure and says it */
    for (pb_field f; pb_next(&c, &f);) {
        const field_desc *fd = known(m, &f);
        if (!fd) continue;
        if (fd->fills) {
            x->w.table[fd->fills]++;
            continue;
        }
        x->n_containers++;
        if (is_tables(fd))
            count_tables(x, fd->message, pb_message(&c, &f));
        else if (f.number == RESOURCES && fd->type == FT_MESSAGE)
            count_scopes(x, pb_message(&c, &f));
    }
}

static bool make_flags(sift *x)
{
    for (size_t t = 1; t < TABLE_COUNT; t++) {
        if (!x->w.table[t]) continue;
        x->broken[t] = arena_zero(x->a, x->w.table[t]);
        if (!x->broken[t]) return err_set(x->e, ERR_LIMIT, "the memory budget is spent");
        x->w.broken[t] = x->broken[t];
    }
    return true;
}

/* One entry of a table.  Entry 0 is what every unset reference means: when it is broken, everything is. */
static bool judge_entry(sift *x, const field_desc *fd, pb_cur *c, const pb_field *f, bool nested)
{
    err why = {.offset = NO_OFFSET};
    pb_cur at = *c;
    size_t i = x->w.seen[fd->fills]++, packed;
    if (x->broken[fd->fills][i]) return true;
    at.e = &why;
    x->w.fault = OTLP_FAULT_WIRE;
    if (locate_field(&x->w, fd, &at, f, 0, &packed)) return true;
    (void)err_in(&why, "%s[%zu]", fd->name, i);
    if (nested) (void)err_in(&why, "dictionary");
    if (i == 0 || x->w.fault == OTLP_FAULT_WIRE) return fail(x, &why);
    x->broken[fd->fills][i] = 1;
    x->found->n_entries++;
    x->news = true;
    note(x, &why);
    return true;
}

static bool judge_entries(sift *x, const message_desc *m, pb_cur c, bool nested)
{
    size_t packed;
    err why = {.offset = NO_OFFSET};
    c.e = &why;
    for (pb_field f; pb_next(&c, &f);) {
        const field_desc *fd = known(m, &f);
        if (!fd || (!nested && f.number == RESOURCES)) continue;
        if (fd->fills) {
            if (!judge_entry(x, fd, &c, &f, nested)) return false;
        } else if (is_tables(fd)) {
            if (!judge_entries(x, fd->message, pb_message(&c, &f), true)) return false;
        } else if (!locate_field(&x->w, fd, &c, &f, 0, &packed)) {
            return fail(x, &why);
        }
    }
    return pb_ok(&c) || fail(x, &why);
}

static bool find_broken_entries(sift *x, const message_desc *root, pb_cur c)
{
    do {
        x->news = false;
        memset(x->w.seen, 0, sizeof x->w.seen);
        if (!judge_entries(x, root, c, false)) return false;
    } while (x->news);
    return true;
}

/* ---- copying ---- */

static void copy_field(sift *x, const pb_cur *c, const pb_field *f)
{
    buf_put(&x->out, f->at, (size_t)(c->p - f->at));
}

/* Begins a message of unknown length; returns where. */
static size_t open_container(sift *x, uint32_t number)
{
    static const char none[LENGTH];
    size_t at = x->out.n;
    pb_put_varint(&x->out, (uint64_t)number << 3 | 2);
    buf_put(&x->out, none, LENGTH);
    return at;
}

static void close_container(sift *x, size_t at)
{
    if (x->out.failed) return;
    size_t n = x->out.n - at - 1 - LENGTH; /* the tag has one byte */
    for (size_t i = 0; i < LENGTH; i++, n >>= 7)
        x->out.p[at + 1 + i] = (char)((n & 0x7f) | (i + 1 < LENGTH ? 0x80 : 0));
}

static bool copy_tables(sift *x, const message_desc *m, pb_cur c, pb_field f);

/* The dictionary with every broken entry emptied: the others stay where they are. */
static void copy_dictionary(sift *x, const message_desc *m, pb_cur c, uint32_t number)
{
    size_t at = open_container(x, number);
    for (pb_field f; pb_next(&c, &f);)
        if (!copy_tables(x, m, c, f)) copy_field(x, &c, &f);
    close_container(x, at);
}

/* false: the field is neither a broken entry nor a dictionary. */
static bool copy_tables(sift *x, const message_desc *m, pb_cur c, pb_field f)
{
    const field_desc *fd = known(m, &f);
    if (fd && is_tables(fd))
        return copy_dictionary(x, fd->message, pb_message(&c, &f), f.number), true;
    if (!fd || !fd->fills || !x->broken[fd->fills][x->w.seen[fd->fills]++]) return false;
    pb_put_bytes(&x->out, f.number, (str){"", 0});
    return true;
}

/* ---- profiles ---- */

typedef struct place {
    size_t resource, scope, profile;
} place;

static bool in_profile(err *e, place at)
{
    (void)err_in(e, "profiles[%zu]", at.profile);
    (void)err_in(e, "scope_profiles[%zu]", at.scope);
    return err_in(e, "resource_profiles[%zu]", at.resource);
}

static void reject(sift *x, otlp_fault fault, size_t n)
{
    x->found->n_rejected += n;
    x->found->rejected_by[fault] += n;
}

/* Layouts before 1.6 have their tables in the profile: the decoder itself judges a message of this one. */
static bool decode_alone(sift *x, const pb_cur *c, const pb_field *f, err *why)
{
    static const char prefix[] = "resource_profiles[0].scope_profiles[0].profiles[0]";
    arena own = arena_beside(x->a);
    model m;
    size_t head = 3 * (1 + LENGTH);
    buf one = {.p = arena_alloc(&own, (size_t)f->value + head), .limit = (size_t)f->value + head};
    one.cap = one.p ? one.limit : 0;
    one.failed = !one.p;
    sift inner = {.out = one};
    size_t r = open_container(&inner, RESOURCES), s = open_container(&inner, SCOPES);
    size_t p = open_container(&inner, PROFILES);
    buf_put(&inner.out, f->data, (size_t)f->value);
    close_container(&inner, p), close_container(&inner, s), close_container(&inner, r);
    bool ok =
        !inner.out.failed && otlp_decode(inner.out.p, inner.out.n,
                                         &(otlp_decode_opts){.layout = x->layout}, &own, &m, why);
    if (!ok && !why->code) err_set(why, ERR_LIMIT, "the memory budget is spent");
    if (!ok && why->offset != NO_OFFSET && why->offset >= head)
        why->offset += pb_offset(c, f->data) - head;
    if (!ok && str_starts(str_of(why->path), str_of(prefix))) { /* its place is not the first */
        size_t skip = sizeof prefix - 1;
        skip += why->path[skip] == '.';
        memmove(why->path, why->path + skip, strlen(why->path + skip) + 1);
    }
    arena_free(&own);
    return ok;
}

static bool judge_profile(sift *x, const field_desc *fd, const pb_cur *c, const pb_field *f,
                          err *why)
{
    pb_cur inside = pb_message(c, f);
    inside.e = why;
    if (x->layout < LAYOUT_1_6) {
        x->w.fault = OTLP_FAULT_SHAPE;
        return decode_alone(x, c, f, why);
    }
    x->w.fault = OTLP_FAULT_WIRE;
    x->w.table[TABLE_LOCATION_INDEX] = x->w.table[TABLE_SAMPLE_TYPE] = 0;
    x->w.seen[TABLE_LOCATION_INDEX] = x->w.seen[TABLE_SAMPLE_TYPE] = 0;
    if (x->layout < LAYOUT_1_8) { /* tables of the profile: count them */
        x->w.ranges = false;
        bool ok = locate_message(&x->w, fd->message, inside, 0);
        x->w.ranges = true;
        if (!ok) return false;
    }
    return locate_message(&x->w, fd->message, inside, 0);
}

/* A profile: copied, or rejected. */
static bool sift_profile(sift *x, const field_desc *fd, const pb_cur *c, const pb_field *f,
                         place at)
{
    err why = {.offset = NO_OFFSET};
    x->found->n_profiles++;
    if (judge_profile(x, fd, c, f, &why)) return copy_field(x, c, f), true;
    (void)in_profile(&why, at);
    if (x->w.fault == OTLP_FAULT_WIRE || (x->w.fault == OTLP_FAULT_SHAPE && why.code == ERR_LIMIT))
        return fail(x, &why);
    reject(x, x->w.fault, 1);
    note(x, &why);
    return true;
}

/* The fields of a resource or a scope but its `parts`.  *fault: WIRE when they are fine. */
static bool judge_own(sift *x, const message_desc *m, pb_cur c, uint32_t parts, err *why,
                      otlp_fault *fault)
{
    size_t packed;
    *fault = OTLP_FAULT_WIRE;
    x->w.fault = OTLP_FAULT_WIRE;
    c.e = why;
    for (pb_field f; pb_next(&c, &f);) {
        const field_desc *fd = f.number == parts ? NULL : known(m, &f);
        if (!fd || locate_field(&x->w, fd, &c, &f, 0, &packed)) continue;
        *fault = x->w.fault;
        return err_in(why, "%s", fd->name), *fault != OTLP_FAULT_WIRE;
    }
    return pb_ok(&c);
}

static size_t count_parts(pb_cur c, uint32_t number)
{
    size_t n = 0;
    c.e = NULL;
    for (pb_field f; pb_next(&c, &f);) n += f.number == number && f.wire == 2;
    return n;
}

/* Rejects n profiles for one fault. */
static void reject_all(sift *x, otlp_fault fault, size_t n, const err *why)
{
    x->found->n_profiles += n;
    reject(x, fault, n);
    note(x, why);
}

static bool sift_scope(sift *x, const field_desc *fd, pb_cur c, place at)
{
    otlp_fault fault;
    err why = {.offset = NO_OFFSET};
    size_t before = x->found->n_rejected, kept = 0, mark = open_container(x, SCOPES);
    bool ok = judge_own(x, fd->message, c, PROFILES, &why, &fault);
    (void)err_in(&why, "scope_profiles[%zu]", at.scope);
    (void)err_in(&why, "resource_profiles[%zu]", at.resource);
    if (!ok) return fail(x, &why);
    if (fault != OTLP_FAULT_WIRE) {
        reject_all(x, fault, count_parts(c, PROFILES), &why);
        x->out.n = mark;
        return true;
    }
    for (pb_field f; pb_next(&c, &f);) {
        const field_desc *in = known(fd->message, &f);
        if (!in || f.number != PROFILES) {
            copy_field(x, &c, &f);
            continue;
        }
        size_t rejected = x->found->n_rejected;
        if (!sift_profile(x, in, &c, &f, at)) return false;
        kept += x->found->n_rejected == rejected;
        at.profile++;
    }
    close_container(x, mark);
    if (!kept && x->found->n_rejected > before) x->out.n = mark;
    return true;
}

static size_t count_profiles(pb_cur c)
{
    size_t n = 0;
    c.e = NULL;
    for (pb_field f; pb_next(&c, &f);)
        if (f.number == SCOPES && f.wire == 2) n += count_parts(pb_message(&c, &f), PROFILES);
    return n;
}

static bool sift_resource(sift *x, const field_desc *fd, pb_cur c, size_t i)
{
    otlp_fault fault;
    err why = {.offset = NO_OFFSET};
    place at = {.resource = i};
    size_t before = x->found->n_rejected, kept = 0, mark = open_container(x, RESOURCES);
    bool ok = judge_own(x, fd->message, c, SCOPES, &why, &fault);
    (void)err_in(&why, "resource_profiles[%zu]", i);
    if (!ok) return fail(x, &why);
    if (fault != OTLP_FAULT_WIRE) {
        reject_all(x, fault, count_profiles(c), &why);
        x->out.n = mark;
        return true;
    }
    for (pb_field f; pb_next(&c, &f);) {
        const field_desc *in = known(fd->message, &f);
        if (!in || f.number != SCOPES) {
            copy_field(x, &c, &f);
            continue;
        }
        size_t length = x->out.n;
        pb_cur inside = pb_message(&c, &f);
        inside.e = NULL;
        if (!sift_scope(x, in, inside, at)) return false;
        kept += x->out.n > length;
        at.scope++;
    }
    close_container(x, mark);
    if (!kept && x->found->n_rejected > before) x->out.n = mark;
    return true;
}

static bool sift_root(sift *x, const message_desc *root, pb_cur c)
{
    size_t i = 0;
    memset(x->w.seen, 0, sizeof x->w.seen);
    for (pb_field f; pb_next(&c, &f);) {
        const field_desc *fd = known(root, &f);
        if (fd && f.number == RESOURCES) {
            if (!sift_resource(x, fd, pb_message(&c, &f), i++)) return false;
        } else if (!copy_tables(x, root, c, f)) {
            copy_field(x, &c, &f);
        }
    }
    return pb_ok(&c);
}

bool otlp_sift(const void *p, size_t n, layout l, arena *a, str *out, otlp_sifted *found, err *e)
{
    const message_desc *root = schema_profiles_data(l);
    sift x = {.w = {.strict = true, .ranges = true}, .layout = l, .a = a, .found = found, .e = e};
    pb_cur c = pb_open(p, n, NULL);
    *found = (otlp_sifted){0};
    if (!root) return err_set(e, ERR_USAGE, "no such layout");
    count_tables(&x, root, c);
    if (!make_flags(&x) || !find_broken_entries(&x, root, c)) return false;
    size_t cap = n + (x.n_containers + 1) * (1 + LENGTH);
    if (!(x.out.p = arena_alloc(a, cap)))
        return err_set(e, ERR_LIMIT, "the memory budget is spent");
    x.out.cap = x.out.limit = cap; /* it never grows */
    if (!sift_root(&x, root, c)) return false;
    if (x.out.failed) return err_set(e, ERR_LIMIT, "the memory budget is spent");
    *out = buf_view(&x.out);
    return true;
}
