/* Runs the store's decoders without the checksums that protect them from random bytes. The first
 * byte chooses a decoder, the others are its input. Accepted data must be inside the input and its
 * tables, and must stay the same when it is written and read again. */
#include "store/block.h"
#include "store/item.h"
#include "store/journal_file.h"
#include "store/names.h"
#include "base/hash_long.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MUST(x)                                                                                    \
    do                                                                                             \
        if (!(x)) abort();                                                                         \
    while (0)

enum { BUDGET = 16 << 20 };

static zipper zip;

/* ---- items and ledgers ---- */

static bool inside(str part, str all)
{
    return !part.n || (part.p >= all.p && part.p + part.n <= all.p + all.n);
}

static void fuzz_ledger(str in)
{
    arena a = {.budget = BUDGET};
    const ledger *l = take_ledger(in, &a);
    if (l && l->n) {
        buf once = {0}, twice = {0};
        put_ledger(&once, l);
        const ledger *again = take_ledger(buf_view(&once), &a);
        MUST(again && again->n == l->n);
        put_ledger(&twice, again);
        MUST(str_eq(buf_view(&once), buf_view(&twice)));
        buf_free(&once);
        buf_free(&twice);
    }
    arena_free(&a);
}

static void fuzz_item(str in)
{
    item x, again;
    if (!take_item(in, &x)) return;
    MUST(inside(x.sender, in) && inside(x.recognised, in) && inside(x.ledger, in));
    MUST(inside(x.bytes, in) && x.n_profiles <= in.n / sizeof(content_key));
    size_t skipped = 0;
    for (size_t i = 0; i < x.n_profiles; i++) skipped += item_skips(&x, i) && item_key(&x, i).low;
    MUST(skipped <= x.n_profiles);
    buf once = {0}, twice = {0};
    put_item(&once, &x);
    MUST(take_item(buf_view(&once), &again));
    put_item(&twice, &again);
    MUST(str_eq(buf_view(&once), buf_view(&twice)) && str_eq(again.bytes, x.bytes));
    buf_free(&once);
    buf_free(&twice);
    fuzz_ledger(x.ledger);
}

/* ---- columns ---- */

static void column_again(const int64_t *v, size_t n, int64_t *again)
{
    for (column_hint h = COLUMN_ANY; h <= COLUMN_NOISE; h++) {
        buf b = {0};
        put_column(&b, v, n, h, &zip);
        taker t = taker_of(buf_view(&b));
        MUST(take_column(&t, again, n, &zip) && !taker_left(&t));
        MUST(!n || memcmp(v, again, n * sizeof *v) == 0);
        buf_free(&b);
    }
}

static void fuzz_column(str in)
{
    taker t = taker_of(in);
    size_t n = (size_t)(take_varint(&t) & 0xffff);
    arena a = {.budget = BUDGET};
    int64_t *v = arena_new(&a, int64_t, n + 1), *again = arena_new(&a, int64_t, n + 1);
    uint32_t *narrow = arena_new(&a, uint32_t, n + 1), limit = 1 + (uint32_t)n / 2;
    taker wide = t, small = t, skipped = t;
    bool ok = take_column(&wide, v, n, &zip);
    if (take_column_u32(&small, narrow, n, limit, &zip)) {
        MUST(ok && small.p == wide.p);
        for (size_t i = 0; i < n; i++) MUST(narrow[i] < limit && narrow[i] == v[i]);
    }
    skip_column(&skipped);
    if (ok) {
        MUST(skipped.p == wide.p);
        column_again(v, n, again);
    }
    arena_free(&a);
}

/* ---- tables, and blocks that refer to them ---- */

static void look_at_refs(const dict *d, span s) { MUST((uint64_t)s.at + s.n <= d->attr_refs.n); }

