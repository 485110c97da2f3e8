/* Reads one chunk: its header, then its events in three passes. Truncated and unfinished chunks are
 * read up to their last complete event. */
#include "format/jfr_internal.h"

#include "wire/carried.h"
#include "base/ban.h"
#include <inttypes.h>

/* ---- the header ----
 *
 *    0 "FLR\0"   4 u2 major   6 u2 minor   8 i8 size   16 i8 last checkpoint   24 i8 metadata
 *   32 i8 start, Unix ns   40 i8 duration ns   48 i8 start, ticks   56 i8 ticks per second
 *   64 u1 state (0 finished)   67 u1 flags (1 LEB128, 2 last chunk)              all big endian
 *
 * The offsets of checkpoint and metadata are not used: the pass over all events finds both, in
 * finished, truncated and unfinished chunks alike. */

static uint64_t be(const uint8_t *p, unsigned n)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < n; i++) v = v << 8 | p[i];
    return v;
}

static bool check_version(jfr *r, size_t at, unsigned major, unsigned minor)
{
    if (major == 1 || major == 2) return true;
    if (major == 0)
        return err_at(r->e, ERR_UNSUPPORTED, at,
                      "JFR %u.%u of Oracle JDK 7 or 8 has another layout, which Kiln does not "
                      "read; record with JDK 8u262 or newer",
                      major, minor);
    return err_at(r->e, ERR_UNSUPPORTED, at,
                  "JFR %u.%u is newer than 2.x, the last version that Kiln reads", major, minor);
}

static void lose_tail(jfr *r, uint64_t n, const char *what)
{
    char path[32], value[64];
    snprintf(path, sizeof path, "chunk[%zu]", r->n_chunk);
    int len = snprintf(value, sizeof value, "%" PRIu64 " %s", n, what);
    jfr_lose(r, LOSS_TRUNCATED, 1, path, (str){value, (size_t)len});
}

/* Computes the end of the chunk from its header and the number of bytes that are left. */
static bool find_end(jfr *r, size_t at, uint64_t size, bool open, size_t *next)
{
    size_t left = r->in.n - at;
    r->whole = !open && size >= JFR_HEADER && size <= left;
    if (size && size < JFR_HEADER)
        return err_at(r->e, ERR_MALFORMED, at + 8,
                      "the chunk size is %" PRIu64 " bytes, less than its header of %d", size,
                      JFR_HEADER);
    size_t n = size && size <= left ? (size_t)size : left;
    if (n > JFR_MAX_CHUNK) return err_at(r->e, ERR_LIMIT, at, "a chunk is larger than 4 GiB");
    if (size > left)
        lose_tail(r, size - left, "bytes are missing");
    else if (open)
        lose_tail(r, r->chunk[64], "is the state: the recorder did not close the chunk");
    r->chunk_end = r->chunk + n;
    *next = at + n;
    return true;
}

static bool take_header(jfr *r, size_t at, size_t *next)
{
    const uint8_t *h = (const uint8_t *)r->in.p + at;
    size_t left = r->in.n - at;
    if (left < 4 || memcmp(h, "FLR\0", 4) != 0)
        return err_at(r->e, ERR_MALFORMED, at, "expected a chunk here (\"FLR\" and a zero byte)");
    if (left < 8) return err_at(r->e, ERR_MALFORMED, at, "the file ends inside its first header");
    if (!check_version(r, at + 4, (unsigned)be(h + 4, 2), (unsigned)be(h + 6, 2))) return false;
    if (left < JFR_HEADER)
        return err_at(r->e, ERR_MALFORMED, at,
                      "the file ends inside the header of a chunk: %zu bytes of %d", left,
                      JFR_HEADER);
    r->chunk = h;
    r->fixed = !(h[67] & 1);
    uint64_t size = be(h + 8, 8);
    r->open = h[64] != 0 || size == 0;
    r->clock = (jclock){be(h + 32, 8), (int64_t)be(h + 48, 8), be(h + 56, 8)};
    if (r->clock.ticks_per_s == 0 || r->clock.ticks_per_s > INT64_MAX)
        return err_at(r->e, ERR_MALFORMED, at + 56, "%" PRIu64 " ticks per second",
                      r->clock.ticks_per_s);
    if (r->clock.start_ns > INT64_MAX)
        return err_at(r->e, ERR_MALFORMED, at + 32, "the start time of the chunk is negative");
    uint64_t duration = be(h + 40, 8), end;
    if (ckd_add(&end, r->clock.start_ns, duration) || end > INT64_MAX) end = r->clock.start_ns;
    if (!r->n_chunk || r->clock.start_ns < r->start_ns) r->start_ns = r->clock.start_ns;
    if (end > r->end_ns) r->end_ns = end;
    return find_end(r, at, size, r->open, next);
}

/* ---- events ---- */

