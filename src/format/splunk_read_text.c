/* Reads text bodies. Each is one sample; consecutive records with equal metadata become one
 * Profile. */
#include "format/splunk_read.h"

#include "wire/thread_state.h"
#include "base/ban.h"

static bool describes_measurement(str key)
{
    return str_starts(key, STR("profiling.")) || str_eq(key, STR(SPLUNK_EVENT_NAME));
}

static bool same_group(const splunk_group *a, const splunk_group *b)
{
    return a->text && b->text && a->allocation == b->allocation && a->dropped == b->dropped &&
           a->period_ms == b->period_ms && a->attrs.n == b->attrs.n &&
           !memcmp(a->attrs.v, b->attrs.v, a->attrs.n * sizeof *a->attrs.v);
}

/* Opens a group for this record unless it belongs to the open one. */
static bool text_group(splunk_reader *r, const splunk_record *rec)
{
    splunk_group g = {.text = true,
                      .allocation = splunk_record_is_allocation(rec),
                      .dropped = rec->dropped,
                      .n_types = 1};
    g.period_ms = splunk_period_ms(splunk_record_int(rec, STR(SPLUNK_PERIOD)));
    g.attrs = r->scratch;
    g.attrs.n = 0;
    splunk_list_begin(r);
    str body = r->native ? STR(SPLUNK_BODY_NATIVE) : STR(SPLUNK_BODY_TEXT);
    if (!splunk_list_str(r, &g.attrs, KILN_ATTR_SPLUNK_BODY, body)) return false;
    for (size_t i = 0; i < rec->attrs.n; i++) {
        const keyvalue *kv = &rec->attrs.v[i];
        if (!describes_measurement(kv->key)) continue;
        uint32_t attr = builder_attribute(&r->b, kv->key, &kv->value, (str){0});
        if (!splunk_list_add(r, &g.attrs, attr)) return false;
    }
    if (!splunk_record_fields(r, rec, &g.attrs)) return false;
    r->scratch = g.attrs;
    if (r->open && same_group(&r->g, &g)) return true;
    if (!splunk_rows_flush(r)) return false;
    r->scratch = r->g.text ? r->g.attrs : (u32s){0};
    r->g = g;
    return r->open = true;
}

/* Creates an attribute with the original text of a frame if its canonical form differs. */
static bool frame_attr(splunk_reader *r, const splunk_frame *f, buf *text, uint32_t *attr)
{
    *attr = 0;
    buf_reset(text);
    if (r->native)
        splunk_symbol_put(&(splunk_symbol){.name = f->name, .file = f->file, .line = f->line},
                          text);
    else
        splunk_frame_put(f, &r->text, text);
    if (text->failed) return arena_spent(r->a, r->e);
    if (str_eq(buf_view(text), f->raw)) return true;
    if (f->line_end || f->column_end)
        splunk_read_lose(r, LOSS_SOURCE_LINE, KILN_ATTR_SPLUNK_FRAME, 1, f->raw);
    else
        splunk_read_lose(r, LOSS_NAME, KILN_ATTR_SPLUNK_FRAME, 1, f->raw);
    *attr = builder_attribute_str(&r->b, STR(KILN_ATTR_SPLUNK_FRAME), f->raw);
    return true;
}

/* Restores the native name from Splunk's form, in which a function of a system library has the
 * library in brackets as its file. */
static bool native_frame(splunk_reader *r, splunk_frame *f, buf *name)
{
    buf_reset(name);
    splunk_symbol_name(f, name);
    if (name->failed) return arena_spent(r->a, r->e);
    f->name = buf_view(name);
    if (f->file.n && f->file.p[0] == '[') f->file = STR("");
    return true;
}

static bool text_stack(splunk_reader *r, const splunk_stack *s, uint32_t *out)
{
    uint32_t at[SPLUNK_MAX_FRAMES];
    buf text = {0}, name = {0};
    bool ok = true;
    size_t n = s->frames.n;
    if (r->native && n == 1 && splunk_symbol_is_none(s->frames.v)) n = 0;
    for (size_t i = 0; ok && i < n; i++) {
        splunk_frame frame = s->frames.v[i], *f = &frame;
        if (r->native && !native_frame(r, f, &name)) {
            ok = false;
            break;
        }
        function fn = {.name = builder_string(&r->b, f->name),
                       .filename = builder_string(&r->b, f->file)};
        line where = {
            .line = f->line, .column = f->column, .function = builder_function(&r->b, &fn)};
        uint32_t attr;
        ok = frame_attr(r, f, &text, &attr);
        at[i] = builder_location(&r->b, 0, 0, &where, 1, &attr, attr != 0);
    }
    buf_free(&text);
    buf_free(&name);
    *out = builder_stack(&r->b, at, n);
    return ok && (!r->b.failed || arena_spent(r->a, r->e));
}

