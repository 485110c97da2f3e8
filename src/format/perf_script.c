/* Reads the text that `perf script` prints (docs/perf-script.md).
 *
 * The reader is tolerant: it skips unknown lines (neither header, frame, comment nor empty) and
 * counts them in the ledger. Equal frame lines are parsed once. */
#include "format/perf_script.h"

#include "base/text.h"
#include "base/utf8.h"
#include "format/folded_text.h"
#include "format/observe.h"
#include "format/perf_data.h"
#include "wire/carried.h"
#include "base/ban.h"
#include <inttypes.h>

/* No machine runs for 31 years without a reboot, so times above this count from 1970. */
#define UNIX_SINCE_NS (UINT64_C(1000000000) * 1000000000)

enum { DETECT_BYTES = 64 * 1024, DETECT_LINES = 64 };

/* ---- detection ---- */

static bool is_frame_line(str text, perf_script_frame *f)
{
    return text.n && (text.p[0] == '\t' || text.p[0] == ' ') && perf_script_parse_frame(text, f);
}

/* Looks for a header and, on the same or the next line, a frame. Time and event may be missing:
 * perf prints only the selected fields. */
static unsigned detect(str bytes)
{
    str left = {bytes.p, bytes.n < DETECT_BYTES ? bytes.n : DETECT_BYTES}, text;
    if (!text_like(left.p, left.n)) return 0;
    bool head = false, named = false;
    for (int i = 0; i < DETECT_LINES && str_line(&left, &text); i++) {
        perf_script_head h;
        perf_script_frame f;
        if (head && is_frame_line(text, &f)) return 90;
        head = perf_script_parse_bare_head(text, &h);
        if (!perf_script_parse_head(text, &h)) continue;
        if (h.has_time && h.event.n && perf_script_parse_frame(h.rest, &f) && f.address) return 90;
        head = h.event.n && (h.has_time || h.tid >= 0);
        named = h.event.n && (h.has_time || h.pid >= 0);
    }
    return named ? 30 : 0;
}

/* ---- reading ---- */

typedef struct row {
    uint64_t time;
    int64_t value;
    uint32_t stack, pid, tid, comm, cpu; /* attributes; 0 = none */
    bool has_time;
} row;

typedef struct event {
    str name;
    bool has_period;
    VEC(row) rows;
} event;

typedef struct frame_line { /* a frame line and its location */
    str text;
    uint32_t location; /* 0: `inlined` is used */
    line inlined;
    bool is_inlined;
} frame_line;

typedef struct reader {
    perf_data *d; /* used only for perf_utf8 */
    builder *b;
    arena *a;
    err *e;
    ledger *l;
    VEC(event) events;
    hash_index by_event, by_line;
    VEC(frame_line) lines;
    VEC(line) inlined; /* lines that precede their physical frame, innermost first */
    u32s frames;
    bool open; /* a header was read and its sample is not finished */
    uint32_t event;
    row now;
    uint64_t n_lines, first_time, last_time;
    uint64_t n_times, n_rows, n_offsets, n_fields;
    bool unix_time; /* all samples with a time have a Unix time */
} reader;

static bool is_kernel(const perf_script_frame *f)
{
    static const char *const not_kernel[] = {"[vdso]", "[vsyscall]", "[heap]", "[stack]"};
    if (f->address >> 63) return true;
    if (str_ends(f->dso, STR(".ko")) || str_ends(f->dso, STR("/vmlinux"))) return true;
    if (!str_starts(f->dso, STR("[")) || str_starts(f->dso, STR("[anon"))) return false;
    for (size_t i = 0; i < ARRAY_LEN(not_kernel); i++)
        if (str_eq(f->dso, str_of(not_kernel[i]))) return false;
    return true;
}

static uint32_t function_of(reader *r, str symbol)
{
    if (!symbol.n) return 0;
    uint32_t name = builder_string(r->b, perf_utf8(r->d, symbol));
    return builder_function(r->b, &(function){.name = name});
}