static void look_at_tables(const tables *t)
{
    const dict *d = &t->m.dict;
    for (size_t i = 0; i < d->attr_refs.n; i++) MUST(d->attr_refs.v[i] < d->attributes.n);
    for (size_t i = 0; i < d->attributes.n; i++)
        MUST(d->attributes.v[i].key < d->strings.n && d->attributes.v[i].unit < d->strings.n);
    for (size_t i = 0; i < d->mappings.n; i++) {
        MUST(d->mappings.v[i].filename < d->strings.n);
        look_at_refs(d, d->mappings.v[i].attrs);
    }
    for (size_t i = 0; i < d->functions.n; i++) {
        const function *f = &d->functions.v[i];
        MUST(f->name < d->strings.n && f->system_name < d->strings.n);
        MUST(f->filename < d->strings.n);
    }
    for (size_t i = 0; i < d->lines.n; i++) MUST(d->lines.v[i].function < d->functions.n);
    for (size_t i = 0; i < d->locations.n; i++) {
        const location *l = &d->locations.v[i];
        MUST(l->mapping < d->mappings.n && (uint64_t)l->lines.at + l->lines.n <= d->lines.n);
        look_at_refs(d, l->attrs);
    }
    for (uint32_t i = 0; i < dict_n_stacks(d); i++) MUST(d->stacks.v[i] <= d->stacks.v[i + 1]);
    MUST(d->stacks.v[d->stacks.n - 1] == d->frames.n);
    for (size_t i = 0; i < d->frames.n; i++) MUST(d->frames.v[i] < d->locations.n);
    for (size_t i = 0; i < t->lists.n; i++) look_at_refs(d, t->lists.v[i]);
}

static bool take_tables(str delta, arena *a, tables *t)
{
    return tables_init(t, a) && tables_take(t, delta, &zip);
}

static void fuzz_tables(str in)
{
    arena a = {.budget = BUDGET}, other = {.budget = 2 * (size_t)BUDGET};
    tables empty, t, again;
    err e = {0};
    MUST(tables_init(&empty, &other));
    if (take_tables(in, &a, &t)) {
        look_at_tables(&t);
        tables_size from = tables_count(&empty);
        buf b = {0};
        tables_put(&t, &from, &b, &zip);
        MUST(take_tables(buf_view(&b), &other, &again));
        MUST(model_equal(&t.m, &again.m, &e) && t.lists.n == again.lists.n);
        buf_free(&b);
    }
    arena_free(&a);
    arena_free(&other);
}

static void look_at_block(const block *x, const tables *t, unsigned columns)
{
    const model *m = &x->m;
    const dict *d = &m->dict;
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        look_at_refs(d, p->attrs);
        for (size_t k = 0; k < p->n_samples; k++) {
            span v = spans_at(&p->value_span, k), w = spans_at(&p->time_span, k);
            sample s = sample_at(m, p, k);
            MUST(s.stack < dict_n_stacks(&t->m.dict));
            MUST(!p->link || s.link < d->links.n);
            MUST((uint64_t)v.at + v.n <= m->values.n);
            if (columns & BLOCK_TIMES) MUST((uint64_t)w.at + w.n <= m->times.n);
            for (uint32_t j = 0; j < s.n_attrs; j++) MUST(s.attrs[j] < d->attributes.n);
        }
    }
}

/* Builds a series that has all stacks and lists of the file, in their order. */
static bool all_of(const tables *t, arena *a, block_series *s)
{
    size_t n = dict_n_stacks(&t->m.dict), lists = t->lists.n;
    if (!vec_reserve(a, &s->stacks, n) || !vec_reserve(a, &s->lists, lists)) return false;
    while (s->stacks.n < n) s->stacks.v[s->stacks.n] = (uint32_t)s->stacks.n, s->stacks.n++;
    while (s->lists.n < lists) s->lists.v[s->lists.n] = (uint32_t)s->lists.n, s->lists.n++;
    return true;
}

