#include "store/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <unistd.h>
#include "wire/otlp.h"
#include "base/stopper.h"
#include "base/ban.h"

enum { TRIES = 50 };

void reader_init(reader *r, const day_opts *o, size_t memory, const world *w)
{
    *r = (reader){.o = *o, .memory = memory, .world = w};
    r->o.write = false;
}

static void close_days(reader *r, size_t from)
{
    for (size_t i = from; i < r->n_days; i++) day_close(r->days[i]);
    r->n_days = from;
}

void reader_free(reader *r)
{
    close_days(r, 0);
    free(r->days);
    zipper_free(&r->z);
    catalog_close(&r->catalog);
    names_close(&r->names);
    manifest_free(&r->listed);
    journal_hold_free(&r->hold);
    arena_free(&r->block);
    arena_free(&r->raw);
    arena_free(&r->work);
    arena_free(&r->keep);
}

/* ---- the files that are there ---- */

static bool insert_day(reader *r, size_t at, day *d, err *e)
{
    if (r->n_days == r->cap_days) {
        size_t cap = r->cap_days ? r->cap_days * 2 : 16;
        day **v = realloc(r->days, cap * sizeof *v);
        if (!v) return err_sys(e, ENOMEM, "no memory for the list of files");
        r->days = v;
        r->cap_days = cap;
    }
    memmove(r->days + at + 1, r->days + at, (r->n_days - at) * sizeof *r->days);
    r->days[at] = d;
    r->n_days++;
    return true;
}

static void remove_day(reader *r, size_t at)
{
    day_close(r->days[at]);
    memmove(r->days + at, r->days + at + 1, (r->n_days - at - 1) * sizeof *r->days);
    r->n_days--;
}

static void say_broken(reader *r, day_name name, const err *why)
{
    r->lost = true;
    if (r->broken && !r->second) r->broken(r->who, name, why);
}

/* A file of a newer kiln cannot be read, but its items are in it: the journal must not bring them back. */
static void count_newer(reader *r, day_name name)
{
    uint64_t through = database_through(&r->o, name);
    const manifest_file *entry = manifest_find(&r->listed, name);
    if (entry && entry->through > through) through = entry->through;
    if (!through) through = r->listed.through;
    if (through > r->through) r->through = through;
}

/* Is the file what the manifest says?  Looked at once for each state of the file. */
static bool is_as_listed(reader *r, day *d, err *e)
{
    const manifest_file *entry = manifest_find(&r->listed, d->name);
    manifest_file now;
    if (!entry || (d->compared && d->compared == entry->through + 1)) return true;
    if (!manifest_facts(&d->db, d->name, &now, e)) return false;
    if (!manifest_holds(entry, &now,
                        NULL)) { /* retention may have taken a part of it since the line was read */
        if (!manifest_load(&r->listed, r->o.dir, NULL)) return true;
        entry = manifest_find(&r->listed, d->name);
        if (!entry) return true;
        if (!manifest_holds(entry, &now, e)) return false;
    }
    d->compared = entry->through + 1;
    return true;
}

/* Makes r->days what the directory has. */
static bool match_files(reader *r, err *e)
{
    day_names names;
    if (!day_list(r->o.dir, &names, e)) return false;
    bool ok = true;
    size_t at = 0;
    for (size_t i = 0; ok && i < names.n; i++) {
        while (at < r->n_days && day_name_cmp(r->days[at]->name, names.v[i]) < 0) remove_day(r, at);
        if (at < r->n_days && day_name_cmp(r->days[at]->name, names.v[i]) == 0) {
            if (day_is_there(r->days[at])) {
                at++;
                continue;
            }
            remove_day(r, at);
        }
        err why = {0};
        day *d = day_open(&r->o, names.v[i], 0, &why);
        if (d) {
            ok = insert_day(r, at, d, e);
            if (ok)
                at++;
            else
                day_close(d);
        } else if (why.code == ERR_MALFORMED || why.code == ERR_UNSUPPORTED) {
            if (why.code == ERR_UNSUPPORTED) count_newer(r, names.v[i]);
            say_broken(r, names.v[i], &why);
        } else if (why.sys != ENOENT) {
            if (e) *e = why;
            ok = false;
        }
    }
    close_days(r, ok ? at : 0);
    free(names.v);
    return ok;
}

