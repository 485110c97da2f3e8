/* Reads a Chromium trace: the file around its events, and the meaning of each phase. The text is
 * scanned once; unsorted tracks need a second scan (chrome.h). */
#include "format/chrome.h"

#include "base/time.h"
#include "wire/carried.h"
#include "wire/json_quick.h"
#include "base/ban.h"
#include <inttypes.h>

enum { PROGRESS_STEP = 4 << 20 }; /* bytes */

typedef struct trace {
    chrome c;
    const read_opts *o;
    const char *begin, *reported; /* the text; position of the last progress report */
    size_t n_bytes;
    uint64_t n_events; /* read so far */
    uint64_t n_other, n_details, n_metadata, n_args_lost;
    char first_other; /* ph of the first event that the model cannot represent */
    str first_detail;
    bool cut, in_event; /* the input ended early; it ended inside an event */
    uint64_t n_left_out;
    err first_skipped; /* the error of the first event that was skipped */
} trace;

/* ---- arguments ---- */

/* Whether the text of arguments is valid JSON; the fast path only checks that brackets balance. */
static bool is_json(trace *t, json_slice text)
{
    err ignored = {0};
    json j = json_open_slice(text, t->c.work, &ignored);
    return json_next(&j) == JSON_OBJECT && json_skip_open(&j) && json_finish(&j);
}

/* Returns an attribute with the text of `args`; 0 when there are too many distinct texts. */
static uint32_t args_attr(trace *t, json_slice args)
{
    chrome *c = &t->c;
    if (args.bytes.n <= 2) return 0; /* {} */
    t->n_args_lost++;
    if (args.bytes.n > CHROME_MAX_ARGS_BYTES) return 0;
    if (!hash_index_room(&c->args_index, c->work)) return c->b.failed = true, 0;
    uint64_t h = hash_bytes(args.bytes.p, args.bytes.n, c->args_index.seed);
    uint32_t i = hash_first(&c->args_index, h);
    for (uint32_t at; hash_next(&c->args_index, &i, h, &at); i++) {
        uint32_t attr = c->args.v[at];
        if (!str_eq(any_str(&c->b.m.dict.attributes.v[attr].value), args.bytes)) continue;
        t->n_args_lost--;
        return attr;
    }
    if (c->args.n >= CHROME_MAX_ARGS || !is_json(t, args)) return 0;
    uint32_t *slot = vec_push(c->work, &c->args);
    if (!slot) return c->b.failed = true, 0;
    *slot = builder_attribute_str(&c->b, STR(KILN_ATTR_EVENT_ARGS), args.bytes);
    hash_put(&c->args_index, i, h, (uint32_t)(c->args.n - 1));
    t->n_args_lost--;
    return *slot;
}

/* ---- event phases ---- */

static bool interval(trace *t, const chrome_fields *f, chrome_kind kind, bool async, json *j)
{
    chrome *c = &t->c;
    if (!f->has_ts) return json_fail(j, "an event of phase %c has no ts", f->ph);
    uint32_t track = async ? chrome_async_track_of(c, f->pid, f->category, f->id)
                           : chrome_track_of(c, f->pid, f->tid);
    if (track == UINT32_MAX) return err_memory(c->e);
    chrome_event v = {.ts = f->ts, .dur = f->dur < 0 ? f->thread_dur : f->dur, .kind = kind};
    if (kind != CHROME_END) {
        v.loc = chrome_location(c, f->name, f->category);
        v.attr = args_attr(t, f->args);
    } else if (f->args.bytes.n > 2) {
        t->n_args_lost++;
    }
    return chrome_add(c, track, &v);
}

/* Reads args.name of a metadata event. */
static bool metadata_name(trace *t, const chrome_fields *f, str *out)
{
    json j = json_open_slice(f->args, t->c.work, t->c.e);
    if (!f->args.bytes.n || json_next(&j) != JSON_OBJECT) return true;
    while (json_key(&j)) {
        bool is_name = json_is(&j, "name");
        if (!(is_name ? json_take_text(&j, t->c.work, out) : json_skip_value(&j))) return false;
    }
    return !j.bad;
}