/* The input consists of the columns, the length of the tables, the tables, and the block. */
static void fuzz_block(str in)
{
    arena a = {.budget = BUDGET};
    taker k = taker_of(in);
    unsigned columns = (unsigned)take_varint(&k) & BLOCK_ALL;
    str delta = take_str(&k), data = {(const char *)k.p, taker_left(&k)};
    tables t;
    block_series s = {0};
    block x;
    if (!k.bad && take_tables(delta, &a, &t) && all_of(&t, &a, &s) &&
        block_take(data, &t, &s, columns, &zip, &a, &x))
        look_at_block(&x, &t, columns);
    arena_free(&a);
}

/* ---- resources and scopes ---- */

static void fuzz_content(str in)
{
    arena a = {.budget = BUDGET};
    taker t = taker_of(in);
    resource r, r2;
    scope s, s2;
    if (take_resource(&t, &a, &r) && take_scope(&t, &a, &s)) {
        buf once = {0}, twice = {0};
        put_resource(&once, &r);
        put_scope(&once, &s);
        taker again = taker_of(buf_view(&once));
        MUST(take_resource(&again, &a, &r2) && take_scope(&again, &a, &s2) && !taker_left(&again));
        put_resource(&twice, &r2);
        put_scope(&twice, &s2);
        MUST(str_eq(buf_view(&once), buf_view(&twice)));
        buf_free(&once);
        buf_free(&twice);
    }
    arena_free(&a);
}

/* ---- the journal ---- */

enum { SALT = 7, FIRST = 1 };
static char dir[] = "/tmp/kiln-fuzz-store-XXXXXX", segment[JOURNAL_PATH];

static void clean_up(void)
{
    unlink(segment);
    rmdir(dir);
}

/* Corrects the salt and checksums of the record headers, which it finds by the lengths of the
 * records. */
static void seal_records(char *p, size_t n)
{
    for (size_t at = 0; n - at >= JOURNAL_RECORD;) {
        uint64_t salt = SALT, bytes, left = n - at - JOURNAL_RECORD;
        memcpy(p + at + 16, &salt, 8);
        memcpy(&bytes, p + at + 24, 8);
        if (bytes <= left) {
            uint64_t hash = hash_long(p + at + JOURNAL_RECORD, (size_t)bytes);
            memcpy(p + at + 32, &hash, 8);
        }
        record_seal(p + at);
        if (bytes > left) return;
        uint64_t next = at + JOURNAL_RECORD + ((bytes + 7) & ~UINT64_C(7));
        if (next > n) return;
        at = (size_t)next;
    }
}

typedef struct seen {
    uint64_t n, bytes, last;
} seen;

static bool on_record(void *ctx, uint64_t seq, str bytes, err *e)
{
    (void)e;
    seen *x = ctx;
    MUST(seq > x->last);
    x->last = seq;
    x->n++;
    x->bytes += bytes.n;
    return true;
}

static void fuzz_journal(str in)
{
    sqlite3_vfs *vfs = NULL;
    err e = {0};
    buf b = {0};
    seen x = {.last = FIRST - 1};
    if (!segment[0]) {
        MUST(mkdtemp(dir));
        segment_path(dir, 1, segment);
        atexit(clean_up);
    }
    MUST(buf_reserve(&b, JOURNAL_HEADER));
    segment_header(&(journal_segment){.number = 1, .salt = SALT, .first_seq = FIRST}, b.p);
    b.n = JOURNAL_HEADER;
    buf_put(&b, in.p, in.n);
    seal_records(b.p + JOURNAL_HEADER, in.n);
    FILE *f = fopen(segment, "wb");
    MUST(f && fwrite(b.p, 1, b.n, f) == b.n && fclose(f) == 0);
    journal_scan s = {.from = FIRST, .to = UINT64_MAX};
    MUST(vfs_find(NULL, &vfs, &e) && journal_read(vfs, dir, &s, on_record, &x, &e));
    MUST(s.n_items == x.n && s.n_bytes == x.bytes && s.last == x.last);
    MUST(s.n_items + s.n_damaged >= x.last - FIRST + 1); /* skipped numbers count as damaged */
    MUST(x.n * JOURNAL_RECORD + x.bytes <= in.n);
    buf_free(&b);
}