static uint32_t location_of(reader *r, const perf_script_frame *f, const line *lines, size_t n)
{
    mapping m = {.filename = builder_string(r->b, perf_utf8(r->d, f->dso))};
    uint32_t map = builder_mapping(r->b, &m, NULL, 0), type = 0;
    if (is_kernel(f))
        type = builder_attribute_str(r->b, STR(ATTR_FRAME_TYPE), STR("kernel"));
    else if (perf_is_native(f->dso))
        type = builder_attribute_str(r->b, STR(ATTR_FRAME_TYPE), STR("native"));
    return builder_location(r->b, map, f->address, lines, n, &type, type != 0);
}

static bool push_frame(reader *r, uint32_t location_i)
{
    uint32_t *slot = vec_push(r->a, &r->frames);
    if (!slot) return arena_spent(r->a, r->e);
    *slot = location_i;
    return true;
}

/* Adds a physical frame. The inlined frames before it become the innermost lines of its
 * location. */
static bool push_physical(reader *r, const perf_script_frame *f, uint32_t *found)
{
    uint32_t i_function = function_of(r, f->symbol);
    line *own = i_function || r->inlined.n ? vec_push(r->a, &r->inlined) : NULL;
    if (own) own->function = i_function;
    *found = location_of(r, f, r->inlined.v, r->inlined.n);
    r->inlined.n = 0;
    return push_frame(r, *found);
}

static bool take_known(reader *r, const frame_line *x)
{
    if (!x->is_inlined) return push_frame(r, x->location);
    line *slot = vec_push(r->a, &r->inlined);
    if (!slot) return arena_spent(r->a, r->e);
    *slot = x->inlined;
    return true;
}

/* Returns whether a line is known, and sets *at to its slot or to a free slot. */
static bool find_line(const reader *r, str text, uint64_t h, uint32_t *at)
{
    uint32_t i = hash_first(&r->by_line, h);
    for (; hash_next(&r->by_line, &i, h, at); i++)
        if (str_eq(r->lines.v[*at].text, text)) return true;
    *at = i;
    return false;
}

static bool keep_line(reader *r, const frame_line *made, uint64_t h, uint32_t slot_i)
{
    frame_line *slot = vec_push(r->a, &r->lines);
    if (!slot) return arena_spent(r->a, r->e);
    *slot = *made;
    hash_put(&r->by_line, slot_i, h, (uint32_t)(r->lines.n - 1));
    return true;
}

/* Reads a line and sets *is to whether it is a frame. Known lines are not parsed again, except
 * physical frames after inlined ones, whose location has more than one line. */
static bool take_frame(reader *r, str text, bool *is)
{
    uint32_t i;
    if (!hash_index_room(&r->by_line, r->a)) return arena_spent(r->a, r->e);
    uint64_t h = hash_bytes(text.p, text.n, r->by_line.seed);
    *is = true;
    bool known = find_line(r, text, h, &i), alone = !r->inlined.n;
    if (known && (alone || r->lines.v[i].is_inlined)) return take_known(r, &r->lines.v[i]);
    perf_script_frame f;
    *is = perf_script_parse_frame(text, &f);
    if (!*is) return true;
    r->n_offsets += f.has_offset;
    frame_line made = {.text = text, .is_inlined = f.inlined};
    if (f.inlined) {
        made.inlined.function = function_of(r, f.symbol);
        if (!take_known(r, &made)) return false;
    } else if (!push_physical(r, &f, &made.location)) {
        return false;
    }
    return known || (!alone && !f.inlined) || keep_line(r, &made, h, i);
}

/* ---- samples ---- */

static bool find_event(reader *r, str name, uint32_t *out)
{
    if (!name.n) name = STR("samples");
    if (!hash_index_room(&r->by_event, r->a)) return arena_spent(r->a, r->e);
    uint64_t h = hash_bytes(name.p, name.n, r->by_event.seed);
    uint32_t i = hash_first(&r->by_event, h);
    for (; hash_next(&r->by_event, &i, h, out); i++)
        if (str_eq(r->events.v[*out].name, name)) return true;
    event *v = vec_push(r->a, &r->events);
    if (!v) return arena_spent(r->a, r->e);
    v->name = name;
    *out = (uint32_t)(r->events.n - 1);
    hash_put(&r->by_event, i, h, *out);
    return true;
}

