/* The table of formats, detection by bytes and name, and the reader of whole inputs, which unpacks
 * an input, splits it into payloads, reads each one and merges the models. */
#include "format/format.h"

#include "format/foreign.h"
#include "model/merge.h"
#include "base/ban.h"
#include <inttypes.h>

enum { FORMAT_SURE = 90 }; /* from this score on the format is certain */

static const format *const all[] = {
    &format_otlp,         &format_otlp_1_9, &format_chrome,    &format_speedscope,
    &format_otlp_json,    &format_jfr,      &format_pprof,     &format_perf_data,
    &format_perf_script,  &format_folded,   &format_collapsed, &format_cpuprofile,
    &format_heapprofile,  &format_gecko,    &format_arrays,    &format_normalized,
    &format_denormalized, &format_otep239,  &format_events,    &format_events_text,
    &format_splunk_logs,  &format_html,     &format_html_base, &format_original,
};

static const struct {
    const char *name, *what;
} features[] = {
#define X(id, name, what) {name, what},
    FORMAT_FEATURES(X)
#undef X
};

uint32_t format_carries(const format *f) { return f->carries ? f->carries | CARRIES(STACKS) : 0; }

const char *format_feature_name(format_feature f) { return features[f].name; }
const char *format_feature_what(format_feature f) { return features[f].what; }

const format *const *formats(size_t *n)
{
    *n = ARRAY_LEN(all);
    return all;
}

const format *format_named(str name)
{
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (str_eq(str_of(all[i]->name), name)) return all[i];
    return NULL;
}

const format *format_detect(str bytes)
{
    const format *best = NULL;
    unsigned most = 0;
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (!all[i]->detect || (all[i]->most && all[i]->most <= most)) continue;
        unsigned score = all[i]->detect(bytes);
        if (score > most) most = score, best = all[i];
    }
    /* Text readers accept many inputs, so an uncertain match yields to a known foreign file. */
    return best && most < FORMAT_SURE && foreign_find(bytes) ? NULL : best;
}

/* From this score on (a magic number, text of exactly one writer) file names have no influence. */
enum { NAME_CANNOT_WIN = 95 };

/* Returns the length of the format's longest suffix that `path` ends in; 0: none. */
static size_t suffix_of(const format *f, str path)
{
    size_t most = 0;
    for (const char *p = f->suffixes; p && *p;) {
        size_t n = strcspn(p, " ");
        if (n > most && str_ends(path, (str){p, n})) most = n;
        p += n + (p[n] == ' ');
    }
    return most;
}

/* Finds a format by suffix. The longest wins: .trace.json is more specific than .json. */
static const format *writer_for(str path)
{
    const format *best = NULL;
    size_t most = 0;
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        size_t n = all[i]->write ? suffix_of(all[i], path) : 0;
        if (n > most) most = n, best = all[i];
    }
    return best;
}

const format *format_for_path(str path)
{
    const format *f = writer_for(path); /* before .gz is removed: .pb.gz is a suffix of pprof */
    if (f) return f;
    if (str_ends(path, STR(".gz")))
        path.n -= 3;
    else if (str_ends(path, STR(".zst")))
        path.n -= 4;
    else if (str_ends(path, STR(".zstd")))
        path.n -= 5;
    return writer_for(path);
}

const format *format_detect_named(str bytes, str name)
{
    const format *best = format_detect(bytes), *named = name.n ? format_for_path(name) : NULL;
    if (!named || named == best || !named->may_be || !bytes.n) return best;
    if (best && best->detect(bytes) >= NAME_CANNOT_WIN) return best;
    return named->may_be(named, bytes) ? named : best;
}

/* Detects the format of a payload from its bytes, also inside frames and among JSON lines. An
 * unknown payload is read as OTLP, whose reader reports the first error and its offset. */
static const format *payload_format(const payload *p)
{
    const format *f = format_detect(p->bytes);
    if (f) return f;
    return p->kind == PAYLOAD_JSON ? &format_otlp_json : &format_otlp;
}

layout format_force(const read_opts *o, payload *p)
{
    if (o->from) p->kind = o->from == &format_otlp_json ? PAYLOAD_JSON : PAYLOAD_PROTOBUF;
    if (o->layout != LAYOUT_UNKNOWN || !o->from) return o->layout;
    return o->from->layout;
}

/* Bytes of another format may parse as a message that has only unknown fields. Without samples this
 * is an error, unless the caller named the format or the layout. */
static bool check_fields(const part *p, const read_opts *o, err *e)
{
    const model *m = &p->model;
    if (o->lenient || o->from || o->layout || !m->n_unknown) return true;
    for (size_t i = 0; i < m->profiles.n; i++)
        if (m->profiles.v[i].n_samples) return true;
    return err_set(e, ERR_MALFORMED,
                   "no samples, and %" PRIu64
                   " field%s unknown to %s%s%s: the input has another format or is newer",
                   m->n_unknown, m->n_unknown == 1 ? "" : "s", p->format->name,
                   p->verdict.layout ? " " : "",
                   p->verdict.layout ? layout_name(p->verdict.layout) : "");
}

