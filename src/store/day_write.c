/* Adds items to a day file: interns their dictionaries, assigns the numbers of stacks and lists in
 * each series, and collects columns until they are flushed. Most of the time of compaction is spent
 * here, hence the prefetching and the small caches. */
#include "store/day_write.h"

#include "store/huge.h"

#include <errno.h>
#include <sqlite3.h>
#include "base/ban.h"

enum { AHEAD = 40 };                         /* samples to prefetch ahead */
enum { INDEXES = 16 << 20, ITEM = 4 << 20 }; /* bytes to reserve in huge pages */

/* ---- rows ---- */

bool day_writer_insert(day_writer *w, sqlite3_stmt *s, const int64_t *numbers, int n,
                       const str *blobs, int n_blobs, err *e)
{
    bool row;
    sqlite3_reset(s);
    for (int i = 0; i < n; i++) sqlite3_bind_int64(s, i + 1, numbers[i]);
    for (int i = 0; i < n_blobs; i++)
        sqlite3_bind_blob64(s, n + i + 1, blobs[i].n ? blobs[i].p : "", blobs[i].n, SQLITE_STATIC);
    bool ok = database_step(&w->db, s, &row, e);
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return ok;
}

bool day_writer_insert_once(day_writer *w, const char *sql, const int64_t *numbers, int n,
                            const buf *blob, err *e)
{
    if (blob->failed) return err_memory(e);
    sqlite3_stmt *s = database_prepare(&w->db, sql, e);
    bool ok = s && day_writer_insert(w, s, numbers, n, &(str){blob->p, blob->n}, 1, e);
    sqlite3_finalize(s);
    return ok;
}

bool day_writer_begin(day_writer *w, err *e)
{
    if (w->begun) return true;
    w->begun = database_run(&w->db, "BEGIN IMMEDIATE", e);
    w->first = UINT64_MAX;
    w->last = w->n_samples = w->n_profiles = 0;
    w->arrived_first = UINT64_MAX;
    w->arrived_last = 0;
    buf_reset(&w->keys);
    return w->begun;
}

static void note_arrival(day_writer *w, uint64_t t)
{
    if (t < w->arrived_first) w->arrived_first = t;
    if (t > w->arrived_last) w->arrived_last = t;
}

/* ---- series and their numbers ---- */

static uint32_t series_named(day_writer *w, str data)
{
    if (!hash_index_room(&w->by_data, &w->a)) return UINT32_MAX;
    uint64_t h = hash_bytes(data.p, data.n, w->by_data.seed);
    uint32_t i = hash_first(&w->by_data, h);
    for (uint32_t at; hash_next(&w->by_data, &i, h, &at); i++)
        if (str_eq(w->series.v[at].data, data)) return at;
    char *copy = arena_alloc(&w->a, data.n);
    writer_series *s = copy ? vec_push(&w->a, &w->series) : NULL;
    if (!s) return UINT32_MAX;
    memcpy(copy, data.p, data.n);
    s->data = (str){copy, data.n};
    hash_put(&w->by_data, i, h, (uint32_t)(w->series.n - 1));
    return (uint32_t)(w->series.n - 1);
}

/* An index compares one half of the hash, which is a bijection of the number: equal hashes mean
 * equal numbers, so the list need not be compared. */
static uint64_t local_hash(const hash_index *index, uint32_t id)
{
    uint32_t h = id ^ (uint32_t)index->seed;
    h = (h ^ h >> 16) * 0x85ebca6b;
    h = (h ^ h >> 13) * 0xc2b2ae35;
    return (uint64_t)(h ^ h >> 16) << 32;
}

uint32_t day_writer_local(day_writer *w, uint32_t series_i, local_kind kind, uint32_t id)
{
    u32s *list = &w->series.v[series_i].local[kind];
    hash_index *index = &w->series.v[series_i].index[kind];
    if (!hash_index_room(index, &w->indexes)) return UINT32_MAX;
    uint64_t h = local_hash(index, id);
    uint32_t i = hash_first(index, h), at;
    if (hash_next(index, &i, h, &at)) return at;
    if (kind == LOCAL_STACK && list->n >= BLOCK_NEAR) return LOCAL_FAR;
    uint32_t *slot = vec_push(&w->a, list);
    if (!slot) return UINT32_MAX;
    *slot = id;
    hash_put(index, i, h, (uint32_t)(list->n - 1));
    return (uint32_t)(list->n - 1);
}

