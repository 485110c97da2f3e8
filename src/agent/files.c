/* Writes profiles to KILN_FILE.  A name without %n is one file that grows: the agent reads it,
 * merges it with the new profiles and replaces it, so that a reader never sees a partial file. */
#include "agent/files.h"

#include "model/merge.h"
#include "sys/file.h"
#include "wire/otlp.h"
#include "base/ban.h"
#include <limits.h>
#include <unistd.h>

enum { MERGE_BYTES = 24 << 20 };

const char *files_absolute(const char *name, bool pattern, arena *a)
{
    char dir[PATH_MAX];
    if (!name || name[0] == '/' || !getcwd(dir, sizeof dir)) return name;
    char *out = arena_alloc(a, 2 * strlen(dir) + strlen(name) + 2);
    size_t n = 0;
    for (const char *p = dir; out && *p; p++) {
        if (*p == '%' && pattern) out[n++] = '%';
        out[n++] = *p;
    }
    if (!out) return name;
    out[n++] = '/';
    memcpy(out + n, name, strlen(name) + 1);
    return out;
}

bool files_name(const char *name, uint32_t pid, uint64_t n, buf *out)
{
    for (const char *p = name; *p; p++) {
        if (*p != '%') {
            buf_putc(out, *p);
            continue;
        }
        switch (*++p) {
        case 'p': buf_u64(out, pid); break;
        case 'n': buf_u64(out, n); break;
        case '%': buf_putc(out, '%'); break;
        default: return false;
        }
    }
    buf_putc(out, '\0');
    return !out->failed && out->n <= PATH_MAX;
}

static bool has(const char *name, char what)
{
    for (; *name; name++) {
        if (*name != '%') continue;
        if (!*++name) return false;
        if (*name == what) return true;
    }
    return false;
}

/* Returns the position of the extension, before which a number is inserted: app.2.otlp. */
static size_t extension(str path)
{
    const char *slash = memrchr(path.p, '/', path.n), *dot = memrchr(path.p, '.', path.n);
    return dot && dot > (slash ? slash + 1 : path.p) ? (size_t)(dot - path.p) : path.n;
}

const char *files_of_child(const char *name, arena *a)
{
    if (!name || !*name || has(name, 'p')) return name;
    str all = str_of(name);
    size_t at = extension(all), n = all.n + sizeof ".%p";
    char *out = arena_alloc(a, n);
    if (!out) return name;
    snprintf(out, n, "%.*s.%%p%s", (int)at, name, name + at);
    return out;
}

uint64_t files_free_number(const char *name, uint32_t pid)
{
    uint64_t n = 1;
    for (bool taken = has(name, 'n'); taken; n += taken) {
        buf path = {0};
        taken = files_name(name, pid, n, &path) && access(path.p, F_OK) == 0;
        buf_free(&path);
    }
    return n;
}

void files_open(files *f, const char *name, uint32_t keep, uint32_t pid)
{
    *f = (files){.name = name, .keep = keep, .pid = pid, .grows = !has(name, 'n')};
    f->n = files_free_number(name, pid);
}

/* Appends the name of the file that grows: app.otlp, app.2.otlp, app.3.otlp. */
static bool grown_name(const files *f, buf *out)
{
    if (!files_name(f->name, f->pid, f->n, out)) return false;
    if (f->n == 1) return true;
    str all = {out->p, out->n - 1};
    size_t at = extension(all);
    char tail[PATH_MAX];
    snprintf(tail, sizeof tail, ".%llu%.*s", (unsigned long long)f->n, (int)(all.n - at),
             all.p + at);
    out->n = at;
    buf_z(out, tail);
    buf_putc(out, '\0');
    return !out->failed && out->n <= PATH_MAX;
}

static bool bad_name(err *e, const char *name)
{
    return err_set(e, ERR_USAGE,
                   "KILN_FILE=%s: %% must be followed by p (process id), n (file number) or %%",
                   name);
}

/* Removes in-use values of the previous flush from `was`: the new ones replace them. */
static void forget_levels(model *was, const model *m)
{
    for (size_t i = 0; i < was->profiles.n; i++)
        for (size_t k = 0; k < m->profiles.n; k++) {
            profile *p = &was->profiles.v[i];
            const profile *q = &m->profiles.v[k];
            if (profile_is_level(was, p) && str_eq(dict_str(&was->dict, p->sample_type.type),
                                                   dict_str(&m->dict, q->sample_type.type)))
                p->n_samples = 0;
        }
}

/* Merges the existing file with the new model into `out`. */
static bool join(const char *path, const model *m, buf *out, err *e)
{
    arena a = {.budget = MERGE_BYTES, .seed = m->seed};
    file_bytes old = {0};
    model was, all;
    const model *both[] = {&was, m};
    merge_opts o = {.join = true};
    bool ok = file_read(path, 2 * FILES_MAX_BYTES, &old, e) &&
              otlp_decode(old.bytes.p, old.bytes.n, NULL, &a, &was, e);
    if (ok) forget_levels(&was, m);
    ok = ok && model_merge(both, 2, &o, &a, &all, e) &&
         otlp_encode(&all, &(otlp_encode_opts){0}, out, e);
    file_release(&old);
    arena_free(&a);
    return ok;
}

static bool put_grown(files *f, const model *m, err *e)
{
    buf name = {0}, bytes = {0};
    bool ok = grown_name(f, &name) || bad_name(e, f->name);
    if (ok && f->began)
        ok = join(name.p, m, &bytes, e);
    else if (ok)
        ok = otlp_encode(m, &(otlp_encode_opts){0}, &bytes, e);
    ok = ok && file_write(name.p, buf_view(&bytes), e);
    f->began |= ok;
    if (ok && bytes.n > FILES_MAX_BYTES) f->n++, f->began = false;
    buf_free(&name), buf_free(&bytes);
    return ok;
}

static void drop_old(const files *f)
{
    buf name = {0};
    if (f->keep && f->n > f->keep && files_name(f->name, f->pid, f->n - f->keep, &name))
        (void)unlink(name.p);
    buf_free(&name);
}

static bool put_numbered(files *f, const model *m, err *e)
{
    buf name = {0}, bytes = {0};
    bool ok = (files_name(f->name, f->pid, f->n, &name) || bad_name(e, f->name)) &&
              otlp_encode(m, &(otlp_encode_opts){0}, &bytes, e) &&
              file_write(name.p, buf_view(&bytes), e);
    buf_free(&name), buf_free(&bytes);
    if (!ok) return false;
    drop_old(f);
    f->n++;
    return true;
}

bool files_put(files *f, const model *m, err *e)
{
    bool ok = f->grows ? put_grown(f, m, e) : put_numbered(f, m, e);
    *(ok ? &f->written : &f->failed) += 1;
    return ok;
}
