/* Finds the event of a record, and decodes the fields of a sample in their order
 * (perf_event_open(2), PERF_RECORD_SAMPLE). Each field is present only if its bit of sample_type is
 * set. */
#include "format/perf_data.h"

#include "base/ban.h"
#include <inttypes.h>

/* ---- event of a record ---- */

/* Returns the position of the id of a record, in words from the start of a sample or from the end
 * of any other record; 0 if it has none. All events of a readable file have the same position. */
static unsigned id_words(uint64_t sample_type, bool is_sample)
{
    if (sample_type & PERF_SAMPLE_IDENTIFIER) return 1;
    if (!(sample_type & PERF_SAMPLE_ID)) return 0;
    uint64_t around = is_sample
                          ? PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR
                          : PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU;
    return 1 + perf_n_bits(sample_type & around);
}

perf_event *perf_event_of(const perf_data *d, const perf_record *r)
{
    if (d->events.n <= 1) return d->events.v;
    perf_event *first = d->events.v;
    bool is_sample = r->type == REC_SAMPLE;
    if (!is_sample && !first->sample_id_all) return first;
    size_t n = perf_body_size(r), at = 8 * id_words(first->sample_type, is_sample);
    if (!at || n < at) return is_sample && n < at ? NULL : first;
    uint64_t id = perf_u64(d, is_sample ? r->body + (at - 8) : r->body + (n - at));
    if (!id) return first;
    const perf_id *known = perf_find_id(d, id);
    if (known) return &d->events.v[known->event];
    return is_sample ? NULL : first;
}

/* ---- fields at the end of other records ---- */

static const uint64_t trailer_bits = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
                                     PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
                                     PERF_SAMPLE_IDENTIFIER;

size_t perf_trailer_size(const perf_event *v)
{
    return v && v->sample_id_all ? 8 * perf_n_bits(v->sample_type & trailer_bits) : 0;
}

void perf_decode_trailer(const perf_data *d, const perf_record *r, perf_sample *out)
{
    *out = (perf_sample){.event = perf_event_of(d, r), .id = NO_ID, .cpu = NO_CPU};
    size_t n = perf_trailer_size(out->event), body = perf_body_size(r);
    if (!n || n > body) return;
    uint64_t has = out->event->sample_type;
    const uint8_t *p = r->body + (body - n);
    if (has & PERF_SAMPLE_TID) {
        out->pid = perf_u32(d, p), out->tid = perf_u32(d, p + 4);
        p += 8;
    }
    if (has & PERF_SAMPLE_TIME) {
        out->time = perf_u64(d, p), out->has_time = true;
        p += 8;
    }
    if (has & PERF_SAMPLE_ID) out->id = perf_u64(d, p), p += 8;
    if (has & PERF_SAMPLE_STREAM_ID) p += 8;
    if (has & PERF_SAMPLE_CPU) out->cpu = perf_u32(d, p), p += 8;
    if (has & PERF_SAMPLE_IDENTIFIER) out->id = perf_u64(d, p);
}

bool perf_sample_time(const perf_data *d, const perf_record *r, uint64_t *time)
{
    const perf_event *v = perf_event_of(d, r);
    *time = 0;
    if (!v || !(v->sample_type & PERF_SAMPLE_TIME)) return false;
    size_t at = 8 * perf_n_bits(v->sample_type &
                                (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID));
    if (perf_body_size(r) < at + 8) return false;
    *time = perf_u64(d, r->body + at);
    return true;
}

/* ---- samples ---- */

typedef struct fields {
    const perf_data *d;
    const perf_record *r;
    const uint8_t *p, *end;
    const char *bad; /* the first field that did not fit */
} fields;

static const uint8_t *take(fields *f, uint64_t n, const char *name)
{
    if (n > (size_t)(f->end - f->p)) {
        if (!f->bad) f->bad = name;
        return NULL;
    }
    const uint8_t *p = f->p;
    f->p += n;
    return p;
}

