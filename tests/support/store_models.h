/* tests/support/store_models.h - profiles with resource and scope as hashes that do not depend on
 * the order of tables, resources and profiles; a directory for a store; a clock set by the test. */
#pragma once
#include "digest.h"
#include "test.h"

#include "store/embedded_options.h"
#include "store/maintenance.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct digests {
    uint64_t *v;
    size_t n, cap;
} digests;

static inline void digests_add(digests *d, uint64_t h)
{
    if (d->n == d->cap) d->v = realloc(d->v, (d->cap = d->cap ? d->cap * 2 : 64) * sizeof *d->v);
    d->v[d->n++] = h;
}

static inline void digests_free(digests *d)
{
    free(d->v);
    *d = (digests){0};
}

/* Sorts, and removes duplicates. */
static inline void digests_settle(digests *d)
{
    size_t k = 0;
    if (d->n) qsort(d->v, d->n, sizeof *d->v, digest_order);
    for (size_t i = 0; i < d->n; i++)
        if (!i || d->v[i] != d->v[k - 1]) d->v[k++] = d->v[i];
    d->n = k;
}

static inline uint64_t store_digest(const model *m, const profile *p)
{
    const scope *s = &m->scopes.v[p->scope];
    const resource *r = &m->resources.v[s->resource];
    uint64_t h = digest_str(digest_keyvalues(&r->attrs, 11), r->schema_url);
    h = hash_mix(h, (uint64_t)r->dropped_attributes_count << 1 | r->present);
    for (size_t k = 0; k < r->n_entity_refs; k++) h = digest_entity(h, &r->entity_refs[k]);
    h = digest_str(digest_keyvalues(&s->attrs, h), s->schema_url);
    h = digest_str(digest_str(h, s->name), s->version);
    h = hash_mix(h, (uint64_t)s->dropped_attributes_count << 1 | s->present);
    return hash_mix(h, digest_profile(m, p));
}

static inline void digests_of(digests *d, const model *m)
{
    for (size_t i = 0; i < m->profiles.n; i++) digests_add(d, store_digest(m, &m->profiles.v[i]));
}

/* ---- a directory for a store ---- */

static inline void remove_tree(const char *dir)
{
    DIR *d = opendir(dir);
    if (!d) return;
    for (struct dirent *f; (f = readdir(d));) {
        char path[1024];
        struct stat st;
        if (f->d_name[0] == '.' && (!f->d_name[1] || f->d_name[1] == '.')) continue;
        snprintf(path, sizeof path, "%s/%s", dir, f->d_name);
        if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
            remove_tree(path);
        else
            unlink(path);
    }
    closedir(d);
    rmdir(dir);
}

typedef struct place {
    char dir[64];
} place;

static inline place place_new(void)
{
    place p = {"/tmp/kiln-store-XXXXXX"};
    if (!mkdtemp(p.dir)) fail_msg("no directory for a store");
    return p;
}

static inline void place_free(place *p) { remove_tree(p->dir); }

/* ---- a clock set by the test ---- */

typedef struct hand_world {
    world w;
    uint64_t wall, now;
} hand_world;

static inline uint64_t hand_now(void *ctx) { return ((hand_world *)ctx)->now; }
static inline uint64_t hand_wall(void *ctx) { return ((hand_world *)ctx)->wall; }

static inline void hand_world_init(hand_world *h, uint64_t wall)
{
    *h = (hand_world){.w = *world_system(), .wall = wall, .now = NS_PER_S};
    h->w.ctx = h;
    h->w.now = hand_now;
    h->w.wall = hand_wall;
}