static void put_head(buf *b, const series_head *p)
{
    put_varint(b, p->sample_type.type);
    put_varint(b, p->sample_type.unit);
    put_varint(b, p->period_type.type);
    put_varint(b, p->period_type.unit);
    put_signed(b, p->period);
    put_varint(b, p->has_sample_type);
}

static uint32_t series_of(day_writer *w, importer *g, const profile *p)
{
    const scope *s = &g->m->scopes.v[p->scope];
    series_head head = {.period = p->period, .has_sample_type = p->has_sample_type};
    head.sample_type = (value_type){importer_string(g, p->sample_type.type),
                                    importer_string(g, p->sample_type.unit)};
    head.period_type = (value_type){importer_string(g, p->period_type.type),
                                    importer_string(g, p->period_type.unit)};
    buf_reset(&w->scratch);
    put_resource(&w->scratch, &g->m->resources.v[s->resource]);
    put_scope(&w->scratch, s);
    put_head(&w->scratch, &head);
    return w->scratch.failed ? UINT32_MAX : series_named(w, buf_view(&w->scratch));
}

/* ---- loading the file ---- */

static bool load_series(day_writer *w, const day *d)
{
    for (size_t i = 0; i < d->series.n; i++) {
        const block_series *s = &d->series.v[i].s;
        buf_reset(&w->scratch);
        put_resource(&w->scratch, &s->resource);
        put_scope(&w->scratch, &s->scope);
        put_head(&w->scratch, &s->head);
        if (w->scratch.failed || d->series.v[i].id != i + 1 ||
            series_named(w, buf_view(&w->scratch)) != i)
            return false;
        const u32s *locals[LOCAL_KINDS] = {&s->stacks, &s->lists, &s->profile_lists};
        for (unsigned kind = 0; kind < LOCAL_KINDS; kind++) {
            for (size_t k = 0; k < locals[kind]->n; k++)
                if (day_writer_local(w, (uint32_t)i, (local_kind)kind, locals[kind]->v[k]) != k)
                    return false;
            w->series.v[i].saved[kind] = (uint32_t)locals[kind]->n;
        }
    }
    return true;
}

static bool load(day_writer *w, const day_opts *o, err *e)
{
    day *d = day_open(o, w->name, 0, e);
    bool ok = d && day_begin(d, &w->z, e);
    if (ok && !(interner_load(&w->x, &d->t) && load_series(w, d))) ok = err_memory(e);
    w->saved = tables_count(interner_tables(&w->x));
    w->saved_series = w->series.n;
    if (d) day_end(d);
    day_close(d);
    return ok;
}

day_writer *day_writer_open(const day_opts *o, day_name name, size_t memory, err *e)
{
    day_writer *w = calloc(1, sizeof *w);
    if (!w) return (void)err_sys(e, ENOMEM, "no memory to open a file of the store"), NULL;
    w->name = name;
    w->max_tables = w->max_run = memory;
    w->a.seed = w->indexes.seed = w->run.seed = w->item.seed = o->seed;
    huge_reserve(&w->indexes, INDEXES);
    huge_reserve(&w->item, ITEM);
    w->known.seed = o->seed;
    bool ok = database_open(&w->db, o, name, e);
    if (ok && !interner_init(&w->x, &w->a)) ok = err_memory(e);
    ok = ok && load(w, o, e);
    ok = ok && (w->put_block = database_prepare(
                    &w->db, "INSERT INTO block VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", e));
    ok = ok &&
         (w->get_block = database_prepare(&w->db, "SELECT data FROM block WHERE id = ?", e)) &&
         (w->drop_block = database_prepare(&w->db, "DELETE FROM block WHERE id = ?", e));
    ok =
        ok && (w->put_payload = database_prepare(&w->db, "INSERT INTO payload(data) VALUES(?)", e));
    ok = ok && day_writer_find_small(w, e);
    if (ok) return w;
    day_writer_close(w);
    return NULL;
}

