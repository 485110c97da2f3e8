/* Maps each location of a model to the module that contains it, and opens each module once.  The
 * name of a mapping decides the kind: a file, the kernel, the vDSO, or memory without a file,
 * whose code was generated at run time and is named by a perf map. */
#include "symbol/places.h"

#include "symbol/module_cache.h"

#include "base/buf.h"
#include "base/ban.h"

#define BUILD_ID "process.executable.build_id."

static bool is_kernel(str name, uint64_t address)
{
    return str_starts(name, STR("[kernel")) || str_starts(name, STR("[guest.kernel")) ||
           address >> 63;
}

/* Returns whether the mapping is memory without a file, whose code was generated at run time. */
static bool is_anonymous(str name)
{
    static const char *const begins[] = {"//anon",    "[anon",       "[heap",
                                         "[stack",    "anon_inode:", "/memfd:",
                                         "/dev/zero", "/SYSV",       "/anon_hugepage"};
    for (size_t i = 0; i < ARRAY_LEN(begins); i++)
        if (str_starts(name, str_of(begins[i]))) return true;
    return !name.n;
}

static bool is_perf_map(str name)
{
    return str_starts(name, STR("/tmp/perf-")) && str_ends(name, STR(".map"));
}

/* ---- attributes of the profile ---- */

static str text_attr(const dict *d, span attrs, str key)
{
    const uint32_t *v = refs_at(&d->attr_refs, attrs);
    for (uint32_t i = 0; i < attrs.n; i++) {
        const attribute *t = &d->attributes.v[v[i]];
        if (t->value.kind == ANY_STRING && str_eq(dict_str(d, t->key), key))
            return any_str(&t->value);
    }
    return STR("");
}

static binary_id id_of(const dict *d, const mapping *m)
{
    binary_id id = {.name = dict_str(d, m->filename),
                    .gnu = text_attr(d, m->attrs, STR(BUILD_ID "gnu")),
                    .go = text_attr(d, m->attrs, STR(BUILD_ID "go")),
                    .htlhash = text_attr(d, m->attrs, STR(BUILD_ID "htlhash"))};
    /* The former name of htlhash. */
    if (!id.htlhash.n) id.htlhash = text_attr(d, m->attrs, STR(BUILD_ID "profiling"));
    return id;
}

static int64_t pid_in(const keyvalues *kv)
{
    for (size_t i = 0; i < kv->n; i++)
        if (str_eq(kv->v[i].key, STR("process.pid")) && kv->v[i].value.kind == ANY_INT)
            return kv->v[i].value.i;
    return 0;
}

static int64_t pid_of_sample(const dict *d, const sample *s, int64_t otherwise)
{
    for (uint32_t i = 0; i < s->n_attrs; i++) {
        const attribute *t = &d->attributes.v[s->attrs[i]];
        if (t->value.kind == ANY_INT && str_eq(dict_str(d, t->key), STR("process.pid")))
            return t->value.i;
    }
    return otherwise;
}

/* Finds the process of each stack; the first one if there are several. */
static bool find_pids(places *p)
{
    const model *m = p->m;
    const dict *d = &m->dict;
    size_t n_stacks = dict_n_stacks(d);
    p->pid_of_stack = arena_new(p->a, int64_t, n_stacks);
    p->pid_of_location = arena_new(p->a, int64_t, d->locations.n);
    if (!p->pid_of_stack || !p->pid_of_location) return false;
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *pr = &m->profiles.v[i];
        int64_t pid = pid_in(&m->resources.v[m->scopes.v[pr->scope].resource].attrs);
        for (size_t k = 0; k < pr->n_samples; k++) {
            sample s = sample_at(m, pr, k);
            int64_t *to = &p->pid_of_stack[s.stack];
            if (!*to) *to = pid_of_sample(d, &s, pid);
        }
    }
    for (uint32_t i = 0; i < n_stacks; i++) {
        span frames = dict_stack(d, i);
        for (uint32_t k = 0; k < frames.n; k++) {
            int64_t *to = &p->pid_of_location[d->frames.v[frames.at + k]];
            if (!*to) *to = p->pid_of_stack[i];
        }
    }
    return true;
}

