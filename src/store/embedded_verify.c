/* `kiln store verify`: reads every block, payload, item and name of a store and reports faults. It
 * uses the code of reads, and also compares data that reads do not: rows with columns, marks with
 * ids. */
#include "store/embedded.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include "wire/otlp.h"
#include "base/ban.h"

typedef struct verifying {
    reader *r;
    void (*problem)(void *ctx, const char *line);
    void *ctx;
    store_check *out;
    const char *name; /* name of the current file */
    arena a;
} verifying;

static void PRINTF(2, 3) problem(verifying *v, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    v->out->n_problems++;
    if (v->problem) v->problem(v->ctx, text);
}

static void verify_marks(verifying *v, const block *x, str marks, const day_block *b,
                         const char *name);
static void verify_row(verifying *v, const block *x, const day_block *b, const char *name);

static void verify_block(verifying *v, day *d, sqlite3_stmt *s, const day_block *b,
                         const char *name)
{
    str data;
    block x;
    v->out->n_blocks++;
    v->out->n_samples += b->n_samples;
    arena_reset(&v->a);
    if (!day_data(s, b, &data))
        problem(v, "%s: block %" PRIu64 ": its checksum is wrong", name, b->id);
    else if (!block_take(data, &d->t, &b->series->s, BLOCK_ALL, &v->r->z, &v->a, &x))
        problem(v, "%s: block %" PRIu64 ": its columns cannot be read", name, b->id);
    else {
        verify_marks(v, &x, day_marks(s), b, name);
        uint64_t n = 0;
        for (size_t i = 0; i < x.m.profiles.n; i++) {
            str payload;
            n += x.m.profiles.v[i].n_samples;
            if (x.payload[i] && !day_payload(d, x.payload[i], &v->r->z, &v->a, &payload, NULL))
                problem(v,
                        "%s: block %" PRIu64 ": original payload %" PRIu64 " is damaged or missing",
                        name, b->id, x.payload[i]);
        }
        verify_row(v, &x, b, name);
        if (n != b->n_samples || x.m.profiles.n != b->n_profiles)
            problem(v,
                    "%s: block %" PRIu64 ": its row has %" PRIu64 " samples, its columns %" PRIu64,
                    name, b->id, b->n_samples, n);
    }
}

/* Checks the checksums of a table that no other check reads. */
static bool verify_seals(verifying *v, day *d, const char *sql, const char *table, uint64_t seal,
                         const char *name, err *e)
{
    sqlite3_stmt *s = database_prepare(&d->db, sql, e);
    bool ok = s != NULL, row = true;
    while (ok && (ok = database_step(&d->db, s, &row, e)) && row) {
        str data = column_bytes(s, 1);
        if (!unseal_bytes(&data, seal))
            problem(v, "%s: %s %lld: its checksum is wrong", name, table,
                    (long long)sqlite3_column_int64(s, 0));
    }
    sqlite3_finalize(s);
    return ok;
}

/* Checks that the marks of a block cover all of its ids, and that there are no more marks than
 * ids. */
static void verify_marks(verifying *v, const block *x, str marks, const day_block *b,
                         const char *name)
{
    size_t missing = 0, n = 0;
    uint8_t id[16];
    for (size_t i = 0; i < x->m.profiles.n; i++, n++) {
        profile_identity(&x->m.profiles.v[i], &x->facts[i], id);
        missing += !marks_have(marks, mark_of(MARK_PROFILE, id, 16));
    }
    for (size_t i = 1; i < x->m.dict.links.n; i++, n += 2) {
        missing += !marks_have(marks, mark_of(MARK_TRACE, x->m.dict.links.v[i].trace_id, 16));
        missing += !marks_have(marks, mark_of(MARK_SPAN, x->m.dict.links.v[i].span_id, 8));
    }
    if (missing || marks.n / 4 > n)
        problem(v, "%s: block %" PRIu64 ": %zu ids cannot be found by its marks", name, b->id,
                missing);
}

/* Checks that the sums of the row equal those of the columns: charts use the row alone. */
static void verify_row(verifying *v, const block *x, const day_block *b, const char *name)
{
    uint64_t total = 0, observations = 0;
    for (size_t i = 0; i < x->m.profiles.n; i++)
        for (size_t k = 0; k < x->m.profiles.v[i].n_samples; k++) {
            sample s = sample_at(&x->m, &x->m.profiles.v[i], k);
            for (size_t j = 0; j < s.n_values; j++) total += (uint64_t)s.values[j];
            observations += s.n_values ? s.n_values : s.n_times;
            if (!s.n_values) total += s.n_times; /* each timestamp counts as one */
        }
    if (total != (uint64_t)b->total || observations != b->n_observations)
        problem(v, "%s: block %" PRIu64 ": the sums of its row are wrong", name, b->id);
}

static bool verify_blocks(verifying *v, day *d, const char *name, err *e)
{
    for (size_t i = 0; i < d->series.n; i++) {
        sqlite3_stmt *s = day_blocks(d, &d->series.v[i], 0, 0, e);
        bool ok = s != NULL, more = true;
        while (ok && more) {
            day_block b;
            ok = day_next(d, s, &b, &more, e);
            if (ok && more) verify_block(v, d, s, &b, name);
        }
        if (s) sqlite3_reset(s);
        if (!ok) return false;
    }
    return true;
}