static bool begin_days(reader *r, err *e)
{
    for (size_t i = 0; i < r->n_days;) {
        err why = {0};
        if (day_begin(r->days[i], &r->z, &why) && is_as_listed(r, r->days[i], &why)) {
            if (r->days[i]->through > r->through) r->through = r->days[i]->through;
            i++;
            continue;
        }
        bool broken = why.code == ERR_MALFORMED;
        if (broken) say_broken(r, r->days[i]->name, &why);
        remove_day(r, i);
        if (!broken) {
            if (e) *e = why;
            return false;
        }
    }
    return true;
}

/* ---- the journal ---- */

typedef struct going {
    reader *r;
    reader_item *visit;
    void *who;
    journal_scan *scan;
} going;

static bool visit_record(void *who, uint64_t seq, str bytes, err *e)
{
    going *g = who;
    raw_item x = {.seq = seq, .bytes = bytes};
    if (!take_item(bytes, &x.x)) return g->r->n_damaged++, true;
    return g->visit(g->who, &x, &g->scan->stop, e);
}

bool reader_items(reader *r, reader_item *visit, void *who, err *e)
{
    bool known = r->doubt_to != 0;
    journal_scan s = {.hold = &r->hold,
                      .from = r->through + 1,
                      .to = UINT64_MAX,
                      .doubt_from = known ? r->doubt_from : r->listed.durable,
                      .doubt_to = known ? r->doubt_to : UINT64_MAX};
    going g = {r, visit, who, &s};
    r->n_damaged = 0;
    bool ok = journal_read(r->o.vfs, r->o.dir, &s, visit_record, &g, e);
    r->n_damaged += s.n_damaged;
    r->n_doubtful = s.n_doubtful;
    if (ok && !s.stop && s.last < r->listed.durable) r->n_damaged += r->listed.durable - s.last;
    return ok;
}

bool reader_raw(reader *r, day *d, reader_item *visit, void *who, uint64_t *damaged, err *e)
{
    raw_item x = {0};
    bool stop = false, more = d->n_raw > 0;
    while (more && !stop) {
        arena_reset(&r->raw);
        if (!day_raw(d, x.seq, &r->z, &r->raw, &x.seq, &x.bytes, &x.why, &more, e)) return false;
        if (!more) break;
        if (!x.bytes.p || !take_item(x.bytes, &x.x))
            ++*damaged;
        else if (!visit(who, &x, &stop, e))
            return false;
    }
    return true;
}