static bool finish_sample(reader *r)
{
    if (!r->open) return true;
    r->open = false;
    if (r->inlined.n) { /* the stack ends before the physical frame */
        uint32_t i = location_of(r, &(perf_script_frame){0}, r->inlined.v, r->inlined.n);
        r->inlined.n = 0;
        if (!push_frame(r, i)) return false;
    }
    r->now.stack = builder_stack(r->b, r->frames.v, r->frames.n);
    row *slot = vec_push(r->a, &r->events.v[r->event].rows);
    if (!slot) return arena_spent(r->a, r->e);
    *slot = r->now;
    r->n_rows++;
    return true;
}

static uint32_t id_attr(reader *r, const char *key, int64_t v)
{
    return v < 0 ? 0 : builder_attribute_int(r->b, str_of(key), v);
}

static void note_time(reader *r, uint64_t time)
{
    if (!r->n_times || time < r->first_time) r->first_time = time;
    if (!r->n_times || time > r->last_time) r->last_time = time;
    r->unix_time = (r->unix_time || !r->n_times) && time >= UNIX_SINCE_NS;
    r->n_times++;
}

/* perf prints ":1735" for a thread without a name. */
static bool is_nameless(const perf_script_head *h)
{
    if (h->comm.n < 2 || h->comm.p[0] != ':') return false;
    for (size_t i = 1; i < h->comm.n; i++)
        if (!memchr("-0123456789", h->comm.p[i], 11)) return false;
    return true;
}

static bool begin_sample(reader *r, const perf_script_head *h)
{
    if (!finish_sample(r) || !find_event(r, h->event, &r->event)) return false;
    r->events.v[r->event].has_period |= h->has_period;
    str comm = is_nameless(h) ? (str){0} : perf_utf8(r->d, h->comm);
    r->now = (row){
        .time = h->time_ns,
        .has_time = h->has_time,
        .value = h->has_period ? h->period : 1,
        .pid = id_attr(r, ATTR_PROCESS_PID, h->pid),
        .tid = id_attr(r, ATTR_THREAD_ID, h->tid),
        .comm = comm.n ? builder_attribute_str(r->b, STR(ATTR_THREAD_NAME), comm) : 0,
        .cpu = id_attr(r, ATTR_CPU, h->cpu),
    };
    r->frames.n = r->inlined.n = 0;
    r->open = true;
    if (h->has_time) note_time(r, h->time_ns);
    if (!h->rest.n) return true;
    bool is_frame;
    if (!take_frame(r, h->rest, &is_frame)) return false;
    r->n_fields += !is_frame; /* prev_comm=... */
    return true;
}

/* Inside a sample, an indented line that begins with an address is a frame, unless it has a time:
 * then it is a header ("  dd 12/12 1.5: ..."). */
static bool take_line(reader *r, str text, str next)
{
    perf_script_head h;
    bool is_frame = false;
    if (!str_trim(text).n) return finish_sample(r);
    if (r->open && text.p[0] == '\t') {
        if (!take_frame(r, text, &is_frame)) return false;
        if (is_frame) return true;
    }
    bool head = perf_script_parse_head(text, &h);
    bool timed = head && h.has_time && h.event.n;
    if (text.p[0] == '#' && !timed) return true; /* a comment, not a thread called #1 */
    if (r->open && text.p[0] == ' ' && !timed) {
        if (!take_frame(r, text, &is_frame)) return false;
        if (is_frame) return true;
    }
    str what = head && h.event.n ? h.event : head ? h.rest : (str){0};
    perf_script_frame f;
    if (!head && is_frame_line(next, &f)) head = perf_script_parse_bare_head(text, &h);
    if (head && !str_starts(what, STR("PERF_RECORD_"))) return begin_sample(r, &h);
    char path[32];
    snprintf(path, sizeof path, "line %" PRIu64, r->n_lines);
    ledger_add(r->l, STAGE_READ, LOSS_TEXT_LINE, NULL, path, text);
    return true;
}

/* ---- the model ---- */

static bool is_clock(const event *v)
{
    str s = v->name;
    return v->has_period && (str_starts(s, STR("cpu-clock")) || str_starts(s, STR("task-clock")));
}

