/* Scans the record stream of perf.data: reads every record once. Samples, and records that change
 * the state of threads, get an entry and are replayed in order of time.
 *
 * COMPRESSED records are slices of one zstd stream. It inflates to another record stream, whose
 * records may span slices. It stays in memory, because samples and names point into it. */
#include "format/perf_data.h"

#include <zstd.h>
#include "base/ban.h"
#include <inttypes.h>
#include <stdarg.h>

enum { INFLATE_STEP = 256 * 1024, ZSTD_WINDOW_LOG_MAX = 27 };

static bool scan_inflated(perf_data *d, size_t *parsed);

/* ---- records and their errors ---- */

perf_record perf_record_of(const perf_data *d, uint64_t at)
{
    const uint8_t *p = at & IN_INFLATED ? d->inflated.p + (at & ~IN_INFLATED) : perf_bytes(d) + at;
    return (perf_record){
        .type = perf_u32(d, p),
        .misc = perf_u16(d, p + 4),
        .size = perf_u16(d, p + 6),
        .body = p + REC_HEADER,
        .at = at,
    };
}

bool perf_fail(const perf_data *d, const perf_record *r, size_t in_body, const char *fmt, ...)
{
    char text[160];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    uint64_t at = r->at + REC_HEADER + in_body;
    if (!(r->at & IN_INFLATED)) return err_at(d->e, ERR_MALFORMED, at, "%s", text);
    err_set(d->e, ERR_MALFORMED, "%s", text);
    return err_in(d->e, "inflated[%" PRIu64 "]", at & ~IN_INFLATED);
}

/* ---- records of perf itself ---- */

static bool take_attr(perf_data *d, const perf_record *r)
{
    size_t n = perf_body_size(r);
    uint32_t size = n >= PERF_ATTR_MIN ? perf_u32(d, r->body + 4) : 0;
    if (size == 0) size = PERF_ATTR_MIN;
    if (size < PERF_ATTR_MIN || size > n)
        return perf_fail(d, r, 4, "an event claims %u bytes, its record has %zu", size, n);
    uint32_t event = (uint32_t)d->events.n;
    if (!perf_add_event(d, r->body, size, r->at + REC_HEADER)) return false;
    return perf_add_ids(d, event, r->body + size, (n - size) / 8, r->at + REC_HEADER + size);
}

enum { UPDATE_NAME = 2 };

static void take_event_update(perf_data *d, const perf_record *r)
{
    size_t n = perf_body_size(r);
    if (n < 16 || perf_u64(d, r->body) != UPDATE_NAME) return;
    perf_id *id = perf_find_id(d, perf_u64(d, r->body + 8));
    str name = perf_text(r->body + 16, n - 16);
    if (id && name.n) d->events.v[id->event].name = name;
}

/* Reads {u8 config, name}, which a pipe has if perf is older than EVENT_DESC and EVENT_UPDATE. */
static void take_event_type(perf_data *d, const perf_record *r)
{
    size_t n = perf_body_size(r);
    if (n <= 8) return;
    uint64_t config = perf_u64(d, r->body);
    str name = perf_text(r->body + 8, n - 8);
    for (size_t i = 0; i < d->events.n && i < 64; i++)
        if (d->events.v[i].config == config && !d->events.v[i].name.n) d->events.v[i].name = name;
}

/* Sets *extra to the number of bytes after a record that its size does not include. */
static bool take_extra(perf_data *d, const perf_record *r, uint64_t *extra)
{
    size_t n = perf_body_size(r);
    bool tracing = r->type == REC_TRACING_DATA;
    if (n < (tracing ? 4u : 8u))
        return perf_fail(d, r, 0, "a record of %u bytes is too short", r->size);
    *extra = tracing ? ((uint64_t)perf_u32(d, r->body) + 7) & ~(uint64_t)7 : perf_u64(d, r->body);
    if (r->at & IN_INFLATED) return perf_fail(d, r, 0, "trace data inside compressed records");
    uint64_t after = r->at + r->size, left = d->data_end - after;
    if (*extra > left) {
        d->truncated = true;
        *extra = left;
    }
    return !tracing || perf_read_tracing(d, perf_bytes(d) + after, (size_t)*extra);
}

static void take_lost(perf_data *d, const perf_record *r)
{
    size_t n = perf_body_size(r);
    bool by_id = r->type == REC_LOST;
    if (n < (by_id ? 16u : 8u) || !d->events.n) return;
    const perf_id *id = by_id ? perf_find_id(d, perf_u64(d, r->body)) : NULL;
    perf_event *v = id ? &d->events.v[id->event] : perf_event_of(d, r);
    uint64_t lost = perf_u64(d, r->body + (by_id ? 8 : 0));
    if (v && ckd_add(&v->lost, v->lost, lost)) v->lost = UINT64_MAX;
}

