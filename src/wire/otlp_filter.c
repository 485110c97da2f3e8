/* Removes invalid profiles in three walks over the bytes.  The first counts the entries of the
 * tables. The second finds malformed dictionary entries and repeats while it finds some, because
 * entries refer to entries.  The third checks the profiles and copies the valid ones. */
#include "wire/otlp_filter.h"

#include "wire/locate.h"
#include "wire/otlp.h"
#include "base/ban.h"

enum { RESOURCES = 1, SCOPES = 2, PROFILES = 2 }; /* field numbers in every layout */
enum { LENGTH = 5 }; /* bytes of a container's length, padded because it is set at the end */

typedef struct filter {
    locator w;
    layout layout;
    arena *a;
    uint8_t *broken[TABLE_COUNT]; /* memory of w.broken */
    size_t n_containers;
    buf out;
    otlp_filtered *found;
    err *e;
    bool news; /* the current walk over the dictionary found a broken entry */
} filter;

const char *otlp_fault_name(otlp_fault f)
{
    static const char *const names[] = {
#define X(id, name, what) [OTLP_FAULT_##id] = name,
        OTLP_FAULTS(X)
#undef X
    };
    return names[f];
}

static void note(filter *x, const err *why)
{
    otlp_filtered *s = x->found;
    if (s->n_reasons < OTLP_FILTER_REASONS) s->reason[s->n_reasons] = *why;
    s->n_reasons++;
}

/* Reports a fault that affects all profiles; always returns false. */
static bool fail(filter *x, const err *why)
{
    if (x->e && !x->e->code) *x->e = *why;
    return false;
}

static bool is_tables(const field_desc *fd)
{
    return fd->type == FT_MESSAGE && !strcmp(fd->message->name, "ProfilesDictionary");
}

/* Returns the description of a field; NULL if parsers skip it because its number or wire type is
 * unknown. */
static const field_desc *known(const message_desc *m, const pb_field *f)
{
    const field_desc *fd = message_field(m, f->number);
    return fd && locate_takes(fd, f) ? fd : NULL;
}

/* ---- tables ---- */

static void count_scopes(filter *x, pb_cur c)
{
    for (pb_field f; pb_next(&c, &f);) x->n_containers += f.number == SCOPES && f.wire == 2;
}