/* ---- opening ---- */

static str join_key(places *p, const char *kind, const binary_id *id)
{
    buf b = {0};
    buf_printf(&b, "%s%c%.*s%c%.*s%c%.*s%c%.*s", kind, 0, STR_ARG(id->name), 0, STR_ARG(id->gnu), 0,
               STR_ARG(id->go), 0, STR_ARG(id->htlhash));
    char *keep = b.failed ? NULL : arena_alloc(p->a, b.n);
    str out = {keep, b.n};
    if (keep) memcpy(keep, b.p, b.n);
    p->failed |= !keep;
    buf_free(&b);
    return keep ? out : STR("");
}

/* Sets *at to the position of the place of a key. Returns true if it is new and has to be
 * opened. */
static bool is_new(places *p, str key, uint32_t *at)
{
    *at = 0;
    if (!hash_index_room(&p->by_key, p->a)) return p->failed = true, false;
    uint64_t h = hash_bytes(key.p, key.n, p->by_key.seed);
    uint32_t i = hash_first(&p->by_key, h);
    for (; hash_next(&p->by_key, &i, h, at); i++)
        if (str_eq(p->v.v[*at].key, key)) return false;
    place *x = vec_push(p->a, &p->v);
    if (!x) return p->failed = true, *at = 0, false;
    x->key = key;
    *at = (uint32_t)(p->v.n - 1);
    hash_put(&p->by_key, i, h, *at);
    return true;
}

static void begin_place(places *p, place *x, const binary_id *id)
{
    x->id = *id;
    x->s.name = id->name.n ? id->name : STR("[unknown]");
    x->s.build_id = id->gnu.n ? id->gnu : id->go.n ? id->go : id->htlhash;
    if (p->o->progress) p->o->progress(p->o->ctx, x->s.name);
}

/* Returns whether the time limit was reached; no more modules are opened then. */
static bool is_past_deadline(places *p, place *x)
{
    if (!p->o->module.stop || stopper_now(p->o->module.stop, NULL)) return false;
    x->m.state = MODULE_LATE;
    return true;
}

static void end_place(place *x)
{
    x->s.state = x->m.state;
    x->s.path = str_of(x->m.path ? x->m.path : "");
    x->s.debug_path = str_of(x->m.debug_path ? x->m.debug_path : "");
    x->s.cached = x->m.cached;
    x->s.trusted = x->m.trusted;
    x->s.verified = x->m.verified;
    x->s.alt_missing = x->m.alt_missing;
    x->s.split = x->m.split;
}

/* perf names the kernel "[kernel.kallsyms]_text", with the symbol at the start of its mapping. */
static uint32_t kernel_place(places *p, const binary_id *id, const mapping *m)
{
    uint32_t at;
    const char *end = id->name.n ? memchr(id->name.p, ']', id->name.n) : NULL;
    str ref = end ? (str){end + 1, (size_t)(id->name.p + id->name.n - end - 1)} : STR("");
    if (!is_new(p, join_key(p, "kernel", id), &at)) return at;
    place *x = &p->v.v[at];
    begin_place(p, x, id);
    if (!id->name.n) x->s.name = STR("[kernel]");
    x->s.kernel = true;
    uint64_t start = m->file_offset >> 63 ? m->file_offset : m->memory_start;
    x->keeps = !ref.n; /* with a symbol, the bias depends on the recording */
    bool open = x->keeps && module_cache_take(p->o->modules, x->key, &x->m);
    if (!open && !is_past_deadline(p, x))
        module_open_kernel(&x->m, id, start, ref, &p->o->module, &p->cache);
    end_place(x);
    return at;
}