static bool metadata(trace *t, const chrome_fields *f)
{
    chrome *c = &t->c;
    str name = {0};
    bool process = str_eq(f->name, STR("process_name")),
         thread = str_eq(f->name, STR("thread_name"));
    if (!process && !thread) return t->n_metadata++, true;
    if (!metadata_name(t, f, &name)) return false;
    uint32_t at = process ? chrome_process_of(c, f->pid) : chrome_track_of(c, f->pid, f->tid);
    if (at == UINT32_MAX) return err_memory(c->e);
    *(process ? &c->processes.v[at].name : &c->tracks.v[at].name) = name;
    return true;
}

static bool is_cpu_profile(const chrome_fields *f, bool *opens)
{
    *opens = str_eq(f->name, STR("Profile")) || str_eq(f->name, STR("CpuProfile"));
    return *opens || str_eq(f->name, STR("ProfileChunk"));
}

static bool other(trace *t, const chrome_fields *f)
{
    bool opens;
    if ((f->ph == 'P' || f->ph == 'I') && is_cpu_profile(f, &opens))
        return chrome_read_cpu(&t->c, f->pid, f->tid, f->id, opens, f->args);
    if (!t->n_other++) t->first_other = f->ph;
    return true;
}

static bool any_interval(trace *t, const chrome_fields *f, json *j)
{
    switch (f->ph) {
    case 'B': return interval(t, f, CHROME_BEGIN, false, j);
    case 'E': return interval(t, f, CHROME_END, false, j);
    case 'X': return interval(t, f, CHROME_COMPLETE, false, j);
    case 'b': return interval(t, f, CHROME_BEGIN, true, j);
    case 'e': return interval(t, f, CHROME_END, true, j);
    default: return interval(t, f, CHROME_COMPLETE, true, j); /* n */
    }
}

static bool apply(trace *t, const chrome_fields *f, json *j)
{
    bool is_interval = f->ph == 'X' || f->ph == 'B' || f->ph == 'E' || f->ph == 'b' ||
                       f->ph == 'e' || f->ph == 'n';
    if (f->details && !t->c.again) {
        if (!t->n_details) t->first_detail = f->detail;
        t->n_details += f->details;
    }
    if (is_interval) return any_interval(t, f, j);
    if (t->c.again) return true;
    if (f->ph == 'M') return metadata(t, f);
    return f->ph ? other(t, f) : json_fail(j, "an event has no ph");
}

static bool ended_early(const json *j);

/* State of the tokenizer after the first token of an event. */
typedef struct event_start {
    const char *p;
    json_token tok;
    uint32_t depth;
    uint8_t expect;
    bool in_object;
} event_start;

/* Skips an invalid event whose brackets are balanced, from its start. Only that event is lost. */
static bool skip_event(trace *t, json *j, const event_start *s)
{
    err *e = t->c.e;
    if (e->code != ERR_MALFORMED || ended_early(j)) return false;
    err why = *e;
    *e = (err){0};
    j->p = s->p, j->tok = s->tok, j->depth = s->depth, j->expect = s->expect;
    j->in_object = s->in_object;
    j->bad = false;
    if (!json_skip_open(j)) return false;
    if (t->c.again) return true;
    char path[64];
    snprintf(path, sizeof path, "traceEvents[%" PRIu64 "]", t->n_events);
    ledger_add(t->c.l, STAGE_READ, LOSS_DAMAGED, NULL, path, str_of(why.msg));
    if (t->n_left_out++) return true;
    t->first_skipped = why;
    return err_in(&t->first_skipped, "%s", path), true;
}

static bool event(trace *t, json *j)
{
    chrome_fields f;
    event_start s = {j->p, j->tok, j->depth, j->expect, j->in_object};
    t->in_event = true;
    bool ok = (chrome_read_event(&t->c, j, &f) && apply(t, &f, j)) || skip_event(t, j, &s);
    t->in_event = !ok;
    return ok;
}

/* Reports progress inside the list of events. */
static void report_progress(trace *t, const char *at)
{
    t->reported = at;
    t->o->progress(t->o->ctx, (uint64_t)(at - t->begin), t->n_bytes);
}

static bool events(trace *t, json *j)
{
    for (; json_take_open(j, true) || json_element(j); t->n_events++) {
        if (!event(t, j)) return err_in(t->c.e, "traceEvents[%" PRIu64 "]", t->n_events);
        if (t->reported && j->p - t->reported >= PROGRESS_STEP) report_progress(t, j->p);
    }
    return !j->bad;
}

/* ---- the file ---- */