void day_writer_close(day_writer *w)
{
    if (!w) return;
    sqlite3_finalize(w->put_block);
    sqlite3_finalize(w->get_block);
    sqlite3_finalize(w->drop_block);
    sqlite3_finalize(w->put_payload);
    if (w->begun) sqlite3_exec(w->db.db, "ROLLBACK", NULL, NULL, NULL);
    database_close(&w->db);
    arena_free(&w->a);
    arena_free(&w->indexes);
    arena_free(&w->run);
    arena_free(&w->item);
    zipper_free(&w->z);
    known_free(&w->known);
    block_rows_free(w->rows);
    buf_free(&w->scratch);
    buf_free(&w->out);
    buf_free(&w->keys);
    free(w);
}

bool day_writer_full(const day_writer *w) { return w->a.used + w->indexes.used > w->max_tables; }

/* ---- adding ---- */

static bool put_payload(day_writer *w, str payload, uint64_t *row, err *e)
{
    *row = 0;
    if (!payload.n) return true;
    buf_reset(&w->out);
    put_zipped(&w->out, payload, ZIP_REPEATS, &w->z);
    seal_bytes(&w->out, SEAL_PAYLOAD);
    if (w->out.failed) return err_memory(e);
    if (!day_writer_insert(w, w->put_payload, NULL, 0, &(str){w->out.p, w->out.n}, 1, e))
        return false;
    *row = (uint64_t)sqlite3_last_insert_rowid(w->db.db);
    return true;
}

/* Returns the number that a stack of the item has in the series. */
static series_stack *stack_of(day_writer *w, uint32_t i, uint32_t series_i)
{
    series_stack *s = &w->stacks[i];
    if (LIKELY(s->series == series_i + 1)) return s;
    uint32_t far = known_stack(&w->known, i),
             near = day_writer_local(w, series_i, LOCAL_STACK, far);
    if (near == UINT32_MAX || w->x.b.failed) return NULL;
    *s = (series_stack){series_i + 1, near == LOCAL_FAR ? 0 : near + 1, far};
    return s;
}

/* Returns the number of an attribute list in the series. Lists repeat, so recent ones are
 * cached. */
static uint32_t list_of(day_writer *w, const uint32_t *attrs, uint32_t n, uint32_t series_i)
{
    uint64_t h = n;
    for (uint32_t i = 0; i < n; i++) h = (h ^ attrs[i]) * 0x9e3779b97f4a7c15;
    known_list *k = &w->lists[h >> 56];
    if (LIKELY(k->series == series_i + 1 && k->n == n)) {
        uint32_t i = 0;
        while (i < n && k->attrs[i] == attrs[i]) i++;
        if (i == n) return k->local;
    }
    importer *g = &w->known.g;
    if (!importer_attrs(g, attrs, n)) return UINT32_MAX;
    uint32_t local =
        day_writer_local(w, series_i, LOCAL_LIST, interner_list(&w->x, g->scratch.v, n));
    *k = (known_list){attrs, n, series_i + 1, local};
    return local;
}

/* Returns the slot that stack_of will read, or NULL. Slots are far apart, so the caller prefetches
 * them. The prefetch is not in this function, because gcc considers a function that only prefetches
 * to be pure and drops calls of it. */
static const hash_slot *slot_of_stack(const day_writer *w, uint32_t i, uint32_t series_i)
{
    const hash_index *index = &w->series.v[series_i].index[LOCAL_STACK];
    if (w->stacks[i].series == series_i + 1 || !w->known.g.stack[i] || !index->slot) return NULL;
    return &index->slot[hash_first(index, local_hash(index, w->known.g.stack[i] - 1))];
}

static bool number_samples(day_writer *w, const profile *p, uint32_t series_i, err *e)
{
    const model *m = w->known.g.m;
    for (size_t i = 0; i < p->n_samples; i++) {
        if (i + AHEAD < p->n_samples)
            __builtin_prefetch(slot_of_stack(w, p->stack[i + AHEAD], series_i));
        const series_stack *s = stack_of(w, p->stack[i], series_i);
        span attrs = spans_at(&p->attr_span, i);
        uint32_t list = list_of(w, refs_at(&m->sample_attrs, attrs), attrs.n, series_i);
        if (!s || list == UINT32_MAX || w->x.b.failed) return err_memory(e);
        block_builder *b = &w->series.v[series_i].b;
        block_add_stack(b, s->near, s->far);
        block_add_list(b, list);
    }
    return true;
}

