/* Reads the features of perf.data: sections that describe the recording. Damaged ones are
 * skipped. */
#include "format/perf_data.h"

#include "base/text.h"
#include "base/ban.h"

enum {
    HEADER_TRACING_DATA = 1,
    HEADER_BUILD_ID = 2,
    HEADER_HOSTNAME = 3,
    HEADER_OSRELEASE = 4,
    HEADER_VERSION = 5,
    HEADER_ARCH = 6,
    HEADER_CPUDESC = 8,
    HEADER_CMDLINE = 11,
    HEADER_EVENT_DESC = 12,
    HEADER_SAMPLE_TIME = 21,
    HEADER_CLOCKID = 23,
    HEADER_COMPRESSED = 27,
    HEADER_CLOCK_DATA = 29,
};

static const char *const names[] = {
    "RESERVED",        "TRACING_DATA", "BUILD_ID",     "HOSTNAME",     "OSRELEASE",
    "VERSION",         "ARCH",         "NRCPUS",       "CPUDESC",      "CPUID",
    "TOTAL_MEM",       "CMDLINE",      "EVENT_DESC",   "CPU_TOPOLOGY", "NUMA_TOPOLOGY",
    "BRANCH_STACK",    "PMU_MAPPINGS", "GROUP_DESC",   "AUXTRACE",     "STAT",
    "CACHE",           "SAMPLE_TIME",  "MEM_TOPOLOGY", "CLOCKID",      "DIR_FORMAT",
    "BPF_PROG_INFO",   "BPF_BTF",      "COMPRESSED",   "CPU_PMU_CAPS", "CLOCK_DATA",
    "HYBRID_TOPOLOGY", "PMU_CAPS",
};

const char *perf_feature_name(unsigned bit)
{
    return bit < ARRAY_LEN(names) ? names[bit] : "unknown";
}

bool perf_feature_used(unsigned bit)
{
    switch (bit) {
    case HEADER_TRACING_DATA:
    case HEADER_BUILD_ID:
    case HEADER_HOSTNAME:
    case HEADER_OSRELEASE:
    case HEADER_VERSION:
    case HEADER_ARCH:
    case HEADER_CPUDESC:
    case HEADER_CMDLINE:
    case HEADER_EVENT_DESC:
    case HEADER_SAMPLE_TIME: /* the samples have this information */
    case HEADER_COMPRESSED:
    case HEADER_CLOCKID:
    case HEADER_CLOCK_DATA: return true;
    default: return false;
    }
}

/* A cursor over one section. Reading past the end sets `bad` and returns zeros. */
typedef struct walk {
    const perf_data *d;
    const uint8_t *p;
    size_t left;
    bool bad;
} walk;

static const uint8_t *take(walk *w, size_t n)
{
    if (n > w->left) {
        w->bad = true;
        w->left = 0;
        return NULL;
    }
    const uint8_t *p = w->p;
    w->p += n;
    w->left -= n;
    return p;
}

static uint32_t take_u32(walk *w)
{
    const uint8_t *p = take(w, 4);
    return p ? perf_u32(w->d, p) : 0;
}

static uint64_t take_u64(walk *w)
{
    const uint8_t *p = take(w, 8);
    return p ? perf_u64(w->d, p) : 0;
}

static str take_text(walk *w) /* u4 length with padding, then the bytes */
{
    uint32_t n = take_u32(w);
    const uint8_t *p = take(w, n);
    return p ? perf_text(p, n) : (str){0};
}

/* ---- build ids ---- */

enum { BUILD_ID_FIXED = 4 + 24 }; /* pid, id and its size; the name follows */

static uint32_t by_name(const perf_data *d, str name, uint64_t h, bool *found)
{
    uint32_t i = hash_first(&d->by_filename, h);
    *found = true;
    for (uint32_t at; hash_next(&d->by_filename, &i, h, &at); i++)
        if (str_eq(d->build_ids.v[at].filename, name)) return at;
    *found = false;
    return i;
}

static bool put_build_id(perf_data *d, perf_build_id id)
{
    if (!hash_index_room(&d->by_filename, d->a)) return arena_spent(d->a, d->e);
    uint64_t h = hash_bytes(id.filename.p, id.filename.n, d->by_filename.seed);
    bool found;
    uint32_t i = by_name(d, id.filename, h, &found);
    if (found) return true;
    perf_build_id *b = vec_push(d->a, &d->build_ids);
    if (!b) return arena_spent(d->a, d->e);
    *b = id;
    hash_put(&d->by_filename, i, h, (uint32_t)(d->build_ids.n - 1));
    return true;
}

/* Stores the build id of module ".../snd-hda.ko.xz" also under "[snd_hda]", the name of its
 * mapping. */
