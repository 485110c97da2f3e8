/* Finds the parts of a Firefox profile: processes, threads, and their tables as slices. Tables are
 * read later, thread by thread (gecko.c). */
#include "format/gecko.h"

#include "base/ban.h"

static bool keep_text(json *j, gecko_walk *w, str *out)
{
    json_next(j);
    if (j->tok != JSON_STRING && j->tok != JSON_NUMBER) return json_skip_open(j);
    return json_copy_text(j, w->r.work, out);
}

static bool sample_units(json *j, gecko_process *p)
{
    if (json_next(j) != JSON_OBJECT) return json_skip_open(j);
    while (json_key(j)) {
        bool cpu = json_is(j, "threadCPUDelta");
        json_next(j);
        if (cpu && j->tok == JSON_STRING)
            p->cpu_unit = str_eq(j->text, STR("ns"))                      ? 'n'
                          : str_ends(j->text, STR("s")) && j->text.n <= 3 ? 'u'
                                                                          : 'c';
        if (!json_skip_open(j)) return false;
    }
    return !j->bad;
}

static bool millis(json *j, gecko_walk *w, int64_t *v, bool *has)
{
    if (json_next(j) != JSON_NUMBER) return json_skip_open(j);
    *has = true;
    return json_to_scaled(j, 6, v, &w->r.rounded);
}

static bool platform(json *j, gecko_process *p)
{
    if (json_next(j) == JSON_STRING)
        p->is_linux |=
            str_eq(j->text, STR("X11")) || memmem(j->text.p, j->text.n, "Linux", 5) != NULL;
    return json_skip_open(j);
}

static bool meta(json *j, gecko_walk *w, size_t at)
{
    if (!json_expect_object(j)) return false;
    while (json_key(j)) {
        gecko_process *p = &w->processes.v[at];
        bool ok, ignored;
        if (json_is(j, "startTime"))
            ok = millis(j, w, &p->start, &p->has_start);
        else if (json_is(j, "interval"))
            ok = millis(j, w, &p->interval, &ignored);
        else if (json_is(j, "sampleUnits"))
            ok = sample_units(j, p);
        else if (json_is(j, "platform") || json_is(j, "oscpu") || json_is(j, "product"))
            ok = platform(j, p);
        else {
            w->n_metadata += !json_is(j, "version") && !json_is(j, "preprocessedProfileVersion");
            ok = json_skip_value(j);
        }
        if (!ok) return err_in(w->e, "meta");
    }
    return !j->bad;
}

static bool slices_field(json *j, gecko_slices *s, bool *known)
{
    *known = true;
    if (json_is(j, "stackTable")) return json_take_slice(j, &s->stacks);
    if (json_is(j, "frameTable")) return json_take_slice(j, &s->frames);
    if (json_is(j, "funcTable")) return json_take_slice(j, &s->funcs);
    if (json_is(j, "resourceTable")) return json_take_slice(j, &s->resources);
    if (json_is(j, "nativeSymbols")) return json_take_slice(j, &s->symbols);
    if (json_is(j, "sources")) return json_take_slice(j, &s->sources);
    if (json_is(j, "stringArray") || json_is(j, "stringTable"))
        return json_take_slice(j, &s->strings);
    *known = false;
    return true;
}

static bool shared_tables(json *j, gecko_slices *s)
{
    if (!json_expect_object(j)) return false;
    while (json_key(j)) {
        bool known;
        if (!slices_field(j, s, &known) || (!known && !json_skip_value(j))) return false;
    }
    return !j->bad;
}

/* Counts the rows of a table that is otherwise ignored (markers). */
static bool count_rows(json *j, uint64_t *n)
{
    if (json_next(j) != JSON_OBJECT) return json_skip_open(j);
    while (json_key(j)) {
        bool data = json_is(j, "data");
        if (json_next(j) == JSON_ARRAY && data) {
            while (json_element(j)) {
                ++*n;
                if (!json_skip_open(j)) return false;
            }
        } else if (!json_skip_open(j)) {
            return false;
        }
    }
    return !j->bad;
}