size_t chrome_epoch(chrome *c, uint32_t attrs[CHROME_EPOCH_ATTRS])
{
    attrs[0] = observe_epoch(&c->b, c->l);
    if (!c->date) return 1;
    attrs[1] = builder_attribute_int(&c->b, STR(KILN_ATTR_TIME_DATE), (int64_t)c->date);
    return 2;
}

/* DevTools stores the start of the recording: "startTime": "2023-06-04T05:13:20.473Z". */
static bool file_metadata(trace *t, json *j)
{
    if (json_next(j) != JSON_OBJECT) return json_skip_open(j);
    while (json_key(j)) {
        bool date = json_is(j, "startTime");
        uint64_t ns;
        if (json_next(j) == JSON_STRING && date && memchr(j->text.p, 'T', j->text.n) &&
            time_parse(j->text, &ns))
            t->c.date = ns;
        if (!json_skip_open(j)) return false;
    }
    return !j->bad;
}

static bool object(trace *t, json *j)
{
    while (json_key(j)) {
        bool ok;
        if (json_is(j, "traceEvents"))
            ok = json_expect_array(j) && events(t, j);
        else if (json_is(j, "samples") && !t->c.again)
            ok = chrome_read_samples(&t->c, j);
        else if (json_is(j, "stackFrames") && !t->c.again)
            ok = chrome_read_stack_frames(&t->c, j);
        else {
            t->n_metadata += !json_is(j, "displayTimeUnit") && !t->c.again;
            ok = json_is(j, "metadata") ? file_metadata(t, j) : json_skip_value(j);
        }
        if (!ok) return false;
    }
    return !j->bad;
}

/* Whether the tokenizer failed because the input ended; the failed token starts at j->p. */
static bool ended_early(const json *j)
{
    if (!j->bad || !j->e || j->e->code != ERR_MALFORMED) return false;
    size_t left = (size_t)(j->end - j->p);
    if (j->e->offset >= j->base + (uint64_t)(j->end - j->window)) return true;
    if (!left) return false;
    if (*j->p == '"') {
        for (const char *s = j->p + 1; s < j->end; s++) {
            if (*s == '\\')
                s++;
            else if (*s == '"' || (unsigned char)*s < ' ')
                return false;
        }
        return true;
    }
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (left < strlen(words[i]) && memcmp(j->p, words[i], left) == 0) return true;
    return false;
}

/* Reads the file. The list of events may end anywhere: Chrome writes its ] last, if at all. */
static bool read_text(trace *t, str bytes, err *e)
{
    err own = {0};
    t->c.e = &own;
    json j = json_open_text(bytes, t->c.work, &own);
    t->begin = bytes.p;
    t->n_bytes = bytes.n;
    t->reported = t->o->progress ? bytes.p : NULL;
    json_token first = json_next(&j);
    bool ok = first == JSON_ARRAY    ? events(t, &j)
              : first == JSON_OBJECT ? object(t, &j)
                                     : json_expected(&j, "an array or an object");
    ok = ok && json_finish(&j);
    t->c.e = e;
    if (ok && t->n_left_out && t->n_left_out == t->n_events)
        own = t->first_skipped, ok = false; /* no event is complete */
    if (ok) return true;
    bool list = first == JSON_ARRAY || first == JSON_OBJECT;
    if (list && ended_early(&j)) {
        t->cut = first == JSON_OBJECT || t->in_event;
        return true;
    }
    if (e && e->code == ERR_OK) *e = own;
    return false;
}

/* Reads the events of unsorted tracks; the first scan has handled all others. */
static bool read_again(trace *t, str bytes, err *e)
{
    if (!t->c.any_unsorted) return true;
    uint64_t args_lost = t->n_args_lost;
    t->c.again = true;
    t->n_events = 0;
    t->in_event = false;
    bool ok = read_text(t, bytes, e);
    t->n_args_lost = args_lost;
    return ok;
}

static void put_resource(chrome *c, const chrome_process *p)
{
    keyvalue v[2];
    resource r = {.attrs = {v, 0}};
    str name = p->name.n ? p->name : p->pid.text;
    if (!p->pid.text.n)
        v[r.attrs.n++] = (keyvalue){STR("process.pid"), 0, {.kind = ANY_INT, .i = p->pid.number}};
    if (name.n)
        v[r.attrs.n++] = (keyvalue){
            STR("process.title"), 0, {.kind = ANY_STRING, .n = (uint32_t)name.n, .s = name.p}};
    r.present = true;
    builder_resource(&c->b, &r);
    builder_scope(&c->b, NULL);
}