/* Copies names, because views must not point into memory that may move. */
static bool copy_names(perf_data *d, perf_record *r)
{
    if (!(r->at & IN_INFLATED)) return true;
    size_t n = perf_body_size(r);
    uint8_t *p = arena_alloc(d->a, n);
    if (!p) return arena_spent(d->a, d->e);
    if (n) memcpy(p, r->body, n);
    r->body = p;
    return true;
}

static bool take_user_record(perf_data *d, perf_record r, uint64_t *extra)
{
    size_t n = perf_body_size(&r);
    switch (r.type) {
    case REC_ATTR: return copy_names(d, &r) && take_attr(d, &r);
    case REC_EVENT_TYPE: return copy_names(d, &r) && (take_event_type(d, &r), true);
    case REC_EVENT_UPDATE: return copy_names(d, &r) && (take_event_update(d, &r), true);
    case REC_BUILD_ID: return copy_names(d, &r) && perf_add_build_id(d, r.misc, r.body, n);
    case REC_FEATURE:
        if (n < 8) return true;
        uint64_t bit = perf_u64(d, r.body);
        if (bit >= PERF_N_FEATURES) return true;
        d->features[bit / 64] |= (uint64_t)1 << bit % 64;
        return copy_names(d, &r) && perf_read_feature(d, (unsigned)bit, r.body + 8, n - 8);
    case REC_TRACING_DATA:
    case REC_AUXTRACE: return take_extra(d, &r, extra);
    default: return true;
    }
}

/* ---- entries ---- */

static uint64_t time_of(const perf_data *d, const perf_record *r, bool *has)
{
    perf_sample s = {0};
    if (r->type == REC_SAMPLE) {
        *has = perf_sample_time(d, r, &s.time);
        return s.time;
    }
    perf_decode_trailer(d, r, &s);
    *has = s.has_time;
    bool task = r->type == REC_FORK || r->type == REC_EXIT;
    if (!s.has_time && task && perf_body_size(r) >= 24) { /* uses the time in the body */
        *has = true;
        return perf_u64(d, r->body + 16);
    }
    return s.time;
}

static bool add_entry(perf_data *d, const perf_record *r)
{
    perf_entry *x = vec_push(d->a, &d->entries);
    if (!x) return arena_spent(d->a, d->e);
    bool has;
    uint64_t time = time_of(d, r, &has);
    if (!has) time = d->last_time; /* keeps its position in the order */
    if (time < d->last_time) d->unsorted = true;
    d->last_time = time;
    *x = (perf_entry){time, r->at};
    return true;
}

static bool take_record(perf_data *d, const perf_record *r, uint64_t *extra)
{
    d->seen[r->type < REC_COUNT ? r->type : 0]++;
    *extra = 0;
    switch (r->type) {
    case REC_SAMPLE:
    case REC_MMAP:
    case REC_MMAP2:
    case REC_COMM:
    case REC_FORK:
    case REC_EXIT:
    case REC_SWITCH:
    case REC_SWITCH_CPU_WIDE:
    case REC_CGROUP: return add_entry(d, r);
    case REC_LOST:
    case REC_LOST_SAMPLES: take_lost(d, r); return true;
    default: return r->type < REC_KERNEL_LIMIT || take_user_record(d, *r, extra);
    }
}

/* ---- compressed records ---- */

static bool room_for_more(perf_data *d)
{
    size_t max = d->o->max_bytes ? d->o->max_bytes : unpack_allowance(d->in.n);
    if (d->inflated.n >= max) {
        err_set(d->e, ERR_LIMIT, "the decompressed size exceeds the limit of %zu bytes", max);
        return err_hint(d->e, "--max-bytes");
    }
    if (d->inflated.cap - d->inflated.n >= INFLATE_STEP / 4) return true;
    void *p = vec_grow(d->a, d->inflated.p, d->inflated.n, &d->inflated.cap, INFLATE_STEP, 1);
    if (!p) return arena_spent(d->a, d->e);
    d->inflated.p = p;
    return true;
}

static bool inflate_slice(perf_data *d, const perf_record *r, const uint8_t *p, size_t n)
{
    ZSTD_inBuffer in = {p, n, 0};
    for (bool full = true; in.pos < in.size || full;) {
        if (!room_for_more(d)) return false;
        ZSTD_outBuffer out = {d->inflated.p, d->inflated.cap, d->inflated.n};
        size_t used = in.pos, made = out.pos, status = ZSTD_decompressStream(d->zstd, &out, &in);
        if (ZSTD_isError(status))
            return perf_fail(d, r, in.pos, "compressed records are damaged: %s",
                             ZSTD_getErrorName(status));
        d->inflated.n = out.pos;
        full = out.pos == out.size; /* the stream may have more output */
        if (in.pos == used && out.pos == made && !full) break;
    }
    return true;
}

