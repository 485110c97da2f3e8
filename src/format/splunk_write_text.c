/* Writes records whose body is text: one for every observation. */
#include "format/splunk_write.h"

#include "wire/thread_state.h"
#include "base/ban.h"
#include <inttypes.h>

typedef struct stack_facts {
    const attribute *thread, *name, *id, *state, *detail; /* attributes of the sample */
} stack_facts;

static bool text_char(char c) { return (unsigned char)c >= 0x20 && c != 0x7f; }

/* Replaces bytes that a line cannot contain with `?`. */
static void put_clean(splunk_writer *w, str s, buf *out)
{
    bool changed = false;
    for (size_t i = 0; i < s.n; i++) {
        bool good = text_char(s.p[i]) || s.p[i] == '\t';
        buf_putc(out, good ? s.p[i] : '?');
        changed |= !good;
    }
    if (changed) splunk_write_lose(w, LOSS_NAME, 1, "function_table.name", s);
}

/* Writes the name of a thread. The format has no escapes, so in native programs, whose thread names
 * may contain anything, a double quote becomes a single one. */
static void put_thread_name(splunk_writer *w, str name, buf *out)
{
    if (!w->native) return buf_str(out, name);
    for (size_t i = 0; i < name.n; i++)
        buf_putc(out, name.p[i] == '"' ? '\'' : text_char(name.p[i]) ? name.p[i] : '?');
}

static str text_of(const attribute *a)
{
    return a && a->value.kind == ANY_STRING ? any_str(&a->value) : (str){0};
}

static void put_meta(splunk_writer *w, const stack_facts *f, buf *out)
{
    splunk_thread t = {0};
    str state = text_of(f->state);
    if (w->native) state = thread_state_ours(state, text_of(f->detail));
    if (f->thread || f->name || f->id) {
        buf_putc(out, '"');
        if (f->name && f->name->value.kind == ANY_STRING)
            put_thread_name(w, any_str(&f->name->value), out);
        buf_putc(out, '"');
        if (f->thread && f->thread->value.kind == ANY_STRING) {
            splunk_thread_parse(any_str(&f->thread->value), &t);
            if (t.rest.n) buf_putc(out, ' '), buf_str(out, t.rest);
        } else {
            int64_t id = f->id && f->id->value.kind == ANY_INT ? f->id->value.i : 0;
            buf_printf(out, " #0 prio=0 os_prio=0 cpu=0 elapsed=0 tid=0x0 nid=0x%" PRIx64,
                       (uint64_t)id);
        }
    }
    buf_putc(out, '\n');
    if (state.n && !str_eq(state, t.status)) {
        buf_z(out, w->native ? "   " SPLUNK_NATIVE_STATE : "   ");
        put_clean(w, state, out);
    }
    buf_putc(out, '\n');
}

static const attribute *location_attr(const splunk_writer *w, const location *l, const char *key)
{
    const uint32_t *v = refs_at(&w->d->attr_refs, l->attrs);
    for (uint32_t i = 0; i < l->attrs.n; i++)
        if (str_eq(dict_str(w->d, w->d->attributes.v[v[i]].key), str_of(key)))
            return &w->d->attributes.v[v[i]];
    return NULL;
}

static void put_symbol(splunk_writer *w, const location *at, const line *l, const splunk_frame *f,
                       buf *out)
{
    const mapping *m = &w->d->mappings.v[at->mapping];
    splunk_symbol s = {.name = f->name,
                       .file = f->file,
                       .line = l->line,
                       .module = dict_str(w->d, m->filename),
                       .offset = at->address - m->memory_start + m->file_offset};
    splunk_symbol_put(&s, out);
}

static bool reads_as(const splunk_writer *w, const splunk_frame *f, str name)
{
    if (!w->native) return str_eq(f->name, name);
    buf b = {0};
    splunk_symbol_name(f, &b);
    bool same = !b.failed && str_eq(buf_view(&b), name);
    buf_free(&b);
    return same;
}

