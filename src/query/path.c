/* Splits paths of frames at semicolons, the separator of folded stacks. */
#include "query/path.h"

#include "base/ban.h"

bool frame_path_read(str text, arena *a, frame_path *out, err *e)
{
    *out = (frame_path){0};
    if (!text.n) return true;
    char *to = arena_alloc(a, text.n);
    size_t most = 1;
    for (size_t i = 0; i < text.n; i++) most += text.p[i] == ';';
    out->v = arena_new(a, str, most);
    if (!to || !out->v) return err_memory(e);
    str *label = &out->v[out->n++];
    *label = (str){to, 0};
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == ';') {
            label = &out->v[out->n++];
            *label = (str){to, 0};
            continue;
        }
        if (c == '\\' && i + 1 < text.n) c = text.p[++i];
        *to++ = c;
        label->n++;
    }
    return true;
}

bool frame_path_fits(const frame_path *p, const frame_table *f, const uint32_t *leaf_first,
                     uint32_t n, bool at_leaf)
{
    if (p->n > n) return false;
    for (size_t i = 0; i < p->n; i++) {
        size_t at = at_leaf ? p->n - 1 - i : n - 1 - i;
        if (!str_eq(p->v[i], frame_label(f, leaf_first[at]))) return false;
    }
    return true;
}
