/* pyroscope_tool.c - prints flame graphs of profiles for tests/e2e/pyroscope_flame.
 *
 *   pyroscope_tool flame|render|tree MAX_NODES FILE           FlameGraph, JSON, bytes of a tree
 *   pyroscope_tool flame|render MAX_NODES LEFT RIGHT          FlameGraphDiff, JSON
 *   pyroscope_tool time MAX_NODES FILE                        milliseconds of each of them */
#include "base/words.h"
#include "format/format.h"
#include "pyroscope/flame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct side {
    buf in; // the model refers to it
    document d;
    view v;
    tree t;
} side;

static bool take(buf *in, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    do {
        if (!buf_reserve(in, 65536)) return false;
        in->n += fread(in->p + in->n, 1, in->cap - in->n, f);
    } while (!feof(f) && !ferror(f));
    return !fclose(f);
}

static bool grow(const char *path, arena *a, frame_table *f, view *all, side *s, err *e)
{
    static const tree_opts order = {.order = TREE_BY_LABEL};
    static const select_opts plain = {.all = true, .keep_pruned = true};
    read_opts o = {.name = str_of(path)};
    if (!take(&s->in, path)) return err_set(e, ERR_SYS, "cannot read %s", path);
    view_init(&s->v, f, a);
    return format_read(buf_view(&s->in), &o, a, &s->d, e) &&
           view_add(&s->v, &s->d.model, &plain, 1, e) && view_add(all, &s->d.model, &plain, 1, e) &&
           tree_of(&s->v, &order, a, &s->t, e);
}

static bool print(const char *how, uint64_t most, const side *s, const tree *all, arena *a,
                  buf *out, err *e)
{
    pyro_flame f;
    if (!strcmp(how, "tree")) return pyro_tree_put(&s->t, most, a, out, e);
    if (!(all ? pyro_flame_diff_of(all, &s[0].t, &s[1].t, most, a, &f, e)
              : pyro_flame_of(&s->t, most, a, &f, e)))
        return false;
    pyro_flamebearer json = {.flame = &f, .type = {.type = s->v.type, .unit = s->v.unit}};
    if (!strcmp(how, "flame"))
        pyro_flame_put(&f, out);
    else
        pyro_flamebearer_put(&json, out);
    return !out->failed || err_memory(e);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static bool measure(uint64_t most, const side *s, err *e)
{
    static const char *const forms[] = {"flame", "render", "tree"};
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        arena a = {0};
        buf out = {0};
        double from = now();
        if (!print(forms[i], most, s, NULL, &a, &out, e)) return false;
        printf("%s: %zu nodes, %.1f ms, %zu bytes, arena %zu bytes\n", forms[i], s->t.n - 1,
               now() - from, out.n, a.peak);
        buf_free(&out);
        arena_free(&a);
    }
    return true;
}

int main(int argc, char **argv)
{
    arena a = {0};
    frame_table f;
    view both;
    side s[2] = {0};
    tree all;
    buf out = {0};
    err e = {0};
    uint64_t most;
    if (argc < 4 || argc > 5 || !size_parse(str_of(argv[2]), &most)) return 2;
    bool ok = frame_table_init(&f, BY_FUNCTION, &a, &e);
    if (ok) view_init(&both, &f, &a);
    for (int i = 3; ok && i < argc; i++) ok = grow(argv[i], &a, &f, &both, &s[i - 3], &e);
    bool diff = argc == 5;
    if (ok && diff) ok = tree_of(&both, &(tree_opts){.order = TREE_BY_LABEL}, &a, &all, &e);
    if (ok && !strcmp(argv[1], "time"))
        ok = measure(most, s, &e);
    else
        ok = ok && print(argv[1], most, s, diff ? &all : NULL, &a, &out, &e);
    char text[512];
    if (!ok) fprintf(stderr, "%s\n", err_text(&e, text, sizeof text));
    if (ok) fwrite(out.p, 1, out.n, stdout);
    for (size_t i = 0; i < ARRAY_LEN(s); i++) buf_free(&s[i].in);
    buf_free(&out);
    arena_free(&a);
    return !ok;
}