/* ---- names ---- */

enum { SEAL_NAMES = 8 }; /* as in store/names.c */

static void keep_name(sqlite3 *db, str bytes)
{
    sqlite3_stmt *s = NULL;
    buf b = {0};
    buf_put(&b, bytes.p, bytes.n);
    seal_bytes(&b, SEAL_NAMES);
    MUST(!sqlite3_prepare_v2(db, "INSERT OR REPLACE INTO name VALUES('b', 16, ?)", -1, &s, NULL));
    sqlite3_bind_blob64(s, 1, b.p, b.n, SQLITE_STATIC);
    MUST(sqlite3_step(s) == SQLITE_DONE);
    sqlite3_finalize(s);
    buf_free(&b);
}

/* Reads a name into a model that has one location without a name. */
static bool named(names_db *n, arena *a, model *m)
{
    builder b;
    err e = {0};
    MUST(builder_init(&b, a));
    uint32_t id = builder_attribute_str(&b, STR("process.executable.build_id.gnu"), STR("b"));
    uint32_t of = builder_mapping(&b, &(mapping){.memory_limit = 4096}, &id, 1);
    MUST(builder_location(&b, of, 16, NULL, 0, NULL, 0) == 1);
    return names_apply(n, &b, &e) && builder_finish(&b, m, &e);
}

static void fuzz_names(str in)
{
    static names_db n;
    arena a = {.budget = BUDGET};
    model m, again;
    err e = {0};
    uint64_t count;
    if (!n.db.db)
        MUST(!sqlite3_open(":memory:", &n.db.db) &&
             database_run(&n.db,
                          "CREATE TABLE name(build TEXT, address INTEGER, data BLOB, "
                          "PRIMARY KEY(build, address)) WITHOUT ROWID",
                          &e));
    keep_name(n.db.db, in);
    if (named(&n, &a, &m)) {
        const dict *d = &m.dict;
        span l = d->locations.v[1].lines;
        MUST((uint64_t)l.at + l.n <= d->lines.n && l.n <= in.n);
        for (size_t i = 0; i < d->lines.n; i++) MUST(d->lines.v[i].function < d->functions.n);
        MUST(names_put(&n, &m, &count, &e) && count == (l.n != 0));
        MUST(named(&n, &a, &again) && model_equal(&m, &again, &e));
    }
    arena_free(&a);
}

/* ---- a day file as readers open it ---- */

static sqlite3 *day_db(void)
{
    static sqlite3 *db;
    if (db) return db;
    MUST(!sqlite3_open(":memory:", &db));
    MUST(!sqlite3_exec(db,
                       "CREATE TABLE meta(key TEXT PRIMARY KEY, value INTEGER);"
                       "CREATE TABLE tables(id INTEGER PRIMARY KEY, data BLOB);"
                       "CREATE TABLE series(id INTEGER PRIMARY KEY, data BLOB);"
                       "CREATE TABLE local(id INTEGER PRIMARY KEY, series INTEGER, data BLOB);"
                       "CREATE TABLE keys(id INTEGER PRIMARY KEY, data BLOB);"
                       "CREATE TABLE raw(seq INTEGER PRIMARY KEY, data BLOB);"
                       "INSERT INTO meta VALUES('through', 1);",
                       NULL, NULL, NULL));
    return db;
}