static uint64_t take_u64(fields *f, const char *name)
{
    const uint8_t *p = take(f, 8, name);
    return p ? perf_u64(f->d, p) : 0;
}

/* Reads n elements of `size` bytes. */
static const uint8_t *take_list(fields *f, uint64_t n, size_t size, const char *name)
{
    uint64_t bytes;
    if (ckd_mul(&bytes, n, (uint64_t)size)) bytes = UINT64_MAX;
    return take(f, bytes, name);
}

/* Skips the counters, which are read later: {value, [time enabled], [time running], [id], [lost]},
 * or a group: {n, [time enabled], [time running], n x {value, [id], [lost]}}. */
static void take_read(fields *f, const perf_event *v, perf_sample *out)
{
    uint64_t has = v->read_format;
    uint64_t n_times = perf_n_bits(has & (PERF_FORMAT_TIME_ENABLED | PERF_FORMAT_TIME_RUNNING));
    uint64_t n_each = 1 + perf_n_bits(has & (PERF_FORMAT_ID | PERF_FORMAT_LOST));
    out->has_read = true;
    if (!(has & PERF_FORMAT_GROUP)) {
        out->n_read = 1;
        out->read = take(f, 8 * (n_times + n_each), "read");
        return;
    }
    uint64_t n = take_u64(f, "read");
    take(f, 8 * n_times, "read");
    out->read = take_list(f, n, 8 * (size_t)n_each, "read");
    out->n_read = out->read ? (uint32_t)n : 0;
}

enum { BRANCH_HW_INDEX = 17, BRANCH_COUNTERS = 19 };

static void skip_branches(fields *f, const perf_event *v)
{
    uint64_t n = take_u64(f, "branch stack");
    if (v->branch_type >> BRANCH_HW_INDEX & 1) take_u64(f, "branch stack");
    take_list(f, n, 24, "branch stack");
    if (v->branch_type >> BRANCH_COUNTERS & 1) take_list(f, n, 8, "branch counters");
}

/* Index of the instruction pointer in perf_event_attr.sample_regs_user. */
static const struct {
    const char *arch;
    unsigned number;
} ip_register[] = {{"x86_64", 8}, {"i686", 8}, {"i386", 8}, {"aarch64", 32}, {"armv7l", 15}};

void perf_find_user_ip(const perf_data *d, perf_event *v)
{
    v->user_ip = -1;
    if (!v->no_user_chain || !(v->sample_type & PERF_SAMPLE_REGS_USER)) return;
    for (size_t i = 0; i < ARRAY_LEN(ip_register); i++) {
        uint64_t bit = (uint64_t)1 << ip_register[i].number;
        if (str_eq(d->arch, str_of(ip_register[i].arch)) && v->regs_user & bit)
            v->user_ip = (int)perf_n_bits(v->regs_user & (bit - 1));
    }
}

enum { ABI_NONE, ABI_32, ABI_64 };

/* Reads {abi, registers}. ABI_NONE: no registers, because a kernel thread has none. */
static const uint8_t *take_regs(fields *f, uint32_t n, uint64_t *abi)
{
    *abi = take_u64(f, "registers");
    return *abi != ABI_NONE ? take_list(f, n, 8, "registers") : NULL;
}

static void take_user_regs(fields *f, const perf_event *v, perf_sample *out)
{
    uint64_t abi;
    const uint8_t *regs = take_regs(f, perf_n_bits(v->regs_user), &abi);
    if (!regs || v->user_ip < 0) return;
    out->user_ip = perf_u64(f->d, regs + 8 * v->user_ip);
    out->has_user_ip = true;
    out->regs = regs;
    out->regs_64 = abi == ABI_64;
}

/* Reads {size, bytes, dynamic size}. The kernel reserves `size` bytes and fills the first ones, up
 * to the end of the stack. */