static void put_row(reader *r, const row *x, bool timed)
{
    uint32_t found[] = {x->pid, x->tid, x->comm, x->cpu}, attrs[ARRAY_LEN(found)], n = 0;
    for (size_t i = 0; i < ARRAY_LEN(found); i++)
        if (found[i]) attrs[n++] = found[i];
    builder_sample(r->b, &(sample){
                             .stack = x->stack,
                             .attrs = attrs,
                             .n_attrs = n,
                             .values = &x->value,
                             .n_values = 1,
                             .times = &x->time,
                             .n_times = timed,
                         });
}

static bool put_profile(reader *r, const event *v, const read_opts *o, bool timed)
{
    profile *p = builder_profile(r->b);
    if (!p) return arena_spent(r->a, r->e);
    str type = o->sample_type.n ? o->sample_type : v->name;
    str unit = o->sample_unit.n ? o->sample_unit : is_clock(v) ? STR("nanoseconds") : STR("count");
    p->sample_type =
        (value_type){builder_string(r->b, perf_utf8(r->d, type)), builder_string(r->b, unit)};
    if (r->n_times) p->duration_nano = r->last_time - r->first_time + 1;
    if (timed) p->time_unix_nano = r->first_time;
    if (timed && !r->unix_time) {
        uint32_t attr = observe_epoch(r->b, r->l);
        builder_profile_attrs(r->b, &attr, 1);
    }
    for (size_t i = 0; i < v->rows.n; i++) put_row(r, &v->rows.v[i], timed);
    return !r->b->failed || arena_spent(r->a, r->e);
}

static bool put_model(reader *r, const read_opts *o, model *out)
{
    bool timed = r->n_times && r->n_times == r->n_rows;
    builder_resource(r->b, NULL);
    builder_scope(r->b, &(scope){.name = STR("perf"), .present = true});
    for (size_t i = 0; i < r->events.n; i++)
        if (!put_profile(r, &r->events.v[i], o, timed)) return false;
    if (r->n_times && !timed)
        ledger_add_n(r->l, STAGE_READ, LOSS_TIMESTAMP, NULL, r->n_times,
                     "samples: some have no time", (str){0});
    if (r->n_offsets)
        ledger_add_n(r->l, STAGE_READ, LOSS_EVENT_DETAIL, NULL, r->n_offsets, "offset in a symbol",
                     (str){0});
    if (r->n_fields)
        ledger_add_n(r->l, STAGE_READ, LOSS_EVENT_DETAIL, NULL, r->n_fields, "fields of an event",
                     (str){0});
    return builder_finish(r->b, out, r->e);
}

static bool read_text(reader *r, str left)
{
    for (str text; str_line(&left, &text);) {
        r->n_lines++;
        str behind = left, next = {0};
        if (!str_line(&behind, &next)) next.n = 0;
        if (!take_line(r, text, next)) return false;
        if (r->b->failed) return arena_spent(r->a, r->e);
    }
    return finish_sample(r);
}

static bool read(const format *f, str bytes, const read_opts *o, arena *a, model *out,
                 layout_verdict *verdict, err *e)
{
    (void)f, (void)verdict;
    perf_data *d = arena_new(a, perf_data, 1);
    reader r = {.d = d, .a = a, .e = e, .l = o->ledger};
    if (!d) return arena_spent(r.a, r.e);
    d->a = a, d->o = o, d->e = e;
    r.b = &d->b;
    if (!builder_init(r.b, a)) return arena_spent(r.a, r.e);
    r.b->borrow = true;
    if (!read_text(&r, bytes)) return false;
    if (!r.n_rows)
        return err_at(
            e, ERR_MALFORMED, 0,
            "no line begins a sample of perf script: \"comm pid/tid [cpu] time: event:\"");
    return put_model(&r, o, out);
}

const format format_perf_script = {
    .name = "perf-script",
    .what = "output of perf script",
    .suffixes = ".perf-script .perf",
    .text = true,
    .carries = CARRIES(STACKS) | CARRIES(VALUES) | CARRIES(TIMESTAMPS) | CARRIES(ADDRESSES) |
               CARRIES(INLINES),
    .detect = detect,
    .read = read,
    .is_current = text_is_utf8,
    .write = perf_script_write,
};
