#include "store/embedded.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include "wire/otlp.h"
#include "base/ban.h"

typedef struct verifying {
    embedded *x;
    void (*problem)(void *who, const char *line);
    void *who;
    store_check *out;
    const char *name; /* of the file at hand */
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
    if (v->problem) v->problem(v->who, text);
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
    else if (!block_take(data, &d->t, &b->series->s, BLOCK_ALL, &v->x->r.z, &v->a, &x))
        problem(v, "%s: block %" PRIu64 ": its columns cannot be read", name, b->id);
    else {
        verify_marks(v, &x, day_marks(s), b, name);
        uint64_t n = 0;
        for (size_t i = 0; i < x.m.profiles.n; i++) {
            str payload;
            n += x.m.profiles.v[i].n_samples;
            if (x.payload[i] && !day_payload(d, x.payload[i], &v->x->r.z, &v->a, &payload, NULL))
                problem(v,
                        "%s: block %" PRIu64 ": original payload %" PRIu64 " is damaged or missing",
                        name, b->id, x.payload[i]);
        }
        verify_row(v, &x, b, name);
        if (n != b->n_samples || x.m.profiles.n != b->n_profiles)
            problem(v,
                    "%s: block %" PRIu64 ": its row says %" PRIu64 " samples, its columns %" PRIu64,
                    name, b->id, b->n_samples, n);
    }
}

/* Blobs of a table that nothing else reads: their checksums. */
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

/* What a block holds can be found by its marks, and they say nothing else. */
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

/* Charts are made of the row alone: its sums are those of the columns. */
static void verify_row(verifying *v, const block *x, const day_block *b, const char *name)
{
    uint64_t total = 0, observations = 0;
    for (size_t i = 0; i < x->m.profiles.n; i++)
        for (size_t k = 0; k < x->m.profiles.v[i].n_samples; k++) {
            sample s = sample_at(&x->m, &x->m.profiles.v[i], k);
            for (size_t j = 0; j < s.n_values; j++) total += (uint64_t)s.values[j];
            observations += s.n_values ? s.n_values : s.n_times;
            if (!s.n_values) total += s.n_times; /* each timestamp counts one */
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
        const char *says = (const char *)sqlite3_column_text(s, 0);
        if (says && strcmp(says, "ok") != 0) problem(v, "%s: %s", name, says);
    }
    sqlite3_finalize(s);
    uint64_t lost = 0;
    ok = ok && database_number(
                   &d->db, "SELECT count(*) FROM block WHERE series NOT IN (SELECT id FROM series)",
                   &lost, e);
    if (ok && lost) problem(v, "%s: %" PRIu64 " blocks have no series", name, lost);
    return ok && verify_seals(v, d, "SELECT id, data FROM keys", "keys", SEAL_KEYS, name, e);
}

/* What the bytes of an item say. */
static bool decodes(verifying *v, const item *x, err *why)
{
    model m;
    v->out->n_samples += x->n_samples;
    arena_reset(&v->a);
    if (!otlp_decode(x->bytes.p, x->bytes.n, &(otlp_decode_opts){.layout = x->layout}, &v->a, &m,
                     why))
        return false;
    return m.profiles.n == x->n_profiles ||
           err_set(why, ERR_MALFORMED, "it says %zu profiles and has %zu", x->n_profiles,
                   m.profiles.n);
}

static bool verify_item(void *who, const raw_item *i, bool *stop, err *e)
{
    verifying *v = who;
    err why = {0};
    (void)stop, (void)e;
    v->out->n_items++;
    if (!decodes(v, &i->x, &why)) problem(v, "journal: item %" PRIu64 ": %s", i->seq, why.msg);
    return true;
}

/* One that questions can look at is well where it is. */
static bool verify_kept(void *who, const raw_item *i, bool *stop, err *e)
{
    verifying *v = who;
    err why = {0};
    (void)stop, (void)e;
    if (!decodes(v, &i->x, &why))
        problem(v, "%s: item %" PRIu64 " is kept as received and is in no answer: %s", v->name,
                i->seq, why.msg);
    return true;
}

