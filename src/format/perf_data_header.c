/* Reads the header of perf.data, its attributes and the counters' ids.
 *
 *   file mode   0 magic  8 size = 104  16 attr_size  24 attrs  40 data  56 event types  72 features[4]
 *   pipe mode   0 magic  8 size = 16   then records
 *   attrs       perf_event_attr (as long as its own size field states), then {offset, size} of its ids */
#include "format/perf_data.h"

#include "base/ban.h"
#include <inttypes.h>

enum {
    HEADER_FILE = 104,
    HEADER_FILE_OLD = 72, /* header without features, before Linux 2.6.32 */
    HEADER_PIPE = 16,
    ATTR_SECTION = 16,
    ATTR_MAX = 4096,
};
enum { FLAG_FREQ = 10, FLAG_SAMPLE_ID_ALL = 18, FLAG_NO_USER_CHAIN = 22, FLAG_USE_CLOCKID = 25 };

typedef struct section {
    uint64_t at, n;
} section;

static section take_section(const perf_data *d, uint64_t at)
{
    return (section){perf_u64(d, perf_bytes(d) + at), perf_u64(d, perf_bytes(d) + at + 8)};
}

/* ---- events ---- */

/* Reads bit fields, which a machine of the other byte order stores from the other end of each
 * byte. */
static uint64_t take_flags(const perf_data *d, const uint8_t *p)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < 64; i++) {
        unsigned bit = d->swap ? 7 - i % 8 : i % 8;
        v |= (uint64_t)(p[i / 8] >> bit & 1) << i;
    }
    return v;
}

static uint64_t attr_u64(const perf_data *d, const uint8_t *p, size_t n, size_t at)
{
    return at + 8 <= n ? perf_u64(d, p + at) : 0;
}

perf_event *perf_add_event(perf_data *d, const uint8_t *p, size_t n, uint64_t at)
{
    if (n < PERF_ATTR_MIN) {
        err_at(d->e, ERR_MALFORMED, at, "an event needs at least %d bytes, this one has %zu",
               PERF_ATTR_MIN, n);
        return NULL;
    }
    perf_event *v = vec_push(d->a, &d->events);
    if (!v) return arena_spent(d->a, d->e), NULL;
    v->type = perf_u32(d, p);
    v->config = perf_u64(d, p + 8);
    v->period = perf_u64(d, p + 16);
    v->sample_type = perf_u64(d, p + 24);
    v->read_format = perf_u64(d, p + 32);
    v->flags = take_flags(d, p + 40);
    v->branch_type = attr_u64(d, p, n, 72);
    v->regs_user = attr_u64(d, p, n, 80);
    v->clockid = n >= 96 ? (int32_t)perf_u32(d, p + 92) : 0;
    v->n_regs_intr = perf_n_bits(attr_u64(d, p, n, 96));
    v->freq = v->flags >> FLAG_FREQ & 1;
    v->sample_id_all = v->flags >> FLAG_SAMPLE_ID_ALL & 1;
    v->no_user_chain = v->flags >> FLAG_NO_USER_CHAIN & 1;
    v->use_clockid = n >= 96 && (v->flags >> FLAG_USE_CLOCKID & 1);
    return v;
}

perf_id *perf_find_id(const perf_data *d, uint64_t id)
{
    if (!d->by_id.n) return NULL;
    uint64_t h = hash_mix(d->by_id.seed, id);
    uint32_t i = hash_first(&d->by_id, h);
    for (uint32_t at; hash_next(&d->by_id, &i, h, &at); i++)
        if (d->ids.v[at].id == id) return &d->ids.v[at];
    return NULL;
}

bool perf_add_ids(perf_data *d, uint32_t event, const uint8_t *p, uint64_t n, uint64_t at)
{
    /* Sections may refer to the same bytes repeatedly, but the ids of a valid file cannot exceed
     * its size. */
    if (n > d->in.n / 8 - d->n_ids_claimed)
        return err_at(d->e, ERR_MALFORMED, at, "the id lists of the events overlap");
    d->n_ids_claimed += n;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t id = perf_u64(d, p + i * 8);
        if (perf_find_id(d, id)) continue;
        if (!hash_index_room(&d->by_id, d->a)) return arena_spent(d->a, d->e);
        perf_id *slot = vec_push(d->a, &d->ids);
        if (!slot) return arena_spent(d->a, d->e);
        *slot = (perf_id){.id = id, .event = event};
        uint64_t h = hash_mix(d->by_id.seed, id);
        uint32_t k = hash_first(&d->by_id, h);
        for (uint32_t other; hash_next(&d->by_id, &k, h, &other);) k++;
        hash_put(&d->by_id, k, h, (uint32_t)(d->ids.n - 1));
    }
    return true;
}