/* Writes one frame, and records it in the ledger if a reader would restore it differently. */
static void put_frame(splunk_writer *w, const location *at_location, const line *l,
                      const splunk_text_opts *o, buf *out)
{
    const function *fn = &w->d->functions.v[l->function];
    splunk_frame f = {.name = dict_str(w->d, fn->name),
                      .file = dict_str(w->d, fn->filename),
                      .line = l->line,
                      .column = l->column},
                 back;
    buf text = {0};
    if (w->native)
        put_symbol(w, at_location, l, &f, &text);
    else
        splunk_frame_put(&f, o, &text);
    size_t at = out->n;
    put_clean(w, buf_view(&text), out);
    buf_free(&text);
    if (out->failed) return;
    bool same = splunk_frame_parse((str){out->p + at, out->n - at}, o, &back) &&
                reads_as(w, &back, f.name) && str_eq(back.file, f.file) && back.line == f.line &&
                back.column == f.column;
    if (!same) splunk_write_lose(w, LOSS_NAME, 1, "function_table.name", f.name);
    if (fn->system_name && fn->system_name != fn->name)
        splunk_write_lose(w, LOSS_SYSTEM_NAME, 1, "function_table.system_name",
                          dict_str(w->d, fn->system_name));
}

static void put_stack(splunk_writer *w, uint32_t stack, const splunk_text_opts *o, buf *out)
{
    span s = dict_stack(w->d, stack);
    for (uint32_t i = 0; i < s.n; i++) {
        const location *l = &w->d->locations.v[w->d->frames.v[s.at + i]];
        const attribute *raw = location_attr(w, l, KILN_ATTR_SPLUNK_FRAME);
        if (l->mapping || l->address)
            splunk_write_lose(w, LOSS_MAPPING, 1, "location_table", (str){0});
        if (l->attrs.n > (raw != NULL))
            splunk_write_lose(w, LOSS_ATTRIBUTE, 1, "location_table", (str){0});
        if (l->lines.n > 1) splunk_write_lose(w, LOSS_INLINED, 1, "location_table.lines", (str){0});
        line none = {0};
        for (uint32_t k = 0; k < (l->lines.n ? l->lines.n : 1); k++) {
            buf_z(out, "\tat ");
            if (raw && raw->value.kind == ANY_STRING && l->lines.n == 1)
                put_clean(w, any_str(&raw->value), out);
            else
                put_frame(w, l, l->lines.n ? &w->d->lines.v[l->lines.at + k] : &none, o, out);
            buf_putc(out, '\n');
        }
    }
    if (!s.n && w->native)
        buf_z(out, "\tat unknown.unknown(unknown:0)\n"); /* an empty stack needs one frame */
}

/* Writes the attributes of the sample: those of the thread into the text, the others to the
 * record. */
static bool sample_attrs(splunk_writer *w, const sample *s, stack_facts *f, splunk_record *r)
{
    *f = (stack_facts){0};
    for (uint32_t i = 0; i < s->n_attrs; i++) {
        const attribute *at = &w->d->attributes.v[s->attrs[i]];
        str key = dict_str(w->d, at->key);
        bool taken = true;
        if (str_eq(key, STR(ATTR_THREAD_NAME)))
            f->name = at;
        else if (str_eq(key, STR(ATTR_THREAD_ID)))
            f->id = at;
        else if (str_eq(key, STR(ATTR_THREAD_STATE)))
            f->state = at;
        else if (str_eq(key, STR(KILN_ATTR_THREAD_STATE)) && w->native &&
                 thread_state_has_detail(text_of(at)))
            f->detail = at;
        else if (str_eq(key, STR(KILN_ATTR_SPLUNK_THREAD)))
            f->thread = at;
        else if (str_eq(key, STR(KILN_ATTR_SPLUNK_OBSERVED)) && at->value.kind == ANY_INT)
            r->observed = (uint64_t)at->value.i;
        else
            taken = false;
        if (taken) continue;
        if (at->unit) splunk_write_lose(w, LOSS_ATTRIBUTE_UNIT, 1, "samples.attributes", key);
        if (str_eq(key, STR(KILN_ATTR_STACK_TRUNCATED))) key = STR(SPLUNK_TRUNCATED);
        if (!splunk_add_attr(w, key, at->value)) return false;
    }
    return true;
}