static bool keeps_original(const format *f, const read_opts *o)
{
    unsigned needed = f->original == ORIGINAL_ADVISED_AGAINST ? 2 : 1;
    return f->original != ORIGINAL_IS_PROFILE && o->keep_original >= needed;
}

/* Whether the input already contains an original file, which then stays. */
static bool has_original(const model *m)
{
    for (size_t i = 0; i < m->profiles.n; i++)
        if (m->profiles.v[i].original_payload.n) return true;
    return false;
}

/* Stores the file in the first profile only, because a copy in each would multiply the size. */
static bool put_original(part *p)
{
    if (!p->model.profiles.n || has_original(&p->model)) return false;
    profile *x = &p->model.profiles.v[0];
    x->original_payload_format =
        str_of(p->format->original_name ? p->format->original_name : p->format->name);
    x->original_payload = p->payload.bytes;
    return true;
}

/* Reads one payload. If the original is stored too, losses are recorded as carried by it. */
static bool read_payload(const read_opts *o, arena *a, part *out, err *e)
{
    const format *f = out->format;
    if (!keeps_original(f, o) || !o->ledger) {
        if (!f->read(f, out->payload.bytes, o, a, &out->model, &out->verdict, e)) return false;
        if (keeps_original(f, o)) put_original(out);
        return true;
    }
    ledger *own = arena_new(a, ledger, 1);
    if (!own) return arena_spent(a, e);
    read_opts with_ledger = *o;
    with_ledger.ledger = own;
    bool ok = f->read(f, out->payload.bytes, &with_ledger, a, &out->model, &out->verdict, e);
    if (ok && put_original(out))
        ledger_merge_carried(o->ledger, own, "original_payload");
    else
        ledger_merge(o->ledger, own);
    return ok;
}

/* Reads one payload; `f` NULL: detects its format. */
static bool read_part(const format *f, const payload *p, bool several, const read_opts *o, arena *a,
                      part *out, err *e)
{
    if (!f) f = payload_format(p);
    *out = (part){.format = f, .payload = *p};
    if (!f->read) return err_set(e, ERR_UNSUPPORTED, "the format %s cannot be read", f->name);
    if (read_payload(o, a, out, e) && check_fields(out, o, e)) return true;
    if (e && e->offset != NO_OFFSET && !p->packed) e->offset += p->offset;
    return several ? err_in(e, "payload[%" PRIu64 "]", p->index) : false;
}

/* Destination of the payloads: the document, or a callback that gets them one by one. */
typedef struct destination {
    document *out;
    arena *a;    /* memory of the document */
    arena *part; /* memory of a payload: `a`, or an arena that lives as long as the payload */
    format_each *each;
    void *ctx;
} destination;

static bool take_part(destination *t, const format *f, const payload *p, bool several,
                      const read_opts *o, err *e)
{
    document *d = t->out;
    part *one = t->each && d->parts.n ? &d->parts.v[0] : vec_push(t->a, &d->parts);
    if (!one) return arena_spent(t->a, e);
    if (!read_part(f, p, several, o, t->part, one, e)) return false;
    if (!d->format) d->format = one->format;
    if (!t->each) return true;
    return anchor_times(&one->model, &o->anchor, o->ledger, t->part, &d->anchored, e) &&
           t->each(t->ctx, one, e);
}

enum { ZEROS_ARE_LOSS = 64 }; /* more zero bytes than this after the last payload are not padding */

/* Records that the input ends in a damaged payload after complete ones. */
static void record_truncation(const frames *f, size_t n, ledger *l)
{
    char path[64], value[64];
    if (f->cut) {
        snprintf(path, sizeof path, "payload[%" PRIu64 "] at byte %" PRIu64, f->index, f->cut_at);
        snprintf(value, sizeof value, "%" PRIu64 " of its bytes are left", n - f->cut_at);
        ledger_add(l, STAGE_READ, LOSS_TRUNCATED, NULL, path, str_of(value));
    }
    if (f->zeros < ZEROS_ARE_LOSS) return;
    snprintf(path, sizeof path, "after payload[%" PRIu64 "]", f->index - 1);
    snprintf(value, sizeof value, "%" PRIu64 " zero bytes", f->zeros);
    ledger_add(l, STAGE_READ, LOSS_TRUNCATED, NULL, path, str_of(value));
}

/* Reads all payloads. `whole`: the format of the input if it is not split. */
static bool read_payloads(const format *whole, const read_opts *o, destination *t, err *e)
{
    frames f = frames_of(t->out->bytes, o->max_payload, t->part);
    f.salvage = true;
    payload p;
    while (frames_next(&f, &p, e)) {
        if (p.cut && p.index) { /* the last JSON line is incomplete */
            f.cut = true, f.cut_at = p.offset;
            break;
        }
        bool several = f.framing == FRAMING_LENGTHS || p.index || frames_more(&f);
        bool bare = f.framing == FRAMING_NONE;
        if (!take_part(t, bare ? whole : o->from, &p, several, o, e)) return false;
        if (t->each) arena_free(t->part);
    }
    t->out->framing = f.framing;
    record_truncation(&f, t->out->bytes.n, o->ledger);
    return frames_ok(&f);
}