static bool read_attr(perf_data *d, uint64_t *at, uint64_t end)
{
    const uint8_t *p = perf_bytes(d) + *at;
    if (end - *at < PERF_ATTR_MIN + ATTR_SECTION)
        return err_at(d->e, ERR_MALFORMED, *at, "%" PRIu64 " bytes are too few for an event",
                      end - *at);
    uint32_t size = perf_u32(d, p + 4);
    if (size == 0) size = PERF_ATTR_MIN;
    if (size < PERF_ATTR_MIN || size > ATTR_MAX || size + ATTR_SECTION > end - *at)
        return err_at(d->e, ERR_MALFORMED, *at + 4,
                      "an event claims %u bytes; the attribute section has %" PRIu64, size,
                      end - *at);
    uint32_t event = (uint32_t)d->events.n;
    if (!perf_add_event(d, p, size, *at)) return false;
    section ids = take_section(d, *at + size);
    if (!perf_inside(d, ids.at, ids.n)) {
        d->truncated = true; /* ids follow the header, so a truncated file is still readable */
        ids.n = ids.at < d->in.n ? d->in.n - ids.at : 0;
    }
    if (ids.n && !perf_add_ids(d, event, perf_bytes(d) + ids.at, ids.n / 8, *at + size))
        return false;
    *at += size + ATTR_SECTION;
    return true;
}

static bool read_attrs(perf_data *d, section attrs)
{
    uint64_t at = attrs.at, end = attrs.at + attrs.n;
    for (size_t i = 0; at < end; i++)
        if (!read_attr(d, &at, end)) return err_in(d->e, "attrs[%zu]", i);
    return true;
}

/* ---- the header ---- */

static bool read_features(perf_data *d, uint64_t table)
{
    for (unsigned bit = 0; bit < PERF_N_FEATURES; bit++) {
        if (!(d->features[bit / 64] >> bit % 64 & 1)) continue;
        if (!perf_inside(d, table, ATTR_SECTION)) {
            d->truncated = true;
            return true;
        }
        section s = take_section(d, table);
        table += ATTR_SECTION;
        if (!perf_inside(d, s.at, s.n)) {
            d->truncated = true;
            continue;
        }
        if (!perf_read_feature(d, bit, perf_bytes(d) + s.at, s.n))
            return err_in(d->e, "features[%s]", perf_feature_name(bit));
    }
    return true;
}

static bool check_section(const perf_data *d, section s, uint64_t header, uint64_t at,
                          const char *name)
{
    if (s.at < header)
        return err_at(d->e, ERR_MALFORMED, at,
                      "the %s section begins at byte %" PRIu64 ", inside the header", name, s.at);
    return true;
}

static bool read_file_header(perf_data *d, uint64_t size)
{
    if (d->in.n < size)
        return err_at(d->e, ERR_MALFORMED, d->in.n,
                      "the file ends inside its header of %" PRIu64 " bytes", size);
    section attrs = take_section(d, 24), data = take_section(d, 40);
    if (!check_section(d, attrs, size, 24, "attrs") || !check_section(d, data, size, 40, "data"))
        return err_in(d->e, "header");
    if (!perf_inside(d, attrs.at, attrs.n))
        return err_at(d->e, ERR_MALFORMED, 24, "the attrs section ends beyond the file"),
               err_in(d->e, "header");
    if (size == HEADER_FILE)
        for (unsigned i = 0; i < PERF_N_FEATURES / 64; i++)
            d->features[i] = perf_u64(d, perf_bytes(d) + 72 + 8 * i);
    if (!read_attrs(d, attrs)) return false;
    d->data_at = data.at < d->in.n ? data.at : d->in.n;
    /* Size 0 means that the recorder was killed before it wrote the size; records extend to the
     * end. */
    bool unfinished = data.n == 0, cut = !unfinished && !perf_inside(d, data.at, data.n);
    d->data_end = unfinished || cut ? d->in.n : data.at + data.n;
    if (unfinished || cut) {
        d->truncated = true;
        memset(d->features, 0, sizeof d->features);
        return true;
    }
    return read_features(d, d->data_end);
}

bool perf_read_header(perf_data *d)
{
    if (d->in.n < HEADER_PIPE)
        return err_at(d->e, ERR_MALFORMED, d->in.n, "the file ends inside its header of %d bytes",
                      HEADER_PIPE);
    d->swap = !memcmp(d->in.p, "2ELIFREP", 8) || !memcmp(d->in.p, "ELIFFREP", 8);
    uint64_t size = perf_u64(d, perf_bytes(d) + 8);
    if (size == HEADER_FILE || size == HEADER_FILE_OLD) return read_file_header(d, size);
    if (size != HEADER_PIPE)
        return err_at(d->e, ERR_MALFORMED, 8,
                      "the header has %" PRIu64 " bytes, expected %d (file) or %d (pipe)", size,
                      HEADER_FILE, HEADER_PIPE);
    d->pipe = true;
    d->data_at = HEADER_PIPE;
    d->data_end = d->in.n;
    return true;
}