static bool put_module(perf_data *d, perf_build_id id)
{
    str f = str_base_name(id.filename);
    const char *dot = f.n ? memmem(f.p, f.n, ".ko", 3) : NULL;
    if (!dot) return true;
    size_t n = (size_t)(dot - f.p);
    char *p = arena_alloc(d->a, n + 2);
    if (!p) return arena_spent(d->a, d->e);
    p[0] = '[';
    for (size_t i = 0; i < n; i++) p[i + 1] = f.p[i] == '-' ? '_' : f.p[i];
    p[n + 1] = ']';
    id.filename = (str){p, n + 2};
    return put_build_id(d, id);
}

bool perf_add_build_id(perf_data *d, uint16_t misc, const uint8_t *body, size_t n)
{
    if (n <= BUILD_ID_FIXED) return true;
    uint32_t size = misc & MISC_BUILD_ID_SIZE ? body[4 + BUILD_ID_MAX] : BUILD_ID_MAX;
    if (size == 0 || size > BUILD_ID_MAX) return true;
    str name = perf_text(body + BUILD_ID_FIXED, n - BUILD_ID_FIXED);
    perf_build_id id = {.filename = name, .id = body + 4, .n = size};
    return put_build_id(d, id) && put_module(d, id);
}

const perf_build_id *perf_find_build_id(const perf_data *d, str filename)
{
    if (!d->by_filename.n) return NULL;
    bool found;
    uint64_t h = hash_bytes(filename.p, filename.n, d->by_filename.seed);
    uint32_t at = by_name(d, filename, h, &found);
    return found ? &d->build_ids.v[at] : NULL;
}

static bool read_build_ids(perf_data *d, walk w)
{
    while (w.left >= REC_HEADER) {
        const uint8_t *p = take(&w, REC_HEADER);
        uint16_t misc = perf_u16(d, p + 4), size = perf_u16(d, p + 6);
        const uint8_t *body = size > REC_HEADER ? take(&w, (size_t)size - REC_HEADER) : NULL;
        if (!body) return true;
        if (!perf_add_build_id(d, misc, body, (size_t)size - REC_HEADER)) return false;
    }
    return true;
}

/* ---- names of events ---- */

/* Returns the event that has one of these ids, otherwise the i-th. */
static perf_event *event_described(const perf_data *d, const uint8_t *ids, uint32_t n, uint32_t i)
{
    for (uint32_t k = 0; k < n; k++) {
        const perf_id *id = perf_find_id(d, perf_u64(d, ids + (size_t)k * 8));
        if (id) return &d->events.v[id->event];
    }
    return i < d->events.n ? &d->events.v[i] : NULL;
}

static void read_event_desc(perf_data *d, walk w)
{
    uint32_t n = take_u32(&w), attr_size = take_u32(&w);
    for (uint32_t i = 0; i < n && !w.bad; i++) {
        take(&w, attr_size);
        uint32_t n_ids = take_u32(&w);
        str name = take_text(&w);
        if (n_ids > w.left / 8) return;
        const uint8_t *ids = take(&w, (size_t)n_ids * 8);
        perf_event *v = w.bad ? NULL : event_described(d, ids, n_ids, i);
        if (v && name.n) v->name = name;
    }
}

/* ---- other features ---- */

static bool read_cmdline(perf_data *d, walk w)
{
    uint32_t n = take_u32(&w);
    for (uint32_t i = 0; i < n; i++) {
        str s = take_text(&w);
        if (w.bad) return true;
        str *slot = vec_push(d->a, &d->cmdline);
        if (!slot) return arena_spent(d->a, d->e);
        *slot = s;
    }
    return true;
}

static void read_clock_data(perf_data *d, walk w)
{
    uint32_t version = take_u32(&w), id = take_u32(&w);
    uint64_t wall = take_u64(&w), clock = take_u64(&w);
    if (w.bad || version != 1) return;
    d->has_clock_data = true;
    d->clock_id = id;
    d->clock_wall_ns = wall;
    d->clock_ns = clock;
}

static void store_text(str *to, walk w)
{
    str s = take_text(&w);
    if (!w.bad) *to = s;
}

bool perf_read_feature(perf_data *d, unsigned bit, const uint8_t *p, size_t n)
{
    walk w = {.d = d, .p = p, .left = n};
    switch (bit) {
    case HEADER_TRACING_DATA: return perf_read_tracing(d, p, n);
    case HEADER_BUILD_ID: return read_build_ids(d, w);
    case HEADER_HOSTNAME: store_text(&d->hostname, w); break;
    case HEADER_OSRELEASE: store_text(&d->os_release, w); break;
    case HEADER_VERSION: store_text(&d->perf_version, w); break;
    case HEADER_ARCH: store_text(&d->arch, w); break;
    case HEADER_CPUDESC: store_text(&d->cpu_desc, w); break;
    case HEADER_CMDLINE: return read_cmdline(d, w);
    case HEADER_EVENT_DESC: read_event_desc(d, w); break;
    case HEADER_CLOCK_DATA: read_clock_data(d, w); break;
    default: break;
    }
    return true;
}