static bool add_profile(day_writer *w, const item *x, const block_profile *common, size_t i, err *e)
{
    importer *g = &w->known.g;
    const profile *p = &g->m->profiles.v[i];
    block_profile f = *common;
    f.key = item_key(x, i);
    buf_put(&w->keys, &f.key, sizeof f.key);
    uint32_t series_i = series_of(w, g, p);
    if (series_i == UINT32_MAX ||
        !importer_attrs(g, refs_at(&g->m->dict.attr_refs, p->attrs), p->attrs.n))
        return err_memory(e);
    f.attrs = interner_list(&w->x, g->scratch.v, p->attrs.n);
    f.format = builder_string(&w->x.b, p->original_payload_format);
    if (!put_payload(w, p->original_payload, &f.payload, e)) return false;
    if (day_writer_local(w, series_i, LOCAL_PROFILE_LIST, f.attrs) == UINT32_MAX)
        return err_memory(e);
    if (w->x.b.failed || !block_add_profile(&w->series.v[series_i].b, &w->run, g->m, p, &f))
        return err_memory(e);
    w->n_profiles++;
    w->n_samples += p->n_samples;
    return number_samples(w, p, series_i, e);
}

static bool flush(day_writer *w, err *e);

bool day_writer_add(day_writer *w, uint64_t seq, const item *x, const model *m,
                    const known_hashes *h, err *e)
{
    if (!day_writer_begin(w, e)) return false;
    if (w->run.used > w->max_run && !flush(w, e)) return false;
    arena_reset(&w->item);
    memset(w->lists, 0, sizeof w->lists);
    note_arrival(w, x->received);
    w->stacks = arena_new(&w->item, series_stack, dict_n_stacks(&m->dict));
    if (!w->stacks || !known_begin(&w->known, &w->x.b, m, h, &w->item)) return err_memory(e);
    block_profile common = {.seq = seq,
                            .received = x->received,
                            .n_bytes = x->n_bytes,
                            .sender = builder_string(&w->x.b, x->sender),
                            .recognised = builder_string(&w->x.b, x->recognised),
                            .ledger = builder_string(&w->x.b, x->ledger)};
    bool ok = true;
    for (size_t i = 0; ok && i < m->profiles.n; i++)
        if (!item_skips(x, i)) ok = add_profile(w, x, &common, i, e);
    return ok;
}

bool day_writer_add_raw(day_writer *w, uint64_t seq, const item *x, str bytes, str why, err *e)
{
    if (!day_writer_begin(w, e)) return false;
    note_arrival(w, x->received);
    for (size_t i = 0; i < x->n_profiles; i++) { /* a repeated item is a duplicate */
        content_key k = item_key(x, i);
        if (!item_skips(x, i)) buf_put(&w->keys, &k, sizeof k);
    }
    buf_reset(&w->out);
    put_zipped(&w->out, bytes, ZIP_REPEATS, &w->z);
    put_str(&w->out, why);
    seal_bytes(&w->out, SEAL_RAW);
    return day_writer_insert_once(w, "INSERT INTO raw VALUES(?, ?)", &(int64_t){(int64_t)seq}, 1,
                                  &w->out, e);
}

/* ---- writing out ---- */

bool day_writer_save_tables(day_writer *w, zipper *z, err *e)
{
    const tables *t = interner_tables(&w->x);
    tables_size now = tables_count(t);
    if (memcmp(&now, &w->saved, sizeof now) == 0) return true;
    buf_reset(&w->out);
    tables_put(t, &w->saved, &w->out, z);
    seal_bytes(&w->out, SEAL_TABLES);
    if (!day_writer_insert_once(w, "INSERT INTO tables(data) VALUES(?)", NULL, 0, &w->out, e))
        return false;
    w->saved = now;
    return true;
}

static bool save_series(day_writer *w, err *e)
{
    for (; w->saved_series < w->series.n; w->saved_series++) {
        buf_reset(&w->out);
        buf_str(&w->out, w->series.v[w->saved_series].data);
        seal_bytes(&w->out, SEAL_SERIES);
        if (!day_writer_insert_once(w, "INSERT INTO series VALUES(?, ?)",
                                    &(int64_t){(int64_t)w->saved_series + 1}, 1, &w->out, e))
            return false;
    }
    return true;
}