static void count_tables(filter *x, const message_desc *m, pb_cur c)
{
    c.e = NULL; /* check_entries reports the same failure */
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

static bool make_flags(filter *x)
{
    for (size_t t = 1; t < TABLE_COUNT; t++) {
        if (!x->w.table[t]) continue;
        x->broken[t] = arena_zero(x->a, x->w.table[t]);
        if (!x->broken[t]) return err_memory(x->e);
        x->w.broken[t] = x->broken[t];
    }
    return true;
}

/* Checks one entry of a table.  An unset reference means entry 0, so a malformed entry 0 affects
 * all profiles. */
static bool check_entry(filter *x, const field_desc *fd, pb_cur *c, const pb_field *f, bool nested)
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

static bool check_entries(filter *x, const message_desc *m, pb_cur c, bool nested)
{
    size_t packed;
    err why = {.offset = NO_OFFSET};
    c.e = &why;
    for (pb_field f; pb_next(&c, &f);) {
        const field_desc *fd = known(m, &f);
        if (!fd || (!nested && f.number == RESOURCES)) continue;
        if (fd->fills) {
            if (!check_entry(x, fd, &c, &f, nested)) return false;
        } else if (is_tables(fd)) {
            if (!check_entries(x, fd->message, pb_message(&c, &f), true)) return false;
        } else if (!locate_field(&x->w, fd, &c, &f, 0, &packed)) {
            return fail(x, &why);
        }
    }
    return pb_ok(&c) || fail(x, &why);
}

static bool find_broken_entries(filter *x, const message_desc *root, pb_cur c)
{
    do {
        x->news = false;
        memset(x->w.seen, 0, sizeof x->w.seen);
        if (!check_entries(x, root, c, false)) return false;
    } while (x->news);
    return true;
}

/* ---- copying ---- */

static void copy_field(filter *x, const pb_cur *c, const pb_field *f)
{
    buf_put(&x->out, f->at, (size_t)(c->p - f->at));
}

/* Starts a message of unknown length; returns its position. */
static size_t open_container(filter *x, uint32_t number)
{
    static const char none[LENGTH];
    size_t at = x->out.n;
    pb_put_varint(&x->out, (uint64_t)number << 3 | 2);
    buf_put(&x->out, none, LENGTH);
    return at;
}

static void close_container(filter *x, size_t at)
{
    if (x->out.failed) return;
    size_t n = x->out.n - at - 1 - LENGTH; /* the tag has one byte */
    for (size_t i = 0; i < LENGTH; i++, n >>= 7)
        x->out.p[at + 1 + i] = (char)((n & 0x7f) | (i + 1 < LENGTH ? 0x80 : 0));
}

static bool copy_tables(filter *x, const message_desc *m, pb_cur c, pb_field f);

/* Copies the dictionary with empty entries in place of broken ones, so that positions stay the same. */
static void copy_dictionary(filter *x, const message_desc *m, pb_cur c, uint32_t number)
{
    size_t at = open_container(x, number);
    for (pb_field f; pb_next(&c, &f);)
        if (!copy_tables(x, m, c, f)) copy_field(x, &c, &f);
    close_container(x, at);
}

/* Returns false if the field is neither a broken entry nor a dictionary. */
static bool copy_tables(filter *x, const message_desc *m, pb_cur c, pb_field f)
{
    const field_desc *fd = known(m, &f);
    if (fd && is_tables(fd))
        return copy_dictionary(x, fd->message, pb_message(&c, &f), f.number), true;
    if (!fd || !fd->fills || !x->broken[fd->fills][x->w.seen[fd->fills]++]) return false;
    pb_put_bytes(&x->out, f.number, (str){"", 0});
    return true;
}

/* ---- profiles ---- */

typedef struct profile_path {
    size_t resource, scope, profile;
} profile_path;

static bool in_profile(err *e, profile_path at)
{
    (void)err_in(e, "profiles[%zu]", at.profile);
    (void)err_in(e, "scope_profiles[%zu]", at.scope);
    return err_in(e, "resource_profiles[%zu]", at.resource);
}

static void reject(filter *x, otlp_fault fault, size_t n)
{
    x->found->n_rejected += n;
    x->found->rejected_by[fault] += n;
}

/* Checks a profile of a layout before 1.6, which contains its own tables: decodes a message with
 * only this profile. */
static bool decode_alone(filter *x, const pb_cur *c, const pb_field *f, err *why)
{
    static const char prefix[] = "resource_profiles[0].scope_profiles[0].profiles[0]";
    arena own = arena_beside(x->a);
    model m;
    size_t head = 3 * (1 + LENGTH);
    buf one = {.p = arena_alloc(&own, (size_t)f->value + head), .limit = (size_t)f->value + head};
    one.cap = one.p ? one.limit : 0;
    one.failed = !one.p;
    filter inner = {.out = one};
    size_t r = open_container(&inner, RESOURCES), s = open_container(&inner, SCOPES);
    size_t p = open_container(&inner, PROFILES);
    buf_put(&inner.out, f->data, (size_t)f->value);
    close_container(&inner, p), close_container(&inner, s), close_container(&inner, r);
    bool ok =
        !inner.out.failed && otlp_decode(inner.out.p, inner.out.n,
                                         &(otlp_decode_opts){.layout = x->layout}, &own, &m, why);
    if (!ok && !why->code) err_memory(why);
    if (!ok && why->offset != NO_OFFSET && why->offset >= head)
        why->offset += pb_offset(c, f->data) - head;
    if (!ok && str_starts(str_of(why->path),
                          str_of(prefix))) { /* the path has index 0 instead of the profile's */
        size_t skip = sizeof prefix - 1;
        skip += why->path[skip] == '.';
        memmove(why->path, why->path + skip, strlen(why->path + skip) + 1);
    }
    arena_free(&own);
    return ok;
}

static bool check_profile(filter *x, const field_desc *fd, const pb_cur *c, const pb_field *f,
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
    if (x->layout < LAYOUT_1_8) { /* counts the tables of the profile */
        x->w.ranges = false;
        bool ok = locate_message(&x->w, fd->message, inside, 0);
        x->w.ranges = true;
        if (!ok) return false;
    }
    return locate_message(&x->w, fd->message, inside, 0);
}

/* Copies or rejects a profile. */
static bool filter_profile(filter *x, const field_desc *fd, const pb_cur *c, const pb_field *f,
                           profile_path at)
{
    err why = {.offset = NO_OFFSET};
    x->found->n_profiles++;
    if (check_profile(x, fd, c, f, &why)) return copy_field(x, c, f), true;
    (void)in_profile(&why, at);
    if (x->w.fault == OTLP_FAULT_WIRE || (x->w.fault == OTLP_FAULT_SHAPE && err_exhausted(&why)))
        return fail(x, &why);
    reject(x, x->w.fault, 1);
    note(x, &why);
    return true;
}

/* Checks the fields of a resource or scope except `parts`.  Sets *fault to WIRE when they are
 * valid. */
static bool check_own(filter *x, const message_desc *m, pb_cur c, uint32_t parts, err *why,
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
static void reject_all(filter *x, otlp_fault fault, size_t n, const err *why)
{
    x->found->n_profiles += n;
    reject(x, fault, n);
    note(x, why);
}

static bool filter_scope(filter *x, const field_desc *fd, pb_cur c, profile_path at)
{
    otlp_fault fault;
    err why = {.offset = NO_OFFSET};
    size_t before = x->found->n_rejected, kept = 0, mark = open_container(x, SCOPES);
    bool ok = check_own(x, fd->message, c, PROFILES, &why, &fault);
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
        if (!filter_profile(x, in, &c, &f, at)) return false;
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

static bool filter_resource(filter *x, const field_desc *fd, pb_cur c, size_t i)
{
    otlp_fault fault;
    err why = {.offset = NO_OFFSET};
    profile_path at = {.resource = i};
    size_t before = x->found->n_rejected, kept = 0, mark = open_container(x, RESOURCES);
    bool ok = check_own(x, fd->message, c, SCOPES, &why, &fault);
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
        if (!filter_scope(x, in, inside, at)) return false;
        kept += x->out.n > length;
        at.scope++;
    }
    close_container(x, mark);
    if (!kept && x->found->n_rejected > before) x->out.n = mark;
    return true;
}

static bool filter_root(filter *x, const message_desc *root, pb_cur c)
{
    size_t i = 0;
    memset(x->w.seen, 0, sizeof x->w.seen);
    for (pb_field f; pb_next(&c, &f);) {
        const field_desc *fd = known(root, &f);
        if (fd && f.number == RESOURCES) {
            if (!filter_resource(x, fd, pb_message(&c, &f), i++)) return false;
        } else if (!copy_tables(x, root, c, f)) {
            copy_field(x, &c, &f);
        }
    }
    return pb_ok(&c);
}

bool otlp_filter(const void *p, size_t n, layout l, arena *a, str *out, otlp_filtered *found,
                 err *e)
{
    const message_desc *root = schema_profiles_data(l);
    filter x = {.w = {.strict = true, .ranges = true}, .layout = l, .a = a, .found = found, .e = e};
    pb_cur c = pb_open(p, n, NULL);
    *found = (otlp_filtered){0};
    if (!root) return err_set(e, ERR_USAGE, "no such layout");
    count_tables(&x, root, c);
    if (!make_flags(&x) || !find_broken_entries(&x, root, c)) return false;
    size_t cap = n + (x.n_containers + 1) * (1 + LENGTH);
    if (!(x.out.p = arena_alloc(a, cap))) return err_memory(e);
    x.out.cap = x.out.limit = cap; /* does not grow */
    if (!filter_root(&x, root, c)) return false;
    if (x.out.failed) return err_memory(e);
    *out = buf_view(&x.out);
    return true;
}