static bool take_compressed(perf_data *d, const perf_record *r, size_t *parsed)
{
    d->seen[r->type]++;
    if (!d->zstd) {
        d->zstd = ZSTD_createDCtx();
        if (!d->zstd) return err_memory(d->e);
        ZSTD_DCtx_setParameter(d->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MAX);
    }
    const uint8_t *p = r->body;
    size_t n = perf_body_size(r);
    if (r->type == REC_COMPRESSED2) { /* {u8 size, data, padding} */
        uint64_t size = n >= 8 ? perf_u64(d, p) : UINT64_MAX;
        if (size > n - 8)
            return perf_fail(d, r, 0, "compressed data of %" PRIu64 " bytes in a record of %u",
                             size, r->size);
        p += 8;
        n = (size_t)size;
    }
    return inflate_slice(d, r, p, n) && scan_inflated(d, parsed);
}

/* Scans the complete records of the inflated stream; the next slice completes the rest. */
static bool scan_inflated(perf_data *d, size_t *parsed)
{
    while (d->inflated.n - *parsed >= REC_HEADER) {
        perf_record r = perf_record_of(d, IN_INFLATED | *parsed);
        if (r.size < REC_HEADER)
            return perf_fail(d, &r, 0, "a record size of %u bytes is smaller than its header",
                             r.size);
        if (r.size > d->inflated.n - *parsed) break;
        if (r.type == REC_COMPRESSED || r.type == REC_COMPRESSED2)
            return perf_fail(d, &r, 0, "compressed records inside compressed records");
        uint64_t extra;
        if (!take_record(d, &r, &extra)) return false;
        *parsed += r.size;
    }
    return true;
}

/* ---- the stream ---- */

static bool only_zeros(const uint8_t *p, size_t n)
{
    return n == 0 || (p[0] == 0 && !memcmp(p, p + 1, n - 1));
}

/* Scans the record at *at and advances *at; sets it to data_end when the stream is truncated. */
static bool scan_record(perf_data *d, uint64_t *at, size_t *parsed)
{
    uint64_t left = d->data_end - *at;
    if (left < REC_HEADER) {
        d->truncated = true;
        *at = d->data_end;
        return true;
    }
    perf_record r = perf_record_of(d, *at);
    if (r.size < REC_HEADER) {
        /* After a power failure, an unfinished file ends in zeros. */
        if (d->truncated && only_zeros(perf_bytes(d) + *at, (size_t)left)) {
            *at = d->data_end;
            return true;
        }
        return err_at(d->e, ERR_MALFORMED, *at,
                      "a record size of %u bytes is smaller than its header of %d", r.size,
                      REC_HEADER);
    }
    if (r.size > left) {
        d->truncated = true;
        *at = d->data_end;
        return true;
    }
    uint64_t extra = 0;
    bool packed = r.type == REC_COMPRESSED || r.type == REC_COMPRESSED2;
    if (packed ? !take_compressed(d, &r, parsed) : !take_record(d, &r, &extra)) return false;
    *at += r.size + extra;
    return true;
}

static bool scan(perf_data *d)
{
    uint64_t n = 0;
    size_t parsed = 0;
    for (uint64_t at = d->data_at; at < d->data_end; n++)
        if (!scan_record(d, &at, &parsed)) return err_in(d->e, "records[%" PRIu64 "]", n);
    if (parsed < d->inflated.n) d->truncated = true;
    return true;
}

/* ---- order ---- */

/* Merges v[0..mid) and v[mid..n), both sorted; equal times keep their order. */
static void merge_runs(perf_entry *v, perf_entry *scratch, size_t mid, size_t n)
{
    memcpy(scratch, v, mid * sizeof *v);
    size_t i = 0, j = mid, k = 0;
    while (i < mid && j < n) v[k++] = v[j].time < scratch[i].time ? v[j++] : scratch[i++];
    if (i < mid) memcpy(v + k, scratch + i, (mid - i) * sizeof *v);
}

void perf_sort(perf_entry *v, perf_entry *scratch, size_t n)
{
    if (n < 2) return;
    size_t mid = n / 2;
    perf_sort(v, scratch, mid);
    perf_sort(v + mid, scratch, n - mid);
    if (v[mid].time < v[mid - 1].time) merge_runs(v, scratch, mid, n);
}

bool perf_scan(perf_data *d)
{
    bool ok = scan(d);
    ZSTD_freeDCtx(d->zstd);
    d->zstd = NULL;
    if (!ok || !d->unsorted) return ok;
    perf_entry *scratch = arena_array(d->a, d->entries.n / 2 + 1, sizeof *scratch);
    if (!scratch) return arena_spent(d->a, d->e);
    perf_sort(d->entries.v, scratch, d->entries.n);
    return true;
}