bool day_writer_save_local(day_writer *w, uint32_t series_i, err *e)
{
    writer_series *s = &w->series.v[series_i];
    bool any_new = false;
    for (unsigned k = 0; k < LOCAL_KINDS; k++) any_new |= s->saved[k] != s->local[k].n;
    if (!any_new) return true;
    buf_reset(&w->out);
    for (unsigned k = 0; k < LOCAL_KINDS; k++) {
        size_t from = s->saved[k], n = s->local[k].n - from;
        put_varint(&w->out, n);
        put_numbers(&w->out, n ? s->local[k].v + from : NULL, n, &w->z);
    }
    seal_bytes(&w->out, SEAL_LOCAL);
    if (!day_writer_insert_once(w, "INSERT INTO local(series, data) VALUES(?, ?)",
                                &(int64_t){series_i + 1}, 1, &w->out, e))
        return false;
    for (unsigned k = 0; k < LOCAL_KINDS; k++) s->saved[k] = (uint32_t)s->local[k].n;
    return true;
}

static bool flush(day_writer *w, err *e)
{
    if (!day_writer_save_tables(w, &w->z, e) || !save_series(w, e) || !day_writer_save_blocks(w, e))
        return false;
    arena_reset(&w->run);
    return true;
}

bool day_writer_count(day_writer *w, const char *sql, uint64_t v, err *e)
{
    bool row;
    sqlite3_stmt *s = database_prepare(&w->db, sql, e);
    if (s) sqlite3_bind_int64(s, 1, time_in(v));
    bool ok = s && database_step(&w->db, s, &row, e);
    sqlite3_finalize(s);
    return ok;
}

/* Updates the range of arrival times. A file that an older kiln created does not record the start
 * of the range. */
static bool count_arrivals(day_writer *w, err *e)
{
    if (!w->arrived_last) return true;
    return day_writer_count(
               w,
               "INSERT INTO meta SELECT 'arrived_first', ?1 WHERE EXISTS(SELECT 1 FROM meta WHERE "
               "key = 'arrived_first') OR (SELECT value FROM meta WHERE key = 'through') = 0 "
               "ON CONFLICT DO UPDATE SET value = min(value, ?1)",
               w->arrived_first, e) &&
           day_writer_count(
               w,
               "INSERT INTO meta VALUES('arrived_last', ?1) ON CONFLICT DO UPDATE SET value = "
               "max(value, ?1)",
               w->arrived_last, e);
}

bool day_writer_commit(day_writer *w, uint64_t through, err *e)
{
    if (!day_writer_begin(w, e) || !flush(w, e) || !count_arrivals(w, e) ||
        !day_writer_count(w, "INSERT OR REPLACE INTO meta VALUES('through', ?)", through, e))
        return false;
    if (w->keys.n) {
        seal_bytes(&w->keys, SEAL_KEYS);
        if (!day_writer_insert_once(w, "INSERT INTO keys(data) VALUES(?)", NULL, 0, &w->keys, e))
            return false;
    }
    if (w->n_profiles) {
        if (!day_writer_count(
                w,
                "INSERT INTO meta VALUES('samples', ?1) ON CONFLICT DO UPDATE SET value = value "
                "+ ?1",
                w->n_samples, e) ||
            !day_writer_count(
                w,
                "INSERT INTO meta VALUES('profiles', ?1) ON CONFLICT DO UPDATE SET value = "
                "value + ?1",
                w->n_profiles, e) ||
            !day_writer_count(
                w,
                "INSERT INTO meta VALUES('first', ?1) ON CONFLICT DO UPDATE SET value = "
                "min(value, ?1)",
                w->first, e) ||
            !day_writer_count(
                w,
                "INSERT INTO meta VALUES('last', ?1) ON CONFLICT DO UPDATE SET value = "
                "max(value, ?1)",
                w->last, e))
            return false;
    }
    if (!database_run(&w->db, "COMMIT", e)) return false;
    w->begun = false;
    return true;
}