static bool thread_field(json *j, gecko_walk *w, gecko_thread *t)
{
    bool known;
    if (!slices_field(j, &t->own, &known)) return false;
    if (known) return true;
    if (json_is(j, "samples")) return json_take_slice(j, &t->samples);
    if (json_is(j, "name")) return keep_text(j, w, &t->name);
    if (json_is(j, "pid")) return keep_text(j, w, &t->pid);
    if (json_is(j, "processName")) return keep_text(j, w, &t->process_name);
    if (json_is(j, "markers")) return count_rows(j, &w->n_markers);
    if (json_is(j, "tid")) {
        json_next(j);
        if (j->tok != JSON_NUMBER && j->tok != JSON_STRING) return json_skip_open(j);
        err ignored = {0};
        json try = *j;
        try.e = &ignored;
        t->has_tid = json_to_i64(&try, INT64_MIN, INT64_MAX, &t->tid);
        return true;
    }
    w->n_details += json_is(j, "jsAllocations") || json_is(j, "nativeAllocations");
    return json_skip_value(j);
}

static bool process(json *j, gecko_walk *w, unsigned depth);

/* Reads a document that version 3 may have as a string among the threads. */
static bool thread_text(json *j, gecko_walk *w, unsigned depth)
{
    json_slice text = {.at = j->at};
    if (!json_copy_text(j, w->r.work, &text.bytes)) return false;
    json inner = json_open_slice(text, w->r.work, w->e);
    json_next(&inner);
    return process(&inner, w, depth + 1) && json_finish(&inner);
}

static bool thread_list(json *j, gecko_walk *w, size_t at, unsigned depth)
{
    if (!json_expect_array(j)) return false;
    for (size_t i = 0; json_element(j); i++) {
        if (j->tok == JSON_STRING) {
            if (!thread_text(j, w, depth)) return err_in(w->e, "threads[%zu]", i);
            continue;
        }
        gecko_thread t = {.process = at};
        bool ok = j->tok == JSON_OBJECT || json_expected(j, "a thread");
        while (ok && json_key(j)) ok = thread_field(j, w, &t);
        if (!ok || j->bad) return err_in(w->e, "threads[%zu]", i);
        gecko_thread *slot = vec_push(w->r.work, &w->threads);
        if (!slot) return err_memory(w->e);
        *slot = t;
    }
    return !j->bad;
}

static bool process_list(json *j, gecko_walk *w, unsigned depth)
{
    if (!json_expect_array(j)) return false;
    for (size_t i = 0; json_element(j); i++)
        if (!process(j, w, depth + 1)) return err_in(w->e, "processes[%zu]", i);
    return !j->bad;
}

static bool process_field(json *j, gecko_walk *w, size_t at, unsigned depth)
{
    gecko_process *p = &w->processes.v[at];
    if (json_is(j, "meta")) return meta(j, w, at);
    if (json_is(j, "libs")) return json_take_slice(j, &p->libs_text);
    if (json_is(j, "shared")) return shared_tables(j, &p->shared);
    if (json_is(j, "sources")) return json_take_slice(j, &p->shared.sources);
    if (json_is(j, "threads")) return thread_list(j, w, at, depth);
    if (json_is(j, "processes")) return process_list(j, w, depth);
    if (json_is(j, "profile") && depth == 0) { /* a wrapper of the old developer tools */
        json_next(j);
        return process(j, w, depth + 1);
    }
    w->n_metadata++;
    return json_skip_value(j);
}

/* Reads a process whose first token has been read. */
static bool process(json *j, gecko_walk *w, unsigned depth)
{
    if (j->tok != JSON_OBJECT) return json_expected(j, "an object");
    if (depth > GECKO_MAX_PROCESS_DEPTH)
        return json_fail(j, "processes nest deeper than %d levels", GECKO_MAX_PROCESS_DEPTH);
    if (!vec_push(w->r.work, &w->processes)) return err_memory(w->e);
    size_t at = w->processes.n - 1;
    while (json_key(j))
        if (!process_field(j, w, at, depth)) return false;
    return !j->bad;
}

bool gecko_read_document(gecko_walk *w, str bytes)
{
    json j = json_open_text(bytes, w->r.work, w->e);
    json_next(&j);
    return process(&j, w, 0) && json_finish(&j);
}