static bool text_values(splunk_writer *w, size_t i, uint32_t k)
{
    const profile *p = w->p;
    sample s = sample_at(w->m, p, i);
    int64_t ms = splunk_group_period_ms(w);
    if (w->shape == SPLUNK_SHAPE_CPU && w->n == 2) {
        sample wall = sample_at(w->m, &p[1], i);
        ms = wall.values[0] / NS_PER_MS;
    }
    keyvalues so_far = {w->attrs.v, w->attrs.n};
    if (ms && !splunk_attr(&so_far, STR(SPLUNK_PERIOD)) &&
        !splunk_add_attr(w, STR(SPLUNK_PERIOD), any_of_int(ms)))
        return false;
    if (w->shape != SPLUNK_SHAPE_ALLOCATION) return true;
    if (splunk_attr(&so_far, STR("allocationSize")) || splunk_attr(&so_far, STR("tlabSize")))
        return true;
    return splunk_add_attr(w, STR(SPLUNK_ALLOCATED), any_of_int(s.values[k]));
}

static void set_ids(const splunk_writer *w, const sample *s, splunk_record *r)
{
    const link_ids *l = &w->d->links.v[s->link];
    if (!s->link) return;
    if (!id_is_zero(l->trace_id, 16)) r->trace_id = (str){(const char *)l->trace_id, 16};
    if (!id_is_zero(l->span_id, 8)) r->span_id = (str){(const char *)l->span_id, 8};
}

static bool text_record(splunk_writer *w, size_t i, uint32_t k, const splunk_text_opts *o,
                        size_t common, buf *body, buf *out)
{
    sample s = sample_at(w->m, w->p, i);
    splunk_record r = {.time = s.n_times ? s.times[k] : 0};
    stack_facts f;
    w->attrs.n = common;
    splunk_set_fields(w, &r);
    if (!sample_attrs(w, &s, &f, &r) || !text_values(w, i, k)) return false;
    set_ids(w, &s, &r);
    buf_reset(body);
    put_meta(w, &f, body);
    put_stack(w, s.stack, o, body);
    if (body->failed) return err_memory(w->e);
    r.body = any_of_str(buf_view(body));
    r.attrs = (keyvalues){w->attrs.v, w->attrs.n};
    splunk_record_put(out, 2, &r);
    return true;
}

bool splunk_write_text(splunk_writer *w, buf *out)
{
    buf body = {0};
    splunk_text_opts o = {.dotnet = w->dotnet,
                          .columns = w->node || splunk_profile_attr(w, w->p, SPLUNK_DATA_FORMAT)};
    bool ok = splunk_add_str(w, SPLUNK_SOURCETYPE, STR(SPLUNK_SCOPE)) &&
              splunk_add_profile_attrs(w, true);
    size_t common = w->attrs.n;
    if (!id_is_zero(w->p->profile_id, 16))
        splunk_write_lose(w, LOSS_PROFILE_ID, 1, "profiles", (str){0});
    if (!splunk_window_is_derived(w)) splunk_write_lose(w, LOSS_TIME, 1, "profiles", (str){0});
    for (size_t i = 0; ok && i < w->p->n_samples; i++) {
        sample s = sample_at(w->m, w->p, i);
        for (uint32_t k = 0, n = s.n_times ? s.n_times : 1; ok && k < n; k++)
            ok = text_record(w, i, k, &o, common, &body, out);
    }
    buf_free(&body);
    return ok;
}