/* Inserts the bytes, sealed, as the only row of a table; no row if they are empty. */
static void keep_row(sqlite3 *db, const char *sql, str bytes, uint64_t seal)
{
    sqlite3_stmt *s = NULL;
    buf b = {0};
    if (!bytes.n) return;
    buf_put(&b, bytes.p, bytes.n);
    seal_bytes(&b, seal);
    MUST(!sqlite3_prepare_v2(db, sql, -1, &s, NULL));
    sqlite3_bind_blob64(s, 1, b.p, b.n, SQLITE_STATIC);
    MUST(sqlite3_step(s) == SQLITE_DONE);
    sqlite3_finalize(s);
    buf_free(&b);
}

static bool on_key(void *ctx, content_key k)
{
    (void)k;
    ++*(size_t *)ctx;
    return true;
}

static void look_at_numbers(const u32s *v, size_t limit)
{
    for (size_t i = 0; i < v->n; i++) MUST(v->v[i] < limit);
}

static void look_at_day(day *d, str keys, str raw)
{
    size_t room = 1 << 20, n = 0;
    err e = {0};
    look_at_tables(&d->t);
    for (size_t i = 0; i < d->series.n; i++) {
        const block_series *s = &d->series.v[i].s;
        MUST(s->head.sample_type.type < d->t.m.dict.strings.n);
        MUST(s->head.period_type.unit < d->t.m.dict.strings.n);
        look_at_numbers(&s->stacks, dict_n_stacks(&d->t.m.dict));
        look_at_numbers(&s->lists, d->t.lists.n);
        look_at_numbers(&s->profile_lists, d->t.lists.n);
    }
    MUST(day_keys(d, &room, on_key, &n, &e) && n == keys.n / sizeof(content_key));
    arena a = {.budget = BUDGET};
    uint64_t seq;
    str bytes, why;
    bool more;
    MUST(day_raw(d, 0, &zip, &a, &seq, &bytes, &why, &more, &e) && more == (raw.n > 0));
    if (more && bytes.p) fuzz_item(bytes);
    arena_free(&a);
}

/* The input consists of tables, a series, its local numbers, keys and a raw item, each with its
 * length. */
static void fuzz_day(str in)
{
    taker k = taker_of(in);
    str tables = take_str(&k), series = take_str(&k), local = take_str(&k), keys = take_str(&k),
        raw = take_str(&k);
    if (k.bad) return;
    sqlite3 *db = day_db();
    MUST(!sqlite3_exec(db,
                       "BEGIN; DELETE FROM tables; DELETE FROM series; DELETE FROM local;"
                       "DELETE FROM keys; DELETE FROM raw;",
                       NULL, NULL, NULL));
    keep_row(db, "INSERT INTO tables VALUES(1, ?)", tables, SEAL_TABLES);
    keep_row(db, "INSERT INTO series VALUES(1, ?)", series, SEAL_SERIES);
    keep_row(db, "INSERT INTO local VALUES(1, 1, ?)", local, SEAL_LOCAL);
    keep_row(db, "INSERT INTO keys VALUES(1, ?)", keys, SEAL_KEYS);
    keep_row(db, "INSERT INTO raw VALUES(1, ?)", raw, SEAL_RAW);
    MUST(!sqlite3_exec(db, "COMMIT", NULL, NULL, NULL));
    err e = {0};
    day *d = calloc(1, sizeof *d);
    MUST(d);
    d->db.db = db;
    d->a.budget = BUDGET;
    if (tables_init(&d->t, &d->a) && day_begin(d, &zip, &e)) look_at_day(d, keys, raw);
    day_end(d);
    sqlite3_finalize(d->begin);
    sqlite3_finalize(d->commit);
    sqlite3_finalize(d->read_through);
    arena_free(&d->a);
    free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const decoders[])(str) = {fuzz_item,    fuzz_ledger, fuzz_column,
                                            fuzz_tables,  fuzz_block,  fuzz_content,
                                            fuzz_journal, fuzz_names,  fuzz_day};
    if (size < 2 || data[0] >= ARRAY_LEN(decoders)) return -1;
    decoders[data[0]]((str){(const char *)data + 1, size - 1});
    return 0;
}
