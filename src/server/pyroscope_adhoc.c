/* Keeps uploaded files in memory, and draws them: AdHocProfileService. */
#include "server/pyroscope_adhoc.h"

#include "base/hash_long.h"
#include "format/format.h"
#include "pyroscope/flame.h"
#include "server/pyroscope_methods.h"
#include "server/pyroscope_stacks.h"
#include "wire/base64.h"
#include "wire/pb.h"
#include "base/ban.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

enum { NAME_MAX_BYTES = 200 };

struct adhoc {
    pthread_mutex_t lock;
    adhoc_file v[ADHOC_MAX]; /* oldest first; name and bytes are one allocation, at bytes.p */
    size_t n, bytes;
};

/* ---- the list of files ---- */

adhoc *adhoc_open(err *e)
{
    adhoc *a = calloc(1, sizeof *a);
    if (!a) return err_memory(e), NULL;
    pthread_mutex_init(&a->lock, NULL);
    return a;
}

static void drop(adhoc *a, size_t at)
{
    a->bytes -= a->v[at].bytes.n;
    free((void *)(uintptr_t)a->v[at].bytes.p);
    memmove(&a->v[at], &a->v[at + 1], (--a->n - at) * sizeof *a->v);
}

void adhoc_close(adhoc *a)
{
    if (!a) return;
    while (a->n) drop(a, a->n - 1);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

static size_t find(const adhoc *a, str id)
{
    size_t i = 0;
    while (i < a->n && !str_eq(str_of(a->v[i].id), id)) i++;
    return i;
}

bool adhoc_put(adhoc *a, adhoc_file *file, err *e)
{
    if (file->bytes.n > ADHOC_FILE)
        return err_set(e, ERR_LIMIT, "the file is larger than %d MiB", ADHOC_FILE >> 20);
    char *p = malloc(file->bytes.n + file->name.n + 1);
    if (!p) return err_memory(e);
    if (file->bytes.n) memcpy(p, file->bytes.p, file->bytes.n);
    if (file->name.n) memcpy(p + file->bytes.n, file->name.p, file->name.n);
    snprintf(file->id, sizeof file->id, "%016" PRIx64, hash_long(file->bytes.p, file->bytes.n));
    adhoc_file own = *file;
    own.bytes.p = p;
    own.name.p = p + file->bytes.n;
    pthread_mutex_lock(&a->lock);
    size_t old = find(a, str_of(own.id));
    if (old < a->n) drop(a, old);
    while (a->n && (a->n == ADHOC_MAX || a->bytes + own.bytes.n > ADHOC_BYTES)) drop(a, 0);
    a->v[a->n++] = own;
    a->bytes += own.bytes.n;
    pthread_mutex_unlock(&a->lock);
    return true;
}

static bool copy_text(arena *to, str s, str *out)
{
    char *p = arena_array(to, s.n + 1, 1);
    if (!p) return false;
    if (s.n) memcpy(p, s.p, s.n);
    *out = (str){p, s.n};
    return true;
}

bool adhoc_get(adhoc *a, str id, arena *to, adhoc_file *out, err *e)
{
    pthread_mutex_lock(&a->lock);
    size_t at = find(a, id);
    bool found = at < a->n, ok = true;
    if (found) {
        *out = a->v[at];
        ok = copy_text(to, a->v[at].bytes, &out->bytes) && copy_text(to, a->v[at].name, &out->name);
    }
    pthread_mutex_unlock(&a->lock);
    if (!found)
        return err_set(e, ERR_UNSUPPORTED, "no file has this id: the server keeps the newest %d",
                       ADHOC_MAX);
    return ok || err_memory(e);
}

bool adhoc_list(adhoc *a, arena *to, adhoc_files *out, err *e)
{
    bool ok = true;
    pthread_mutex_lock(&a->lock);
    for (size_t i = a->n; ok && i-- > 0;) {
        adhoc_file *x = vec_push(to, out);
        if (x) *x = a->v[i];
        ok = x && copy_text(to, a->v[i].name, &x->name);
        if (x) x->bytes = (str){0};
    }
    pthread_mutex_unlock(&a->lock);
    return ok || err_memory(e);
}

/* ---- drawing ---- */

typedef struct drawing {
    document d;
    view v;
    tree t;
    pyro_type type;
} drawing;

static bool draw(query *k, const adhoc_file *file, str type, frame_table *f, drawing *out, err *e)
{
    const read_opts read = {.name = file->name, .max_bytes = QUERY_MAX_BYTES, .brief = true};
    const select_opts o = {.sample_type = type, .all = true};
    int64_t scale;
    if (!format_read(file->bytes, &read, k->a, &out->d, e)) {
        if (e->code == ERR_UNSUPPORTED) e->code = ERR_USAGE; /* the file is wrong, not its id */
        return false;
    }
    if (!stopper_now(k->stop, e)) return false;
    view_init(&out->v, f, k->a);
    out->v.stop = k->stop;
    if (!view_add(&out->v, &out->d.model, &o, 1, e) ||
        !tree_of(&out->v, &(tree_opts){.order = TREE_BY_LABEL}, k->a, &out->t, e))
        return false;
    const pyro_source from = {.type = out->v.type, .unit = out->v.unit, .has_cpu_time = true};
    return pyro_type_of(&from, k->a, &out->type, &scale, e);
}

/* Appends the distinct types of a file as texts of field `number`. */
static void put_types(const model *m, buf *b, uint32_t number)
{
    for (size_t i = 0; i < m->profiles.n; i++) {
        str type = dict_str(&m->dict, m->profiles.v[i].sample_type.type);
        bool seen = false;
        for (size_t j = 0; !seen && j < i; j++)
            seen = str_eq(type, dict_str(&m->dict, m->profiles.v[j].sample_type.type));
        if (!seen && i < 1000) pb_put_bytes(b, number, type);
    }
}

static bool put_flamebearer(query *k, const pyro_flame *flame, const pyro_type *type,
                            uint32_t number, err *e)
{
    buf json = {.limit = QUERY_MAX_BYTES};
    pyro_flamebearer_put(&(pyro_flamebearer){.flame = flame, .type = *type}, &json);
    pb_put_bytes(&k->body, number, buf_view(&json));
    bool ok = !json.failed;
    buf_free(&json);
    return ok || err_set(e, ERR_LIMIT, "the flame graph is too large: ask for fewer nodes");
}

static bool put_file(query *k, const adhoc_file *file, str type, err *e)
{
    frame_table f;
    drawing x;
    pyro_flame flame;
    uint64_t max_nodes;
    if (!pyro_max_nodes(&k->call->r, &max_nodes, e) ||
        !frame_table_init(&f, BY_FUNCTION, k->a, e) || !draw(k, file, type, &f, &x, e) ||
        !pyro_flame_of(&x.t, max_nodes, k->a, &flame, e))
        return false;
    pb_put_bytes(&k->body, 1, str_of(file->id));
    pb_put_bytes(&k->body, 2, file->name);
    pb_put_uint(&k->body, 3, file->uploaded / NS_PER_MS);
    pb_put_bytes(&k->body, 4, x.v.type);
    put_types(&x.d.model, &k->body, 5);
    return put_flamebearer(k, &flame, &x.type, 6, e);
}

/* ---- methods ---- */

static bool decode(query *k, str text, str *out, err *e)
{
    size_t n = 0;
    uint8_t *p = arena_array(k->a, base64_max(text.n), 1);
    if (!p) return err_memory(e);
    if (!base64_decode(text, p, &n))
        return err_set(e, ERR_USAGE, "profile: character %zu is not base64", n);
    *out = (str){(const char *)p, n};
    return true;
}

bool pyro_adhoc_put(query *k, err *e)
{
    const pyro_request *r = &k->call->r;
    adhoc_file file = {.name = r->name, .uploaded = k->now};
    if (!r->name.n || r->name.n > NAME_MAX_BYTES)
        return err_set(e, ERR_USAGE, "name must have 1 to %d bytes", NAME_MAX_BYTES);
    if (!decode(k, r->profile, &file.bytes, e)) return false;
    snprintf(file.id, sizeof file.id, "%016" PRIx64, hash_long(file.bytes.p, file.bytes.n));
    /* only files that can be read are kept */
    return put_file(k, &file, (str){0}, e) && adhoc_put(k->adhoc, &file, e);
}

bool pyro_adhoc_draw(query *k, err *e)
{
    adhoc_file file;
    return adhoc_get(k->adhoc, k->call->r.id, k->a, &file, e) &&
           put_file(k, &file, k->call->r.adhoc_type, e);
}

bool pyro_adhoc_all(query *k, err *e)
{
    adhoc_files l = {0};
    if (!adhoc_list(k->adhoc, k->a, &l, e)) return false;
    for (size_t i = 0; i < l.n; i++) {
        buf b = {0};
        pb_put_bytes(&b, 1, str_of(l.v[i].id));
        pb_put_bytes(&b, 2, l.v[i].name);
        pb_put_uint(&b, 3, l.v[i].uploaded / NS_PER_MS);
        pb_put_bytes(&k->body, 1, buf_view(&b));
        buf_free(&b);
    }
    return true;
}

bool pyro_adhoc_compare(query *k, err *e)
{
    const pyro_request *r = &k->call->r;
    adhoc_file left, right;
    frame_table f;
    drawing a, b;
    tree all;
    pyro_flame flame;
    uint64_t max_nodes;
    if (!pyro_max_nodes(r, &max_nodes, e) || !adhoc_get(k->adhoc, r->id, k->a, &left, e) ||
        !adhoc_get(k->adhoc, r->right_id, k->a, &right, e) ||
        !frame_table_init(&f, BY_FUNCTION, k->a, e) || !draw(k, &left, r->adhoc_type, &f, &a, e) ||
        !draw(k, &right, a.v.type, &f, &b, e))
        return false;
    const select_opts o = {.sample_type = a.v.type, .all = true};
    if (!view_add(&b.v, &a.d.model, &o, 1, e) || /* now it has both sides */
        !tree_of(&b.v, &(tree_opts){.order = TREE_BY_LABEL}, k->a, &all, e) ||
        !pyro_flame_diff_of(&all, &a.t, &b.t, max_nodes, k->a, &flame, e))
        return false;
    put_types(&a.d.model, &k->body, 1);
    return put_flamebearer(k, &flame, &a.type, 2, e);
}