static bool has_data(const chrome *c, const chrome_process *p)
{
    if (p->first_type || p->first_cpu) return true;
    for (uint32_t at = p->first_track; at; at = c->tracks.v[at - 1].next)
        if (c->tracks.v[at - 1].n_pieces) return true;
    return false;
}

static bool put_all(chrome *c)
{
    if (!chrome_finish_tracks(c) || !chrome_resolve_samples(c)) return false;
    for (uint32_t i = 0; i < c->processes.n; i++) {
        if (!has_data(c, &c->processes.v[i])) continue;
        put_resource(c, &c->processes.v[i]);
        if (!chrome_put_intervals(c, i, false) || !chrome_put_cpus(c, i) ||
            !chrome_put_samples(c, i) || !chrome_put_intervals(c, i, true))
            return false;
    }
    return !c->b.failed || err_memory(c->e);
}

static void losses(const trace *t)
{
    const chrome *c = &t->c;
    ledger *l = c->l;
    str ph = {&t->first_other, t->n_other ? 1 : 0};
    ledger_add_n(l, STAGE_READ, LOSS_EVENT, NULL, t->n_other, "traceEvents[].ph", ph);
    ledger_add_n(l, STAGE_READ, LOSS_EVENT_DETAIL, NULL, t->n_args_lost, "traceEvents[].args",
                 (str){0});
    ledger_add_n(l, STAGE_READ, LOSS_EVENT_DETAIL, NULL, t->n_details, "traceEvents[]",
                 t->first_detail);
    ledger_add_n(l, STAGE_READ, LOSS_METADATA, NULL, t->n_metadata, "metadata", (str){0});
    ledger_add_n(l, STAGE_READ, LOSS_ROUNDED, NULL, c->rounded, "traceEvents[].ts",
                 STR("rounded to ns"));
    ledger_add_n(l, STAGE_READ, LOSS_STACK_DEPTH, NULL, c->tree.n_cut, "traceEvents", (str){0});
    ledger_add_n(l, STAGE_READ, LOSS_EVENT_ORDER, NULL, c->n_flat, "traceEvents",
                 STR("without length"));
    ledger_add_n(l, STAGE_READ, LOSS_NESTING, NULL, c->n_overlaps, "traceEvents", STR("overlap"));
    ledger_add_n(l, STAGE_READ, LOSS_NESTING, NULL, c->n_stray, "traceEvents", STR("E without B"));
    ledger_add_n(l, STAGE_READ, LOSS_NESTING, NULL, c->n_unclosed, "traceEvents",
                 STR("B without E"));
    ledger_add_n(l, STAGE_READ, LOSS_TIME, NULL, c->n_negative, "traceEvents[].ts",
                 STR("before 0"));
    if (t->cut)
        ledger_add(l, STAGE_READ, LOSS_TRUNCATED, NULL, "traceEvents", STR("the text ends early"));
    size_t n_args = c->args.n;
    ledger_add_n(l, STAGE_READ, LOSS_EVENT_DETAIL, KILN_ATTR_EVENT_ARGS, n_args,
                 "traceEvents[].args", (str){0});
}

bool chrome_read(const format *f, str bytes, const read_opts *o, arena *a, model *out,
                 layout_verdict *verdict, err *e)
{
    (void)f, (void)verdict;
    arena work = arena_beside(a);
    trace t = {.o = o, .c = {.work = &work, .l = o->ledger, .e = e}};
    bool ok =
        (builder_init(&t.c.b, a) && nest_tree_init(&t.c.tree, &t.c.b, &work)) || err_memory(t.c.e);
    ok = ok && read_text(&t, bytes, e) && read_again(&t, bytes, e) && put_all(&t.c);
    if (ok) losses(&t);
    ok = ok && builder_finish(&t.c.b, out, e);
    arena_free(&work);
    return ok;
}

/* ---- the format ---- */

static unsigned detect(str bytes)
{
    return json_kind_of(bytes) == JSON_KIND_CHROME ? JSON_KIND_SURE : 0;
}

const format format_chrome = {
    .name = "chrome",
    .what = "Chromium's trace event JSON",
    .suffixes = ".trace.json .chrome.json",
    .carries = CARRIES(STACKS) | CARRIES(TYPES) | CARRIES(TIMESTAMPS),
    .text = true,
    .detect = detect,
    .read = chrome_read,
    .write = chrome_write,
};