bool reader_nobody_writes(const char *dir)
{
    char path[DAY_PATH];
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    snprintf(path, sizeof path, "%s/lock", dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT;
    bool free = fcntl(fd, F_OFD_GETLK, &all) == 0 && all.l_type == F_UNLCK;
    close(fd);
    return free;
}

/* Nobody compacts, so what is not there now will not be found in a moment.  A writer keeps the catalogue right. */
static bool nobody_compacts(const reader *r) { return r->alone || reader_nobody_writes(r->o.dir); }

static bool hold_journal(reader *r, bool *again, err *e)
{
    err why = {0};
    r->compacted = r->through;
    bool ok = journal_hold_take(&r->hold, r->o.vfs, r->o.dir, r->through + 1, &why);
    r->gap = ok && r->hold.gap && (r->lost || nobody_compacts(r));
    if (r->gap) r->through = r->hold.first - 1;
    *again = (r->hold.gap && !r->gap) || (!ok && why.code == ERR_MISMATCH);
    if (!ok && !*again && e) *e = why;
    return ok || *again;
}

static bool read_catalog(reader *r, err *e)
{
    err why = {0};
    if ((r->catalog.db.db || catalog_open(&r->catalog, &r->o, &why)) &&
        catalog_get(&r->catalog, "through", &r->through, &why))
        return true;
    catalog_close(&r->catalog);
    if (why.code == ERR_MALFORMED) return true; /* as good as none; who writes sets it aside */
    if (e) *e = why;
    return false;
}

/* The catalogue before the files: what it counts is in files that are there by then, or gone. */
static bool take_files(reader *r, err *e)
{
    err why = {0};
    if (!manifest_load(&r->listed, r->o.dir, &why) && why.code != ERR_MALFORMED) {
        if (e) *e = why;
        return false;
    }
    return read_catalog(r, e) && match_files(r, e) && begin_days(r, e);
}

/* What was compacted after we took the files may have left the journal before we held it.  Files that are the same now lack nothing
 * that the hold lacks. */
static bool take_files_again(reader *r, bool *again, err *e)
{
    uint64_t through = r->through;
    for (size_t i = 0; i < r->n_days; i++) day_end(r->days[i]);
    r->second = true;
    bool ok = take_files(r, e);
    r->second = false;
    *again = r->through > through;
    r->through = through;
    return ok;
}

bool reader_begin(reader *r, err *e)
{
    for (int i = 0; i < TRIES; i++) {
        bool again = false;
        r->through = 0;
        r->begun = true;
        r->lost = false;
        bool ok = take_files(r, e) && hold_journal(r, &again, e) &&
                  (again || take_files_again(r, &again, e));
        if (ok && !again) return true;
        reader_end(r);
        if (!ok) return false;
    }
    return err_set(e, ERR_LIMIT, "%s: compaction was faster than the reader, %d times", r->o.dir,
                   TRIES);
}

void reader_end(reader *r)
{
    size_t used = 0;
    for (size_t i = r->n_days; i-- > 0;) { /* the newest are asked for most */
        day_end(r->days[i]);
        used += r->days[i]->a.used;
        if (r->memory && used > r->memory) {
            used -= r->days[i]->a.used;
            remove_day(r, i);
        }
    }
    arena_reset(&r->block);
    arena_reset(&r->raw);
    journal_hold_free(&r->hold);
    r->begun = false;
}

bool reader_name(reader *r, bool wanted, builder *b, err *e)
{
    err why = {0};
    if (!wanted) return true;
    if ((r->names.db.db || names_open(&r->names, &r->o, &why)) && names_apply(&r->names, b, &why))
        return true;
    names_close(&r->names);
    if (why.code == ERR_MALFORMED) { /* names are an extra: places stay without */
        if (r->damaged) r->damaged(r->who, "names.db");
        return true;
    }
    if (e) *e = why;
    return false;
}

/* ---- looks ---- */

bool look_open(look *k, const store_selector *q, const store_budget *b, store_answer *answer,
               const world *w, err *e)
{
    k->answer = answer ? answer : &k->own;
    *k->answer = (store_answer){0};
    if (b) k->budget = *b;
    k->started = world_now(w);
    k->deadline = k->budget.max_ns ? k->started + k->budget.max_ns : UINT64_MAX;
    return filter_open(&k->f, q, e);
}

void look_close(look *k, const world *w)
{
    filter_close(&k->f);
    k->answer->n_samples = k->n_found;
    if (k->n_large && !k->answer->partial) {
        k->answer->partial = true;
        snprintf(k->answer->why, sizeof k->answer->why,
                 "%" PRIu64 " of what was received did not fit the memory of a question",
                 k->n_large);
    }
    if (k->answer->n_damaged && !k->answer->partial) {
        k->answer->partial = true;
        if (k->lack[0])
            snprintf(k->answer->why, sizeof k->answer->why, "%s", k->lack);
        else
            snprintf(k->answer->why, sizeof k->answer->why,
                     "%" PRIu64 " damaged blocks or items were left out", k->answer->n_damaged);
    }
    k->answer->ns = world_now(w) - k->started;
}

bool look_over(look *k, const world *w)
{
    store_answer *x = k->answer;
    if (x->partial) return true;
    const char *why = NULL;
    if (k->budget.max_samples && k->n_found >= k->budget.max_samples)
        why = "the budget of samples was reached";
    if (k->a && k->budget.max_bytes && k->a->used >= k->budget.max_bytes)
        why = "the budget of bytes was reached";
    if (world_now(w) >= k->deadline) why = "the budget of time was reached";
    err given_up = {0};
    if (!stopper_now(k->budget.stop, &given_up)) why = given_up.msg;
    if (!why) return false;
    x->partial = true;
    snprintf(x->why, sizeof x->why, "%s", why);
    return true;
}

/* Types of one profile lie in blocks of their own, each marked by an id that was derived from the profile's. */
static bool marks_have_profile(str marks, const uint8_t whole[16])
{
    uint8_t id[16];
    for (size_t k = 0; k < PROFILE_ID_TYPES; k++) {
        profile_id_derive(whole, k, id);
        if (marks_have(marks, mark_of(MARK_PROFILE, id, 16))) return true;
    }
    return false;
}

static bool marks_fit(const store_selector *q, str marks)
{
    return (!q->profile_id || marks_have_profile(marks, q->profile_id)) &&
           (!q->trace_id || marks_have(marks, mark_of(MARK_TRACE, q->trace_id, 16))) &&
           (!q->span_id || marks_have(marks, mark_of(MARK_SPAN, q->span_id, 8)));
}

static bool add_payloads(reader *r, day *d, block *b, err *e)
{
    for (size_t i = 0; i < b->m.profiles.n; i++)
        if (b->payload[i] && !day_payload(d, b->payload[i], &r->z, &r->block,
                                          &b->m.profiles.v[i].original_payload, e))
            return false;
    return true;
}

static void say_damaged(reader *r, const day *d, uint64_t block_id)
{
    char name[DAY_NAME], what[96];
    day_name_text(d->name, name);
    snprintf(what, sizeof what, "%s: block %" PRIu64, name, block_id);
    if (r->damaged) r->damaged(r->who, what);
}

static bool look_at_block(reader *r, look *k, day *d, sqlite3_stmt *s, const day_block *b,
                          filter_open_rules open, err *e)
{
    bool done = false;
    if (k->quick &&
        !k->quick(k->who, b, &d->t, open, filter_covers(&k->f, b->first, b->last), &done, e))
        return false;
    k->answer->n_blocks++;
    if (done) return true;
    if (k->dict && !k->begun) { /* files without a block for the question cost nothing */
        if (!k->dict(k->who, &d->t.m, e)) return false;
        k->begun = true;
    }
    block x;
    str data;
    arena_reset(&r->block);
    unsigned columns = k->columns;
    if (!filter_covers(&k->f, b->first, b->last)) columns |= BLOCK_TIMES | BLOCK_VALUES;
    if (k->f.looks_at_links) columns |= BLOCK_LINKS | BLOCK_TIMES;
    if (open) columns |= BLOCK_ATTRS | BLOCK_TIMES;
    if (!day_data(s, b, &data) ||
        !block_take(data, &d->t, &b->series->s, columns, &r->z, &r->block, &x) ||
        (k->payloads && !add_payloads(r, d, &x, NULL))) {
        k->answer->n_damaged++;
        say_damaged(r, d, b->id);
        return true;
    }
    k->answer->n_bytes += data.n;
    x.c.last = b->last;
    return k->chunk(k->who, &x.c, e);
}

static bool look_at_series(reader *r, look *k, day *d, const day_series *s, err *e)
{
    const str *text = d->t.m.dict.strings.v;
    filter_open_rules open;
    if (!filter_type(&k->f, text[s->s.head.sample_type.type], text[s->s.head.sample_type.unit]))
        return true;
    if (!filter_envelope(&k->f, &s->s.resource, &s->s.scope, &open, e)) return false;
    if (open == FILTER_NO) return true;
    bool may;
    if (!filter_series(&k->f, d->t.lists.v, &s->s.profile_lists, &s->s.lists, open, &may, e))
        return false;
    if (!may) return true;
    sqlite3_stmt *q = day_blocks(d, s, k->f.q.start, k->f.q.end, e);
    bool ok = q != NULL, more = true;
    while (ok && !k->blocks_done && !look_over(k, r->world)) {
        day_block b;
        ok = day_next(d, q, &b, &more, e);
        if (!ok || !more) break;
        if (marks_fit(&k->f.q, day_marks(q))) ok = look_at_block(r, k, d, q, &b, open, e);
    }
    if (q) sqlite3_reset(q);
    return ok;
}

static bool look_at_day(reader *r, look *k, day *d, err *e)
{
    k->begun = false;
    if (!filter_dict(&k->f, &d->t.m, e)) return false;
    for (size_t i = 0; i < d->series.n && !k->blocks_done && !look_over(k, r->world); i++)
        if (!look_at_series(r, k, d, &d->series.v[i], e)) return false;
    return true;
}

/* What an item says, in the memory that the question has. */
static bool decode(reader *r, look *k, const item *x, model *m)
{
    err why = {0};
    arena_reset(&r->block);
    r->block.budget = k->a ? k->a->budget : 0;
    bool ok = otlp_decode(x->bytes.p, x->bytes.n, &(otlp_decode_opts){.layout = x->layout},
                          &r->block, m, &why);
    r->block.budget = 0;
    if (!ok && why.code == ERR_LIMIT) return k->n_large++, false;
    if (ok && m->profiles.n == x->n_profiles) return true;
    k->answer->n_damaged++;
    return false;
}

static bool look_at_item(reader *r, look *k, const raw_item *x, err *e)
{
    model m;
    k->answer->n_items++;
    k->answer->n_bytes += x->bytes.n;
    if (!decode(r, k, &x->x, &m)) return true;
    profile_facts *f = arena_new(&r->block, profile_facts, m.profiles.n);
    if (!f) return err_sys(e, ENOMEM, "no memory for what is not yet compacted");
    for (size_t i = 0; i < m.profiles.n; i++)
        f[i] = (profile_facts){.seq = x->seq,
                               .received = x->x.received,
                               .n_bytes = x->x.n_bytes,
                               .sender = x->x.sender,
                               .recognised = x->x.recognised,
                               .ledger = x->x.ledger,
                               .key = item_key(&x->x, i),
                               .skip = item_skips(&x->x, i)};
    return filter_dict(&k->f, &m, e) && (!k->dict || k->dict(k->who, &m, e)) &&
           k->chunk(k->who, &(chunk){.m = &m, .facts = f, .first = x->x.first, .last = x->x.last},
                    e) &&
           (!k->dict || k->dict(k->who, NULL, e));
}

typedef struct looking {
    reader *r;
    look *k;
} looking;

static bool on_item(void *who, const raw_item *x, bool *stop, err *e)
{
    looking *l = who;
    *stop = look_over(l->k, l->r->world);
    if (*stop || (x->x.first <= x->x.last && !filter_meets(&l->k->f, x->x.first, x->x.last)))
        return true;
    return look_at_item(l->r, l->k, x, e);
}

static bool look_at_raw(reader *r, look *k, day *d, err *e)
{
    k->begun = false;
    return reader_raw(r, d, on_item, &(looking){r, k}, &k->answer->n_damaged, e);
}

static void on_lack(void *who, const manifest_file *entry, uint64_t items, const char *why)
{
    look *k = who;
    if (entry && entry->first <= entry->last && !filter_meets(&k->f, entry->first, entry->last))
        return;
    k->answer->n_damaged += entry ? 1 : items;
    if (!entry) k->n_lack += items;
    if (!k->lack[0]) snprintf(k->lack, sizeof k->lack, "%s", why);
}

bool reader_look(reader *r, look *k, err *e)
{
    reader_lacks(r, on_lack, k);
    if (r->listed.lost_items)
        on_lack(k, NULL, r->listed.lost_items, "items of the journal are lost");
    for (size_t i = 0; i < r->n_days && !look_over(k, r->world); i++) {
        err why = {0};
        if (look_at_day(r, k, r->days[i], &why) && (!k->begun || k->dict(k->who, NULL, &why)) &&
            look_at_raw(r, k, r->days[i], &why))
            continue;
        if (why.code != ERR_MALFORMED) {
            if (e) *e = why;
            return false;
        }
        say_broken(r, r->days[i]->name, &why); /* the rest is served */
        k->answer->n_damaged++;
        if (k->begun && !k->dict(k->who, NULL, e)) return false;
    }
    bool ok = look_over(k, r->world) || reader_items(r, on_item, &(looking){r, k}, e);
    if (r->n_damaged > k->n_lack) k->answer->n_damaged += r->n_damaged - k->n_lack;
    return ok;
}
