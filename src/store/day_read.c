/* Reads a day file: a snapshot in a read transaction, the tables and series added since the last
 * snapshot, blocks, payloads, keys. The tables stay in memory between reads, up to the limit of the
 * reader. */
#include "store/day.h"

#include "store/item.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include "base/ban.h"

static uint64_t inode_of(const day *d)
{
    struct stat st;
    return stat(d->db.path, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

bool day_is_there(const day *d) { return inode_of(d) == d->inode; }

day *day_open(const day_opts *o, day_name name, size_t memory, err *e)
{
    day *d = calloc(1, sizeof *d);
    if (!d) return (void)err_sys(e, ENOMEM, "no memory to open a file of the store"), NULL;
    d->name = name;
    d->a.budget = memory, d->a.seed = o->seed;
    if (!database_open(&d->db, o, name, e)) {
        free(d);
        return NULL;
    }
    d->inode = inode_of(d);
    if (!tables_init(&d->t, &d->a)) {
        day_close(d);
        return (void)err_memory(e), NULL;
    }
    return d;
}

void day_close(day *d)
{
    if (!d) return;
    sqlite3_finalize(d->begin);
    sqlite3_finalize(d->commit);
    sqlite3_finalize(d->read_through);
    sqlite3_finalize(d->read_ids);
    sqlite3_finalize(d->read_block);
    database_close(&d->db);
    arena_free(&d->a);
    free(d);
}

static bool damaged(day *d, const char *table, uint64_t row, err *e)
{
    if (d->a.budget && d->a.used > d->a.budget - d->a.budget / 8)
        return err_set(e, ERR_MEMORY, "%s: its dictionary does not fit the memory budget",
                       d->db.path);
    return err_set(e, ERR_MALFORMED, "%s: %s %" PRIu64 " is damaged", d->db.path, table, row);
}

/* ---- series ---- */

static day_series *series_of(day *d, uint32_t id)
{
    if (!d->by_id.slot) return NULL;
    uint64_t h = hash_mix(d->by_id.seed, id);
    uint32_t i = hash_first(&d->by_id, h);
    for (uint32_t at; hash_next(&d->by_id, &i, h, &at); i++)
        if (d->series.v[at].id == id) return &d->series.v[at];
    return NULL;
}

static bool take_series(day *d, uint32_t id, str data)
{
    if (!hash_index_room(&d->by_id, &d->a)) return false;
    day_series *x = vec_push(&d->a, &d->series);
    if (!x) return false;
    taker t = taker_of(data);
    block_series *s = &x->s;
    x->id = id;
    if (!take_resource(&t, &d->a, &s->resource) || !take_scope(&t, &d->a, &s->scope)) return false;
    uint32_t *strings[] = {&s->head.sample_type.type, &s->head.sample_type.unit,
                           &s->head.period_type.type, &s->head.period_type.unit};
    for (size_t i = 0; i < 4; i++) {
        uint64_t v = take_varint(&t);
        if (v >= d->t.m.dict.strings.n) return false;
        *strings[i] = (uint32_t)v;
    }
    s->head.period = take_signed(&t);
    s->head.has_sample_type = take_varint(&t) != 0;
    uint64_t h = hash_mix(d->by_id.seed, id);
    uint32_t i = hash_first(&d->by_id, h);
    for (uint32_t at; hash_next(&d->by_id, &i, h, &at); i++) continue;
    hash_put(&d->by_id, i, h, (uint32_t)(d->series.n - 1));
    return !t.bad && taker_left(&t) == 0;
}

/* Reads new numbers of a series: [varint n][column], for stacks, lists of samples, or lists of
 * profiles. */
static bool take_numbers(day *d, u32s *to, size_t limit, taker *t, zipper *z)
{
    uint64_t n = take_varint(t);
    if (t->bad || n > UINT32_MAX || !vec_reserve(&d->a, to, n)) return false;
    if (!n) return skip_column(t), !t->bad;
    bool ok = take_column_u32(t, to->v + to->n, (size_t)n, (uint32_t)limit, z);
    to->n += (size_t)n;
    return ok;
}

static bool take_local(day *d, uint32_t id, str data, zipper *z)
{
    day_series *s = series_of(d, id);
    taker t = taker_of(data);
    return s && take_numbers(d, &s->s.stacks, dict_n_stacks(&d->t.m.dict), &t, z) &&
           take_numbers(d, &s->s.lists, d->t.lists.n, &t, z) &&
           take_numbers(d, &s->s.profile_lists, d->t.lists.n, &t, z) && taker_left(&t) == 0;
}

/* ---- new rows ---- */

typedef bool take_row(day *d, sqlite3_stmt *s, zipper *z);

static bool row_tables(day *d, sqlite3_stmt *s, zipper *z)
{
    str data = column_bytes(s, 1);
    return unseal_bytes(&data, SEAL_TABLES) && tables_take(&d->t, data, z);
}

static bool row_series(day *d, sqlite3_stmt *s, zipper *z)
{
    (void)z;
    str data = column_bytes(s, 1);
    return unseal_bytes(&data, SEAL_SERIES) &&
           take_series(d, (uint32_t)sqlite3_column_int64(s, 0), data);
}

static bool row_local(day *d, sqlite3_stmt *s, zipper *z)
{
    str data = column_bytes(s, 1);
    return unseal_bytes(&data, SEAL_LOCAL) &&
           take_local(d, (uint32_t)sqlite3_column_int64(s, 2), data, z);
}

static bool take_rows(day *d, const char *sql, const char *table, uint64_t *last, take_row *take,
                      zipper *z, err *e)
{
    sqlite3_stmt *s = database_prepare(&d->db, sql, e);
    if (!s) return false;
    sqlite3_bind_int64(s, 1, (sqlite3_int64)*last);
    bool row, ok;
    while ((ok = database_step(&d->db, s, &row, e)) && row) {
        *last = (uint64_t)sqlite3_column_int64(s, 0);
        if (!take(d, s, z)) {
            ok = damaged(d, table, *last, e);
            break;
        }
    }
    sqlite3_finalize(s);
    return ok;
}

/* The file was rewritten: reads all rows again. */
static bool begin_anew(day *d, err *e)
{
    arena_free(&d->a);
    d->series = (__typeof__(d->series)){0};
    d->by_id = (hash_index){0};
    d->ids = (__typeof__(d->ids)){0}; /* find_blocks would reuse the freed memory */
    d->tables_row = d->series_row = d->local_row = 0;
    return tables_init(&d->t, &d->a) || err_memory(e);
}

/* Reserves memory for exactly the series of the file: doubling would leave up to half of it unused,
 * and reader_end closes files above its memory limit. */
static bool reserve_series(day *d, err *e)
{
    uint64_t n;
    if (d->series.n) return true;
    return database_number(&d->db, "SELECT count(*) FROM series", &n, e) &&
           (vec_reserve(&d->a, &d->series, n) || err_memory(e));
}

static bool take_new(day *d, zipper *z, err *e)
{
    uint64_t was = d->finished;
    if (!database_number(&d->db, "SELECT value FROM meta WHERE key = 'finished'", &d->finished, e))
        return false;
    if (d->finished != was && d->tables_row && !begin_anew(d, e)) return false;
    return take_rows(d, "SELECT id, data FROM tables WHERE id > ? ORDER BY id", "tables",
                     &d->tables_row, row_tables, z, e) &&
           reserve_series(d, e) &&
           take_rows(d, "SELECT id, data FROM series WHERE id > ? ORDER BY id", "series",
                     &d->series_row, row_series, z, e) &&
           take_rows(d, "SELECT id, data, series FROM local WHERE id > ? ORDER BY id", "local",
                     &d->local_row, row_local, z, e) &&
           database_number(&d->db, "SELECT count(*) FROM raw", &d->n_raw, e);
}

/* Returns the statement, prepared once, reset and ready to step. */
static sqlite3_stmt *prepared(day *d, sqlite3_stmt **s, const char *sql, err *e)
{
    if (*s)
        sqlite3_reset(*s);
    else
        *s = database_prepare(&d->db, sql, e);
    return *s;
}

static bool read_through(day *d, uint64_t *out, err *e)
{
    bool row;
    sqlite3_stmt *s = prepared(d, &d->begin, "BEGIN", e);
    if (!s || !database_step(&d->db, s, &row, e)) return false;
    d->reading = true;
    s = prepared(d, &d->read_through, "SELECT value FROM meta WHERE key = 'through'", e);
    if (!s || !database_step(&d->db, s, &row, e)) return false;
    *out = row ? (uint64_t)sqlite3_column_int64(s, 0) : 0;
    sqlite3_reset(s);
    return true;
}

bool day_begin(day *d, zipper *z, err *e)
{
    uint64_t through = 0;
    bool ok = read_through(d, &through, e) && (through == d->through || take_new(d, z, e));
    if (ok)
        d->through = through;
    else
        day_end(d);
    d->bad |= !ok; /* the tables may be incomplete */
    return ok;
}

void day_end(day *d)
{
    bool row;
    sqlite3_stmt *s = d->reading ? prepared(d, &d->commit, "COMMIT", NULL) : NULL;
    if (s) (void)!database_step(&d->db, s, &row, NULL);
    if (s) sqlite3_reset(s);
    d->reading = false;
}

/* ---- blocks ---- */

static bool find_blocks(day *d, const day_series *s, uint64_t start, uint64_t end, err *e)
{
    sqlite3_stmt *q = prepared(
        d, &d->read_ids, "SELECT id FROM block WHERE series = ? AND first <= ? AND last >= ?", e);
    if (!q) return false;
    sqlite3_bind_int64(q, 1, s->id);
    sqlite3_bind_int64(q, 2, end ? time_in(end - 1) : INT64_MAX);
    sqlite3_bind_int64(q, 3, time_in(start));
    bool ok, more = true;
    while ((ok = database_step(&d->db, q, &more, e)) && more) {
        int64_t *id = vec_push(&d->a, &d->ids);
        if (!id) return err_set(e, ERR_MEMORY, "no memory for the numbers of blocks");
        *id = sqlite3_column_int64(q, 0);
    }
    sqlite3_reset(q);
    return ok;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Reads the row numbers first, from the index alone. A statement that sorts costs several times as
 * much, which matters with many series. */
sqlite3_stmt *day_blocks(day *d, const day_series *s, uint64_t start, uint64_t end, err *e)
{
    d->ids.n = d->next_id = 0;
    if (!find_blocks(d, s, start, end, e)) return NULL;
    if (d->ids.n > 1) qsort(d->ids.v, d->ids.n, sizeof *d->ids.v, by_number);
    return prepared(
        d, &d->read_block,
        "SELECT id, first, last, n_profiles, n_samples, n_observations, total, marks, data, "
        "series FROM block WHERE id = ?",
        e);
}

bool day_next(day *d, sqlite3_stmt *s, day_block *out, bool *more, err *e)
{
    *more = false;
    sqlite3_reset(s);
    for (; !*more && d->next_id < d->ids.n; d->next_id++) {
        sqlite3_bind_int64(s, 1, d->ids.v[d->next_id]);
        if (!database_step(&d->db, s, more, e)) return false;
    }
    if (!*more) return true;
    *out = (day_block){.id = (uint64_t)sqlite3_column_int64(s, 0),
                       .first = (uint64_t)sqlite3_column_int64(s, 1),
                       .last = (uint64_t)sqlite3_column_int64(s, 2),
                       .n_profiles = (uint64_t)sqlite3_column_int64(s, 3),
                       .n_samples = (uint64_t)sqlite3_column_int64(s, 4),
                       .n_observations = (uint64_t)sqlite3_column_int64(s, 5),
                       .total = sqlite3_column_int64(s, 6)};
    out->series = series_of(d, (uint32_t)sqlite3_column_int64(s, 9));
    if (out->last == INT64_MAX) out->last = UINT64_MAX;
    return true;
}

str day_marks(sqlite3_stmt *s) { return column_bytes(s, 7); }

bool day_data(sqlite3_stmt *s, const day_block *b, str *out)
{
    *out = column_bytes(s, 8);
    return unseal_bytes(out, SEAL_BLOCK + (b->id << 8));
}

bool day_payload(day *d, uint64_t row, zipper *z, arena *a, str *out, err *e)
{
    sqlite3_stmt *s = database_prepare(&d->db, "SELECT data FROM payload WHERE id = ?", e);
    if (!s) return false;
    sqlite3_bind_int64(s, 1, (sqlite3_int64)row);
    bool more, ok = database_step(&d->db, s, &more, e);
    str data = more ? column_bytes(s, 0) : (str){0}, got = {0};
    bool good = ok && more && unseal_bytes(&data, SEAL_PAYLOAD);
    taker t = taker_of(data);
    good = good && take_zipped(&t, UINT32_MAX, z, a, &got);
    if (good) { /* uncompressed data is a view of the row */
        char *p = arena_alloc(a, got.n);
        good = p != NULL;
        if (p && got.n) memcpy(p, got.p, got.n);
        *out = (str){p, got.n};
    }
    sqlite3_finalize(s);
    return good || (ok && damaged(d, "payload", row, e));
}

bool day_take_raw(str data, zipper *z, arena *a, str *bytes, str *why)
{
    if (!unseal_bytes(&data, SEAL_RAW)) return false;
    char *row = arena_alloc(a, data.n); /* the statement's memory is reused */
    if (!row) return false;
    memcpy(row, data.p, data.n);
    taker t = taker_of((str){row, data.n});
    if (!take_zipped(&t, UINT32_MAX, z, a, bytes)) return false;
    *why = taker_left(&t) ? take_str(&t) : (str){0}; /* older files have no reason */
    return !t.bad;
}

bool day_raw(day *d, uint64_t after, zipper *z, arena *a, uint64_t *seq, str *bytes, str *why,
             bool *more, err *e)
{
    sqlite3_stmt *s =
        database_prepare(&d->db, "SELECT seq, data FROM raw WHERE seq > ? ORDER BY seq LIMIT 1", e);
    if (s) sqlite3_bind_int64(s, 1, time_in(after));
    bool ok = s && database_step(&d->db, s, more, e);
    if (ok && *more) {
        *seq = (uint64_t)sqlite3_column_int64(s, 0);
        if (!day_take_raw(column_bytes(s, 1), z, a, bytes, why)) *bytes = *why = (str){0};
    }
    sqlite3_finalize(s);
    return ok;
}

/* ---- keys ---- */

typedef struct key_taker {
    size_t *room;
    bool (*know)(void *ctx, content_key k);
    void *ctx;
} key_taker;

static bool know_keys(const key_taker *t, const void *keys, size_t n, err *e)
{
    for (size_t i = 0; *t->room && i < n; i++, --*t->room) {
        content_key k;
        memcpy(&k, (const char *)keys + i * sizeof k, sizeof k);
        if (!t->know(t->ctx, k)) return err_sys(e, ENOMEM, "no memory for the keys of profiles");
    }
    return true;
}

static bool keys_of_rows(day *d, const key_taker *t, err *e)
{
    sqlite3_stmt *s = database_prepare(&d->db, "SELECT id, data FROM keys ORDER BY id DESC", e);
    bool ok = s != NULL, row;
    while (ok && *t->room && (ok = database_step(&d->db, s, &row, e)) && row) {
        str data = column_bytes(s, 1);
        ok = unseal_bytes(&data, SEAL_KEYS)
                 ? know_keys(t, data.p, data.n / sizeof(content_key), e)
                 : damaged(d, "keys", (uint64_t)sqlite3_column_int64(s, 0), e);
    }
    sqlite3_finalize(s);
    return ok;
}

/* Derives the keys from the blocks, because a finished file has no rows of keys. Skips damaged
 * blocks. */
static bool keys_of_blocks(day *d, const key_taker *t, zipper *z, arena *a, err *e)
{
    const str *text = d->t.m.dict.strings.v;
    sqlite3_stmt *s =
        database_prepare(&d->db, "SELECT id, series, data FROM block ORDER BY id DESC", e);
    bool ok = s != NULL, row;
    while (ok && *t->room && (ok = database_step(&d->db, s, &row, e)) && row) {
        uint64_t id = (uint64_t)sqlite3_column_int64(s, 0);
        const day_series *x = series_of(d, (uint32_t)sqlite3_column_int64(s, 1));
        str data = column_bytes(s, 2);
        content_key *keys;
        size_t n;
        arena_reset(a);
        if (x && unseal_bytes(&data, SEAL_BLOCK + (id << 8)) &&
            block_take_keys(data, text[x->s.head.sample_type.type],
                            text[x->s.head.sample_type.unit], z, a, &keys, &n))
            ok = know_keys(t, keys, n, e);
    }
    sqlite3_finalize(s);
    return ok;
}

static bool keys_of_raw(day *d, const key_taker *t, zipper *z, arena *a, err *e)
{
    uint64_t seq = 0;
    for (bool more = true; *t->room;) {
        str bytes, why;
        item i;
        arena_reset(a);
        if (!day_raw(d, seq, z, a, &seq, &bytes, &why, &more, e)) return false;
        if (!more) break;
        if (!bytes.p || !take_item(bytes, &i)) continue;
        for (size_t k = 0; k < i.n_profiles; k++)
            if (!item_skips(&i, k) && !know_keys(t, i.keys + k * sizeof(content_key), 1, e))
                return false;
    }
    return true;
}

bool day_keys(day *d, size_t *room, bool (*know)(void *ctx, content_key k), void *ctx, err *e)
{
    key_taker t = {room, know, ctx};
    if (!keys_of_rows(d, &t, e)) return false;
    if (!d->finished) return true;
    zipper z = {0};
    arena a = {.seed = d->a.seed};
    bool ok = keys_of_blocks(d, &t, &z, &a, e) && keys_of_raw(d, &t, &z, &a, e);
    arena_free(&a);
    zipper_free(&z);
    return ok;
}