/* Whether the input is split into payloads. Any protobuf format may come in the Collector's frames;
 * --from then names the format of their contents. */
static bool comes_in_payloads(const format *f, str bytes)
{
    if (f->payloads || f->text) return f->payloads;
    return framing_detect(bytes, true) == FRAMING_LENGTHS && !(f->detect && f->detect(bytes));
}

static bool join(document *d, arena *a, ledger *l, err *e)
{
    if (d->parts.n == 1) {
        d->model = d->parts.v[0].model;
        return true;
    }
    const model **in = arena_new(a, const model *, d->parts.n);
    if (!in) return arena_spent(a, e);
    for (size_t i = 0; i < d->parts.n; i++) in[i] = &d->parts.v[i].model;
    return model_merge(in, d->parts.n, &(merge_opts){.ledger = l}, a, &d->model, e);
}

bool document_anchor(document *d, const time_anchor *t, ledger *l, arena *a, err *e)
{
    return anchor_times(&d->model, t, l, a, &d->anchored, e);
}

/* Rejects an empty input, or one of zeros, which a file system leaves if power fails before it
 * writes the data. */
static bool check_contents(str in, err *e)
{
    if (!in.n) return err_set(e, ERR_MALFORMED, "the input is empty");
    if (in.p[0] || memcmp(in.p, in.p + 1, in.n - 1) != 0) return true;
    return err_set(
        e, ERR_MALFORMED,
        "the input has only zero bytes (%zu): file systems leave such files after a crash", in.n);
}

bool format_unpack(str in, size_t max_bytes, arena *a, unpacked *out, err *e)
{
    return check_contents(in, e) && unpack(in, max_bytes, a, out, e) &&
           (!out->n_layers || check_contents(out->bytes, e));
}

static bool read_all(str in, const read_opts *o, destination *t, err *e)
{
    document *out = t->out;
    *out = (document){0};
    unpacked u;
    if (!format_unpack(in, o->max_bytes, t->a, &u, e)) return false;
    out->bytes = u.bytes;
    out->n_layers = u.n_layers;
    memcpy(out->layers, u.layers, sizeof u.layers);
    const format *f = o->from ? o->from : format_detect_named(u.bytes, o->name);
    if (!f) return foreign_reject(u.bytes, e);
    bool ok = comes_in_payloads(f, u.bytes)
                  ? read_payloads(f, o, t, e)
                  : take_part(t, f, &(payload){.bytes = out->bytes}, false, o, e);
    if (!out->format) out->format = f;
    return ok;
}

static const read_opts defaults;

bool format_read(str in, const read_opts *o, arena *a, document *out, err *e)
{
    if (!o) o = &defaults;
    return read_all(in, o, &(destination){.out = out, .a = a, .part = a}, e) &&
           (o->lenient ||
            (join(out, a, o->ledger, e) && document_anchor(out, &o->anchor, o->ledger, a, e)));
}

bool format_read_each(str in, const read_opts *o, arena *a, document *out, format_each *each,
                      void *ctx, err *e)
{
    arena one = arena_beside(a);
    destination t = {.out = out, .a = a, .part = &one, .each = each, .ctx = ctx};
    bool ok = read_all(in, o ? o : &defaults, &t, e);
    arena_free(&one);
    return ok;
}

bool document_is(const document *d, const format *to)
{
    if (d->parts.n != 1 || d->anchored) return false;
    const part *p = &d->parts.v[0];
    if (!d->format->payloads)
        return d->format == to && (!to->is_current || to->is_current(p->payload.bytes));
    if (p->format == &format_otlp_json)
        return to == &format_otlp_json && p->verdict.layout >= LAYOUT_1_9;
    if (to == &format_otlp) return p->verdict.layout == LAYOUT_CURRENT;
    return to == &format_otlp_1_9 && p->verdict.layout == LAYOUT_1_9;
}

bool format_stream_open(format_stream *s, source *from, const read_opts *o, arena *a, err *e)
{
    *s = (format_stream){.a = a};
    if (o) s->o = *o;
    s->in = unpack_open(from, s->o.max_bytes, e);
    if (!s->in) return false;
    s->frames = frames_from(s->in, s->o.max_payload, a);
    return true;
}

bool format_stream_next(format_stream *s, part *out, err *e)
{
    arena_reset(s->a);
    payload p;
    if (!frames_next(&s->frames, &p, e)) return false;
    bool several = s->frames.framing != FRAMING_NONE;
    if (!several && !p.bytes.n) return err_set(e, ERR_MALFORMED, "the input is empty");
    bool bare = s->frames.framing != FRAMING_LENGTHS && p.index == 0;
    const format *f = s->o.from ? s->o.from : format_detect(p.bytes);
    if (bare && !f) return foreign_reject(p.bytes, e);
    bool moved;
    return read_part(f, &p, several, &s->o, s->a, out, e) &&
           anchor_times(&out->model, &s->o.anchor, s->o.ledger, s->a, &moved, e);
}

void format_stream_close(format_stream *s)
{
    frames_close(&s->frames);
    source_close(s->in);
    *s = (format_stream){0};
}