static bool verify_database(verifying *v, day *d, const char *name, err *e)
{
    sqlite3_stmt *s = database_prepare(&d->db, "PRAGMA integrity_check(10)", e);
    bool ok = s != NULL, row = true;
    while (ok && (ok = database_step(&d->db, s, &row, e)) && row) {
        const char *text = (const char *)sqlite3_column_text(s, 0);
        if (text && strcmp(text, "ok") != 0) problem(v, "%s: %s", name, text);
    }
    sqlite3_finalize(s);
    uint64_t lost = 0;
    ok = ok && database_number(
                   &d->db, "SELECT count(*) FROM block WHERE series NOT IN (SELECT id FROM series)",
                   &lost, e);
    if (ok && lost) problem(v, "%s: %" PRIu64 " blocks have no series", name, lost);
    return ok && verify_seals(v, d, "SELECT id, data FROM keys", "keys", SEAL_KEYS, name, e);
}

/* Returns whether the item can be decoded; if not, *why has the reason. */
static bool decodes(verifying *v, const item *x, err *why)
{
    model m;
    v->out->n_samples += x->n_samples;
    arena_reset(&v->a);
    if (!otlp_decode(x->bytes.p, x->bytes.n, &(otlp_decode_opts){.layout = x->layout}, &v->a, &m,
                     why))
        return false;
    return m.profiles.n == x->n_profiles ||
           err_set(why, ERR_MALFORMED, "it declares %zu profiles and has %zu", x->n_profiles,
                   m.profiles.n);
}

static bool verify_item(void *ctx, const raw_item *i, bool *stop, err *e)
{
    verifying *v = ctx;
    err why = {0};
    (void)stop, (void)e;
    v->out->n_items++;
    if (!decodes(v, &i->x, &why)) problem(v, "journal: item %" PRIu64 ": %s", i->seq, why.msg);
    return true;
}

/* Reports a raw item only if reads cannot decode it. */
static bool verify_raw_item(void *ctx, const raw_item *i, bool *stop, err *e)
{
    verifying *v = ctx;
    err why = {0};
    (void)stop, (void)e;
    if (!decodes(v, &i->x, &why))
        problem(v, "%s: item %" PRIu64 " is stored as received and cannot be read: %s", v->name,
                i->seq, why.msg);
    return true;
}

static bool verify_raw(verifying *v, day *d, const char *name, err *e)
{
    uint64_t damaged = 0;
    v->out->n_raw += d->n_raw;
    v->name = name;
    if (!reader_raw(v->r, d, verify_raw_item, v, &damaged, e)) return false;
    if (damaged)
        problem(v, "%s: %" PRIu64 " items that are stored as received cannot be read", name,
                damaged);
    return true;
}

static void on_broken(void *ctx, day_name name, const err *why)
{
    (void)name;
    problem(ctx, "%s", why->msg);
}

/* Checks all names. Reads look names up one by one, so they do not find damaged names that they do
 * not use. */
static bool verify_names(verifying *v, err *e)
{
    names_db n;
    uint64_t damaged = 0;
    err why = {0};
    if (names_open(&n, &v->r->o, &why) && names_verify(&n, &damaged, &why)) {
        if (damaged) problem(v, "names.db: %" PRIu64 " names are damaged", damaged);
    } else if (why.code == ERR_MALFORMED) {
        problem(v, "%s", why.msg);
        why = (err){0};
    }
    names_close(&n);
    if (why.code && e) *e = why;
    return !why.code;
}

static void on_missing(void *ctx, const manifest_file *gone, uint64_t items, const char *why)
{
    (void)gone, (void)items;
    problem(ctx, "%s", why);
}

/* Checks the manifest, and reports files and segments that it lists but that are missing. */
static void verify_manifest(verifying *v)
{
    reader *r = v->r;
    manifest m = {0};
    err why = {0};
    if (!manifest_load(&m, r->o.dir, &why)) problem(v, "%s", why.msg);
    for (size_t i = 0; i < r->n_days && !m.there && !why.code; i++) {
        uint64_t id = 0;
        if (database_number(&r->days[i]->db, "SELECT value FROM meta WHERE key = 'id'", &id,
                            NULL) &&
            id) {
            problem(v, "the manifest is missing");
            break;
        }
    }
    reader_missing(r, on_missing, v);
    if (m.lost_items)
        problem(v, "journal: %" PRIu64 " items are lost with their segments", m.lost_items);
    for (size_t i = 0; i < r->hold.n; i++)
        if (r->hold.v[i].bad)
            problem(v, "raw-%08u.log: its header is damaged: the manifest has a copy",
                    r->hold.v[i].number);
    manifest_free(&m);
}

bool embedded_verify(store_reader *s, void (*report)(void *ctx, const char *line), void *ctx,
                     store_check *out, err *e)
{
    embedded_reader *x = (embedded_reader *)s;
    reader *r = &x->r;
    *out = (store_check){0};
    verifying v = {.r = r, .problem = report, .ctx = ctx, .out = out};
    pthread_mutex_lock(&x->lock);
    reader was = *r;
    r->broken = on_broken; /* verifying changes nothing */
    r->ctx = &v;
    bool ok = reader_begin(r, e);
    for (size_t i = 0; ok && i < r->n_days; i++) {
        char name[DAY_NAME];
        err why = {0};
        day_name_text(r->days[i]->name, name);
        out->n_files++;
        if (!verify_database(&v, r->days[i], name, &why) ||
            !verify_blocks(&v, r->days[i], name, &why) || !verify_raw(&v, r->days[i], name, &why))
            problem(&v, "%s", why.msg);
    }
    bool begun = ok;
    if (ok) verify_manifest(&v);
    ok = ok && verify_names(&v, e) && reader_items(r, verify_item, &v, e);
    if (ok && r->n_damaged) problem(&v, "journal: %" PRIu64 " items are damaged", r->n_damaged);
    if (begun) reader_end(r);
    r->broken = was.broken;
    r->ctx = was.ctx;
    pthread_mutex_unlock(&x->lock);
    arena_free(&v.a);
    return ok;
}