static bool thread_attrs(splunk_reader *r, const splunk_stack *s)
{
    const splunk_thread *t = &s->thread;
    u32s *to = &r->row_attrs;
    if (t->present) {
        splunk_read_lose(r, LOSS_METADATA, KILN_ATTR_SPLUNK_THREAD, 1, t->rest);
        str rest = t->rest.n ? t->rest : STR(" "); /* the line has only a name */
        if (!splunk_list_str(r, to, ATTR_THREAD_NAME, t->name) ||
            !splunk_list_int(r, to, ATTR_THREAD_ID, t->nid ? t->nid : t->tid) ||
            !splunk_list_str(r, to, KILN_ATTR_SPLUNK_THREAD, rest))
            return false;
    }
    str state = s->state.n ? s->state : t->status, prefix = STR(SPLUNK_NATIVE_STATE);
    if (!r->native || !str_starts(state, prefix))
        return splunk_list_str(r, to, ATTR_THREAD_STATE, state);
    str word = {state.p + prefix.n, state.n - prefix.n};
    return splunk_list_str(r, to, ATTR_THREAD_STATE, thread_state_word(word)) &&
           (!thread_state_has_detail(word) || splunk_list_str(r, to, KILN_ATTR_THREAD_STATE, word));
}

/* Returns whether an attribute becomes a field of the sample or the Profile, or belongs to the
 * format. */
static bool is_taken(str key)
{
    static const char *const taken[] = {SPLUNK_SOURCETYPE, SPLUNK_PERIOD, SPLUNK_ALLOCATED};
    for (size_t i = 0; i < ARRAY_LEN(taken); i++)
        if (str_eq(key, str_of(taken[i]))) return true;
    return describes_measurement(key);
}

static bool sample_attrs(splunk_reader *r, const splunk_record *rec, const splunk_stack *s)
{
    splunk_list_begin(r);
    if (!thread_attrs(r, s)) return false;
    for (size_t i = 0; i < rec->attrs.n; i++) {
        const keyvalue *kv = &rec->attrs.v[i];
        if (is_taken(kv->key)) continue;
        bool cut =
            str_eq(kv->key, STR(SPLUNK_TRUNCATED)) && kv->value.kind == ANY_BOOL && kv->value.i;
        str key = cut ? STR(KILN_ATTR_STACK_TRUNCATED) : kv->key;
        if (!splunk_list_any(r, &r->row_attrs, key, &kv->value)) return false;
    }
    if (rec->time)
        return splunk_list_int(r, &r->row_attrs, KILN_ATTR_SPLUNK_OBSERVED, rec->observed);
    if (rec->observed)
        splunk_read_lose(r, LOSS_TIME, NULL, 1, STR("observed_time_unix_nano is used as the time"));
    return true;
}

static int64_t allocated(const splunk_record *rec)
{
    static const char *const keys[] = {SPLUNK_ALLOCATED, "allocationSize", "tlabSize"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (splunk_attr(&rec->attrs, str_of(keys[i])))
            return splunk_record_int(rec, str_of(keys[i]));
    return 0;
}

bool splunk_read_text(splunk_reader *r, const splunk_record *rec, arena *scratch)
{
    splunk_stack s;
    splunk_row w = {.time = rec->time ? rec->time : rec->observed,
                    .link = splunk_record_link(r, rec)};
    if (!splunk_text_parse(any_str(&rec->body), &r->text, scratch, &s))
        return arena_spent(r->a, r->e);
    r->native = s.frames.n &&
                (r->from_kiln || (!r->managed && str_starts(s.state, STR(SPLUNK_NATIVE_STATE))));
    splunk_read_lose(r, LOSS_TEXT_LINE, NULL, s.skipped, s.skipped_first);
    splunk_read_lose(r, LOSS_STACK_DEPTH, NULL, s.cut, (str){0});
    if (!text_group(r, rec) || !text_stack(r, &s, &w.stack)) return false;
    size_t at = r->row_attrs.n;
    if (!sample_attrs(r, rec, &s)) return false;
    if (r->row_attrs.n > UINT32_MAX) return arena_spent(r->a, r->e);
    w.attrs = (span){(uint32_t)at, (uint32_t)(r->row_attrs.n - at)};
    w.period_ms = r->g.period_ms;
    return splunk_rows_add(r, &w, r->g.allocation ? allocated(rec) : 1);
}