static bool verify_raw(verifying *v, day *d, const char *name, err *e)
{
    uint64_t damaged = 0;
    v->out->n_kept += d->n_raw;
    v->name = name;
    if (!reader_raw(&v->x->r, d, verify_kept, v, &damaged, e)) return false;
    if (damaged)
        problem(v, "%s: %" PRIu64 " of the items that are kept as received cannot be read", name,
                damaged);
    return true;
}

static void on_broken(void *who, day_name name, const err *why)
{
    (void)name;
    problem(who, "%s", why->msg);
}

/* Names are looked up row by row, so one that is damaged shows only here. */
static bool verify_names(verifying *v, err *e)
{
    names_db n;
    uint64_t damaged = 0;
    err why = {0};
    if (names_open(&n, &v->x->r.o, &why) && names_verify(&n, &damaged, &why)) {
        if (damaged) problem(v, "names.db: %" PRIu64 " names are damaged", damaged);
    } else if (why.code == ERR_MALFORMED) {
        problem(v, "%s", why.msg);
        why = (err){0};
    }
    names_close(&n);
    if (why.code && e) *e = why;
    return !why.code;
}

static void on_lack(void *who, const manifest_file *gone, uint64_t items, const char *why)
{
    (void)gone, (void)items;
    problem(who, "%s", why);
}

/* The manifest, and what it lists and is not there. */
static void verify_manifest(verifying *v)
{
    reader *r = &v->x->r;
    manifest m = {0};
    err why = {0};
    if (!manifest_load(&m, v->x->dir, &why)) problem(v, "%s", why.msg);
    for (size_t i = 0; i < r->n_days && !m.there && !why.code; i++) {
        uint64_t id = 0;
        if (database_number(&r->days[i]->db, "SELECT value FROM meta WHERE key = 'id'", &id,
                            NULL) &&
            id) {
            problem(v, "the manifest is missing");
            break;
        }
    }
    reader_lacks(r, on_lack, v);
    if (m.lost_items)
        problem(v, "journal: %" PRIu64 " items are lost with their segments", m.lost_items);
    for (size_t i = 0; i < r->hold.n; i++)
        if (r->hold.v[i].bad)
            problem(v, "raw-%08u.log: its header is damaged: the manifest has a copy",
                    r->hold.v[i].number);
    manifest_free(&m);
}

bool embedded_verify(store *s, void (*tell)(void *who, const char *line), void *who,
                     store_check *out, err *e)
{
    embedded *x = (embedded *)s;
    *out = (store_check){0};
    verifying v = {.x = x, .problem = tell, .who = who, .out = out};
    pthread_mutex_lock(&x->reading);
    reader was = x->r;
    x->r.broken = on_broken; /* verifying changes nothing */
    x->r.who = &v;
    bool ok = reader_begin(&x->r, e);
    for (size_t i = 0; ok && i < x->r.n_days; i++) {
        char name[DAY_NAME];
        err why = {0};
        day_name_text(x->r.days[i]->name, name);
        out->n_files++;
        if (!verify_database(&v, x->r.days[i], name, &why) ||
            !verify_blocks(&v, x->r.days[i], name, &why) ||
            !verify_raw(&v, x->r.days[i], name, &why))
            problem(&v, "%s", why.msg);
    }
    bool begun = ok;
    if (ok) verify_manifest(&v);
    ok = ok && verify_names(&v, e) && reader_items(&x->r, verify_item, &v, e);
    if (ok && x->r.n_damaged) problem(&v, "journal: %" PRIu64 " items are damaged", x->r.n_damaged);
    if (begun) reader_end(&x->r);
    x->r.broken = was.broken;
    x->r.who = was.who;
    pthread_mutex_unlock(&x->reading);
    arena_free(&v.a);
    return ok;
}