typedef struct event {
    uint64_t type;
    jcur body;
} event;

static jcur cursor(const jfr *r, const uint8_t *p, const uint8_t *end)
{
    return (jcur){.p = p, .end = end, .fixed = r->fixed};
}

/* Reads the event at *p and moves *p past it. Returns false when there is no complete event. */
static bool next_event(const jfr *r, const uint8_t **p, event *out)
{
    jcur c = cursor(r, *p, r->chunk_end);
    uint32_t size = jcur_int(&c);
    if (c.failed || size == 0 || size > (size_t)(r->chunk_end - *p)) return false;
    out->body = cursor(r, c.p, *p + size);
    if (c.p > out->body.end) return false; /* the size does not even include the size field */
    out->type = jcur_long(&out->body);
    if (out->body.failed) return false;
    *p += size;
    return true;
}

/* First pass: checks that events fill the chunk without gaps; finds metadata and checkpoints. */
static bool find_tables(jfr *r, u32s *metadata, u32s *checkpoints)
{
    const uint8_t *p = r->chunk + JFR_HEADER;
    while (p < r->chunk_end) {
        const uint8_t *begin = p;
        event e;
        if (!next_event(r, &p, &e)) {
            if (r->whole)
                return err_at(r->e, ERR_MALFORMED, jfr_offset(r, begin),
                              "an event has size 0 or exceeds the rest of the chunk");
            r->chunk_end = begin; /* the last event was still being written */
            break;
        }
        if (e.type > 1) continue;
        uint32_t *slot = vec_push(&r->chunk_a, e.type ? checkpoints : metadata);
        if (!slot) return err_memory(r->e);
        *slot = (uint32_t)(begin - r->chunk);
    }
    return true;
}

static jcur body_at(const jfr *r, uint32_t at)
{
    event e;
    const uint8_t *p = r->chunk + at;
    return next_event(r, &p, &e) ? e.body : (jcur){.failed = true};
}

static bool take_tables(jfr *r)
{
    u32s metadata = {0}, checkpoints = {0};
    if (!find_tables(r, &metadata, &checkpoints)) return false;
    for (size_t i = 0; i < metadata.n; i++)
        if (!jfr_metadata(r, body_at(r, metadata.v[i]))) return err_in(r->e, "metadata[%zu]", i);
    if (!metadata.n && r->whole)
        return err_at(r->e, ERR_MALFORMED, jfr_offset(r, r->chunk), "the chunk has no metadata");
    jfr_lay_out(r);
    for (size_t i = 0; i < checkpoints.n && metadata.n; i++)
        if (!jfr_checkpoint(r, body_at(r, checkpoints.v[i])))
            return err_in(r->e, "checkpoint[%zu]", i);
    return true;
}

static bool take_info(jfr *r, jtype *t, jcur c)
{
    uint64_t s[JFR_SLOTS];
    jfr_run(r, t->plan, &c, s);
    if (c.failed)
        return err_at(r->e, ERR_MALFORMED, jfr_offset(r, c.p), "an event %.*s is truncated",
                      STR_ARG(t->name));
    switch ((jrole)t->role) {
    case R_SETTING: {
        const jtype *of = jfr_type(r, s[0]);
        jfr_setting(r, of ? of->name : (str){0}, jfr_slot_text(r, t->plan, 1, s),
                    jfr_slot_text(r, t->plan, 2, s));
        break;
    }
    case R_JVM:
        r->pid = (int64_t)s[0];
        r->jvm_name = jfr_slot_text(r, t->plan, 1, s);
        r->jvm_version = jfr_slot_text(r, t->plan, 2, s);
        break;
    case R_OS: r->os = jfr_slot_text(r, t->plan, 0, s); break;
    case R_LOST:
        if ((int64_t)s[0] > 0 && ckd_add(&r->lost_samples, r->lost_samples, s[0]))
            r->lost_samples = UINT64_MAX;
        break;
    case R_NONE:
    case R_SAMPLE: break;
    }
    return true;
}

/* Returns the type with this id. Tries that of the previous event first: events come in runs. */
static jtype *type_again(const jfr *r, jtype *last, uint64_t id)
{
    return last && last->id == id ? last : jfr_type(r, id);
}

static bool walk_info(jfr *r)
{
    jtype *t = NULL;
    event e;
    for (const uint8_t *p = r->chunk + JFR_HEADER; p < r->chunk_end && next_event(r, &p, &e);) {
        if (e.type <= 1 || !(t = type_again(r, t, e.type))) continue;
        if (!t->bound_info && !jfr_bind_info(r, t)) return false;
        if (t->role && !take_info(r, t, e.body)) return false;
    }
    jfr_settings_done(r);
    return true;
}

