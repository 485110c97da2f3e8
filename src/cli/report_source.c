/* Collects the source files of a profile for a report. */
#include "cli/report_source.h"

#include "base/utf8.h"
#include "cli/source.h"
#include "wire/json.h"
#include "base/ban.h"
#include <stdlib.h>

typedef struct named_file {
    uint32_t name;   /* string of the dictionary */
    uint64_t amount; /* of the samples with a line of it */
} named_file;

static int larger_first(const void *a, const void *b)
{
    const named_file *x = a, *y = b;
    if (x->amount != y->amount) return x->amount > y->amount ? -1 : 1;
    return (x->name > y->name) - (x->name < y->name);
}

/* Adds the absolute value of a sample to every file on its stack. */
static void add_sample(const model *m, const sample *s, uint64_t *amount)
{
    const dict *d = &m->dict;
    bool saturated = false;
    int64_t v = sample_total(s, &saturated);
    uint64_t size = v < 0 ? -(uint64_t)v : (uint64_t)v;
    if (s->stack >= dict_n_stacks(d)) return;
    span st = dict_stack(d, s->stack);
    for (uint32_t i = 0; i < st.n; i++) {
        span lines = d->locations.v[d->frames.v[st.at + i]].lines;
        for (uint32_t k = 0; k < lines.n; k++) {
            const line *l = &d->lines.v[lines.at + k];
            uint64_t *of = &amount[d->functions.v[l->function].filename];
            if (l->line && ckd_add(of, *of, size)) *of = UINT64_MAX;
        }
    }
}

static bool files_of(const model *m, arena *a, named_file **out, size_t *n, err *e)
{
    size_t n_strings = m->dict.strings.n;
    uint64_t *amount = arena_new(a, uint64_t, n_strings + 1);
    *out = arena_new(a, named_file, n_strings + 1);
    *n = 0;
    if (!amount || !*out) return err_memory(e);
    for (size_t p = 0; p < m->profiles.n; p++)
        for (size_t i = 0; i < m->profiles.v[p].n_samples; i++) {
            sample s = sample_at(m, &m->profiles.v[p], i);
            add_sample(m, &s, amount);
        }
    for (uint32_t i = 1; i < n_strings; i++)
        if (amount[i]) (*out)[(*n)++] = (named_file){i, amount[i]};
    qsort(*out, *n, sizeof **out, larger_first);
    return true;
}

/* Whether a path stays below the directory that it is searched in. */
static bool is_inside(str path)
{
    for (size_t i = 0; i < path.n;) {
        const char *slash = memchr(path.p + i, '/', path.n - i);
        size_t end = slash ? (size_t)(slash - path.p) : path.n;
        if (end - i == 2 && !memcmp(path.p + i, "..", 2)) return false;
        i = end + 1;
    }
    return true;
}

/* Returns why a file is not included, or NULL after appending it. */
static const char *put_file(json_out *o, str name, const char *dirs, const char *trim, size_t *used)
{
    source_text s;
    const char *why = NULL;
    if (!is_inside(name)) return "its path leaves the directory";
    if (!source_find_below(name, dirs, trim, &s)) return "not found";
    str text = s.file.bytes;
    if (text.n > REPORT_SOURCE_FILE_MAX)
        why = "larger than 1 MiB";
    else if (memchr(text.p, '\0', text.n) || utf8_valid(text.p, text.n) < text.n)
        why = "not text in UTF-8";
    else if (text.n > REPORT_SOURCE_MAX - *used)
        why = "the limit of 4 MiB is reached";
    if (!why) {
        *used += text.n;
        json_put_object(o);
        json_put_key(o, STR("name"));
        json_put_str(o, name);
        json_put_key(o, STR("text"));
        json_put_str(o, text);
        json_put_object_end(o);
    }
    source_text_close(&s);
    return why;
}

bool report_source(const model *m, const char *dirs, const char *trim, arena *a, buf *out, err *e)
{
    named_file *v;
    size_t n, n_missing = 0, used = 0;
    if (!files_of(m, a, &v, &n, e)) return false;
    const char **why = arena_new(a, const char *, n + 1);
    if (!why) return err_memory(e);
    json_out o = {.b = out};
    json_put_object(&o);
    json_put_key(&o, STR("files"));
    json_put_array(&o);
    for (size_t i = 0; i < n; i++) {
        str name = dict_str(&m->dict, v[i].name);
        bool known = utf8_valid(name.p, name.n) == name.n;
        why[i] = known ? put_file(&o, name, dirs, trim, &used) : "its name is not UTF-8";
    }
    json_put_array_end(&o);
    json_put_key(&o, STR("missing"));
    json_put_array(&o);
    for (size_t i = 0; i < n && n_missing < REPORT_SOURCE_NAMED; i++) {
        str name = dict_str(&m->dict, v[i].name);
        if (!why[i] || utf8_valid(name.p, name.n) < name.n) continue;
        n_missing++;
        json_put_object(&o);
        json_put_key(&o, STR("name"));
        json_put_str(&o, name);
        json_put_key(&o, STR("why"));
        json_put_str(&o, str_of(why[i]));
        json_put_object_end(&o);
    }
    json_put_array_end(&o);
    json_put_object_end(&o);
    return !out->failed || err_memory(e);
}