static uint32_t unnamed_place(places *p, str name)
{
    uint32_t at;
    binary_id id = {.name = name};
    if (!is_new(p, join_key(p, "unnamed", &id), &at)) return at;
    begin_place(p, &p->v.v[at], &id);
    p->v.v[at].m.state = name.n ? MODULE_NO_MAP : MODULE_UNNAMED;
    end_place(&p->v.v[at]);
    return at;
}

static uint32_t perf_map_place(places *p, str path)
{
    uint32_t at;
    binary_id id = {.name = path};
    char z[4096];
    /* A perf map has no build id, and its PID may belong to another process now, so it is used only
     * if the user names it. */
    if (p->o->module.dirs.proven && !p->o->perf_map) return unnamed_place(p, path);
    if (!is_new(p, join_key(p, "map", &id), &at)) return at;
    place *x = &p->v.v[at];
    begin_place(p, x, &id);
    snprintf(z, sizeof z, "%.*s", STR_ARG(path));
    bool given = p->o->perf_map && !p->o->perf_map_found;
    module_open_perf_map(&x->m, z, given, &p->o->module);
    end_place(x);
    return at;
}

static uint32_t jit_place(places *p, uint32_t at, str name)
{
    if (p->o->perf_map) return perf_map_place(p, str_of(p->o->perf_map));
    if (!p->pid_of_location && !find_pids(p)) return p->failed = true, 0;
    int64_t pid = p->pid_of_location[at];
    if (pid <= 0) return unnamed_place(p, name);
    char path[64];
    int n = snprintf(path, sizeof path, "/tmp/perf-%lld.map", (long long)pid);
    char *keep = arena_alloc(p->a, (size_t)n);
    if (!keep) return p->failed = true, 0;
    memcpy(keep, path, (size_t)n);
    return perf_map_place(p, (str){keep, (size_t)n});
}

static uint32_t file_place(places *p, const binary_id *id)
{
    uint32_t at;
    bool vdso = str_eq(id->name, STR("[vdso]"));
    if (!is_new(p, join_key(p, "file", id), &at)) return at;
    place *x = &p->v.v[at];
    begin_place(p, x, id);
    if (module_cache_take(p->o->modules, x->key, &x->m) || is_past_deadline(p, x))
        ;
    else if (vdso)
        module_open_vdso(&x->m, id, &p->o->module);
    else
        module_open(&x->m, id, &p->o->module, &p->cache);
    end_place(x);
    return at;
}

uint32_t places_of(places *p, uint32_t i)
{
    const dict *d = &p->m->dict;
    const location *l = &d->locations.v[i];
    const mapping *m = &d->mappings.v[l->mapping];
    uint32_t *known = &p->of_mapping[l->mapping];
    bool kernel = is_kernel(dict_str(d, m->filename), l->address);
    if (l->mapping && !kernel && *known) return *known - 1;
    binary_id id = id_of(d, m);
    if (kernel) return kernel_place(p, &id, m);
    if (is_anonymous(id.name) && !id.gnu.n) return jit_place(p, i, id.name);
    uint32_t at = is_perf_map(id.name) ? perf_map_place(p, id.name) : file_place(p, &id);
    *known = at + 1;
    return at;
}

bool places_begin(places *p, const model *m, const symbolize_opts *o, arena *a)
{
    *p = (places){.m = m, .o = o, .a = a};
    p->of_mapping = arena_new(a, uint32_t, m->dict.mappings.n + 1);
    cache_open(&p->cache, o->cache_dir, o->cache_bytes);
    return p->of_mapping != NULL;
}

void places_end(places *p)
{
    for (size_t i = 0; i < p->v.n; i++) {
        place *x = &p->v.v[i];
        bool keeps = x->m.state <= MODULE_EMPTY && (!x->m.absolute || x->keeps);
        /* With a limit of memory, the pages of kept indexes do not stay. */
        if (keeps && p->o->module.max_debug) file_pass(&x->m.stored, x->m.stored.bytes.n);
        module_cache_put(keeps ? p->o->modules : NULL, x->key, &x->m);
    }
    cache_close(&p->cache);
}