static bool walk_samples(jfr *r)
{
    jtype *t = NULL;
    event e;
    for (const uint8_t *p = r->chunk + JFR_HEADER; p < r->chunk_end && next_event(r, &p, &e);) {
        if (e.type <= 1) continue;
        if (!(t = type_again(r, t, e.type))) {
            r->n_unknown++;
            continue;
        }
        if (!t->n_events++ && !jfr_bind_sample(r, t)) return false;
        if (t->role != R_SAMPLE) continue;
        if (!jfr_sample(r, t, e.body)) return false;
        if (r->b.failed) return err_memory(r->e);
    }
    return true;
}

/* ---- losses ---- */

static void lose(jfr *r, loss_concept c, uint64_t n, const char *path)
{
    ledger_add_n(r->o->ledger, STAGE_READ, c, NULL, n, path, (str){0});
}

static bool is_used(const jplan *p, str field)
{
    for (size_t i = 0; i < JFR_SLOTS; i++)
        if (p->field[i] && str_eq(p->field[i]->name, field)) return true;
    return false;
}

/* Records fields that became sample attributes. */
static void account_carried(jfr *r, const jtype *t)
{
    static const char *const keys[JFR_SLOTS] = {
        [S_STATE] = ATTR_THREAD_STATE,
        [S_CLASS] = KILN_ATTR_JFR_CLASS,
        [S_SPAN] = KILN_ATTR_JFR_SPAN_ID,
        [S_TRACE] = KILN_ATTR_JFR_TRACE_ID,
        [S_ROOT_SPAN] = KILN_ATTR_JFR_ROOT_SPAN_ID,
        [S_SPAN_NAME] = KILN_ATTR_JFR_SPAN_NAME,
        [S_CONTEXT] = KILN_ATTR_JFR_CONTEXT_ID,
    };
    char path[128];
    for (size_t i = 0; i < JFR_SLOTS; i++) {
        if (!keys[i] || !t->plan->field[i]) continue;
        snprintf(path, sizeof path, "%.*s.%.*s", STR_ARG(t->name),
                 STR_ARG(t->plan->field[i]->name));
        ledger_add_n(r->o->ledger, STAGE_READ, LOSS_EVENT_DETAIL, keys[i], t->n_events - t->n_left,
                     path, (str){0});
    }
}

static void account_type(jfr *r, const jtype *t)
{
    char path[128];
    snprintf(path, sizeof path, "%.*s", STR_ARG(t->name));
    if (t->role == R_NONE) {
        lose(r, LOSS_EVENT, t->n_events, path);
    } else if (t->role == R_SETTING) {
        lose(r, LOSS_METADATA, t->n_events, path);
    } else if (t->role == R_SAMPLE) {
        lose(r, LOSS_EVENT, t->n_left, path);
        account_carried(r, t);
        for (size_t i = 0; i < t->fields.n; i++) {
            str field = t->fields.v[i].name;
            if (is_used(t->plan, field)) continue;
            snprintf(path, sizeof path, "%.*s.%.*s", STR_ARG(t->name), STR_ARG(field));
            lose(r, LOSS_EVENT_DETAIL, t->n_events - t->n_left, path);
        }
    }
}

static void account(jfr *r)
{
    for (size_t i = 0; i < r->meta.types.n; i++)
        if (r->meta.types.v[i]->n_events) account_type(r, r->meta.types.v[i]);
    lose(r, LOSS_EVENT, r->n_unknown, "an event whose type is missing in the metadata");
    lose(r, LOSS_EVENT_DETAIL, r->n_frames, "StackFrame.bytecodeIndex");
    lose(r, LOSS_SYSTEM_NAME, r->n_descriptors, "Method.descriptor");
    ledger_add_n(r->o->ledger, STAGE_READ, LOSS_INDEX_REPAIRED, NULL, r->n_no_stack,
                 "a stack that the chunk lacks", (str){0});
}

/* Drops the previous chunk's types and constants. The budget is what the other arenas leave. */
static bool begin_chunk(jfr *r)
{
    arena_reset(&r->chunk_a);
    size_t used = r->a->used + r->work.used;
    if (r->a->budget) {
        if (used >= r->a->budget) return err_memory(r->e);
        r->chunk_a.budget = r->a->budget - used;
    }
    r->meta = (jmeta){0};
    r->locations = (u32s){0};
    r->texts.n = r->texts.cap = r->classes.n = r->classes.cap = r->threads.n = r->threads.cap = 0;
    r->texts.v = NULL, r->classes.v = NULL, r->threads.v = NULL;
    r->n_unknown = r->n_frames = r->n_descriptors = r->n_no_stack = 0;
    r->frames = NULL;
    return true;
}

bool jfr_chunk(jfr *r, size_t at, size_t *next)
{
    if (!take_header(r, at, next) || !begin_chunk(r) || !take_tables(r)) return false;
    if (!walk_info(r) || !walk_samples(r)) return false;
    account(r);
    return true;
}