static void take_user_stack(fields *f, perf_sample *out)
{
    uint64_t size = take_u64(f, "user stack");
    const uint8_t *p = take(f, size, "user stack");
    uint64_t used = size ? take_u64(f, "user stack") : 0;
    if (!p || used > size) used = 0;
    out->stack = (str){(const char *)p, used};
    out->stack_partial = used == size;
}

/* Reads the fields after RAW, up to the last one that is used. */
static void take_rest(fields *f, const perf_event *v, perf_sample *out)
{
    uint64_t has = v->sample_type;
    if (!(has & PERF_SAMPLE_CGROUP) && v->user_ip < 0) return;
    if (has & PERF_SAMPLE_BRANCH_STACK) skip_branches(f, v);
    if (has & PERF_SAMPLE_REGS_USER) take_user_regs(f, v, out);
    if (has & PERF_SAMPLE_STACK_USER) take_user_stack(f, out);
    if (!(has & PERF_SAMPLE_CGROUP)) return;
    if (has & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)) take_u64(f, "weight");
    if (has & PERF_SAMPLE_DATA_SRC) take_u64(f, "data source");
    if (has & PERF_SAMPLE_TRANSACTION) take_u64(f, "transaction");
    uint64_t abi;
    if (has & PERF_SAMPLE_REGS_INTR) take_regs(f, v->n_regs_intr, &abi);
    if (has & PERF_SAMPLE_PHYS_ADDR) take_u64(f, "physical address");
    out->cgroup = take_u64(f, "cgroup");
}

bool perf_decode_sample(perf_data *d, const perf_record *r, perf_sample *out)
{
    *out = (perf_sample){.event = perf_event_of(d, r), .id = NO_ID, .cpu = NO_CPU};
    const perf_event *v = out->event;
    if (!v) return true;
    fields f = {.d = d, .r = r, .p = r->body, .end = r->body + perf_body_size(r)};
    uint64_t has = v->sample_type;
    out->has_ip = has & PERF_SAMPLE_IP;
    out->has_time = has & PERF_SAMPLE_TIME;
    out->has_chain = has & PERF_SAMPLE_CALLCHAIN;
    if (has & PERF_SAMPLE_IDENTIFIER) out->id = take_u64(&f, "identifier");
    if (has & PERF_SAMPLE_IP) out->ip = take_u64(&f, "ip");
    if (has & PERF_SAMPLE_TID) {
        const uint8_t *p = take(&f, 8, "tid");
        if (p) out->pid = perf_u32(d, p), out->tid = perf_u32(d, p + 4);
    }
    if (has & PERF_SAMPLE_TIME) out->time = take_u64(&f, "time");
    if (has & PERF_SAMPLE_ADDR) take_u64(&f, "addr");
    if (has & PERF_SAMPLE_ID) out->id = take_u64(&f, "id");
    if (has & PERF_SAMPLE_STREAM_ID) take_u64(&f, "stream id");
    if (has & PERF_SAMPLE_CPU) {
        const uint8_t *p = take(&f, 8, "cpu");
        if (p) out->cpu = perf_u32(d, p);
    }
    out->period = has & PERF_SAMPLE_PERIOD ? take_u64(&f, "period") : v->freq ? 1 : v->period;
    if (has & PERF_SAMPLE_READ) take_read(&f, v, out);
    if (has & PERF_SAMPLE_CALLCHAIN) {
        uint64_t n = take_u64(&f, "call chain");
        out->chain = take_list(&f, n, 8, "call chain");
        out->n_chain = out->chain ? n : 0;
    }
    if (has & PERF_SAMPLE_RAW) {
        const uint8_t *p = take(&f, 4, "raw data");
        uint32_t n = p ? perf_u32(d, p) : 0;
        out->raw = take(&f, n, "raw data");
        out->n_raw = out->raw ? n : 0;
    }
    take_rest(&f, v, out);
    if (!f.bad) return true;
    return perf_fail(d, r, (size_t)(f.p - r->body), "a sample of %u bytes ends inside its %s",
                     r->size, f.bad);
}
