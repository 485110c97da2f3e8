/* Evaluates the patterns for every location and computes its frames.
 *
 * The order is that of pprof. drop_frames comes first. focus and ignore test all remaining lines.
 * hide removes matching lines; show removes the others. show_from removes the callers of its
 * outermost match. Then come the options that pprof does not have: focus_category hides locations
 * of other categories (before show_from), collapse removes the callees of its outermost match,
 * collapse_library replaces locations by their binary, and collapse_recursion marks frames. With
 * no_inlines, only the outermost line stays at the end. */
#include "query/internal.h"
#include "wire/carried.h"

#include "base/ban.h"

/* The cost of a location with patterns, in steps of a stopper (base/stopper.h). */
enum { PLACE_STEPS = 64 };

/* ---- patterns ---- */

static bool compile(places *x, str text, const char *name, pattern **out, matcher *m, err *e)
{
    if (!text.n) return true;
    return pattern_new(text, x->o->literal, name, x->a, out, e) &&
           matcher_new(*out, &x->m->dict, x->a, m, e);
}

static bool compile_category(places *x, err *e)
{
    if (!x->o->focus_category.n) return true;
    return pattern_new(x->o->focus_category, x->o->literal, "focus-category", x->a, &x->category,
                       e);
}

static str profile_text(const model *m, const profile *p, str key)
{
    const dict *d = &m->dict;
    for (uint32_t i = 0; i < p->attrs.n; i++) {
        const attribute *x = &d->attributes.v[refs_at(&d->attr_refs, p->attrs)[i]];
        if (x->value.kind == ANY_STRING && str_eq(dict_str(d, x->key), key))
            return any_str(&x->value);
    }
    return (str){0};
}

/* Compiles ^(text)$. */
static bool compile_whole(places *x, str text, const char *name, pattern **out, err *e)
{
    if (!text.n) return true;
    char *p = arena_alloc(x->a, text.n + 4);
    if (!p) return err_memory(e);
    memcpy(p, "^(", 2);
    memcpy(p + 2, text.p, text.n);
    memcpy(p + 2 + text.n, ")$", 2);
    return pattern_new((str){p, text.n + 4}, false, name, x->a, out, e);
}

/* Compiles the patterns that the profile itself contains. Invalid ones are ignored, because the
 * user did not write them. */
static bool compile_own(places *x, const profile *p, err *e)
{
    x->own_drop = profile_text(x->m, p, STR(PPROF_ATTR_DROP_FRAMES));
    x->own_keep = profile_text(x->m, p, STR(PPROF_ATTR_KEEP_FRAMES));
    if (x->o->keep_pruned) return true;
    err ignored = {0};
    bool ok = compile_whole(x, x->own_drop, "drop_frames", &x->drop, &ignored) &&
              (!x->drop || compile_whole(x, x->own_keep, "keep_frames", &x->keep, &ignored));
    if (ok || ignored.code == ERR_USAGE) return true;
    *e = ignored;
    return false;
}

bool places_same(const places *x, const profile *p)
{
    return str_eq(x->own_drop, profile_text(x->m, p, STR(PPROF_ATTR_DROP_FRAMES))) &&
           str_eq(x->own_keep, profile_text(x->m, p, STR(PPROF_ATTR_KEEP_FRAMES)));
}

/* ---- drop_frames ---- */

/* Returns the name of a function without arguments, as pprof compares it. */
static str without_arguments(str s)
{
    static const char *const kept[] = {"(anonymous namespace)", "operator()"};
    if (s.n && s.p[0] == '.') s = (str){s.p + 1, s.n - 1};
    for (size_t i = 0; i < s.n; i++) {
        bool skip = false;
        for (size_t k = 0; k < ARRAY_LEN(kept) && !skip; k++) {
            skip = str_starts((str){s.p + i, s.n - i}, str_of(kept[k]));
            if (skip) i += strlen(kept[k]) - 1;
        }
        if (!skip && s.p[i] == '(') return (str){s.p, i};
    }
    return s;
}

static bool is_dropped(places *x, uint32_t i, bool *yes, err *e)
{
    const dict *d = &x->m->dict;
    *yes = false;
    str name = i ? dict_str(d, d->functions.v[i].name) : (str){0};
    if (!name.n) return true;
    name = without_arguments(name);
    bool keep = false;
    if (!pattern_match(x->drop, name, yes, e)) return false;
    if (*yes && x->keep && !pattern_match(x->keep, name, &keep, e)) return false;
    *yes = *yes && !keep;
    return true;
}

/* Applies drop_frames to the lines: removes the outermost match and its callees. */
static bool prune(places *x, uint8_t *verdict, err *e)
{
    for (size_t i = x->lines.n; i-- > 0;) {
        bool yes;
        if (!is_dropped(x, x->m->dict.lines.v[x->lines.v[i]].function, &yes, e)) return false;
        if (!yes) continue;
        *verdict |= PLACE_PRUNE_BENEATH;
        if (i + 1 == x->lines.n) {
            *verdict |= PLACE_PRUNE;
        } else {
            memmove(x->lines.v, x->lines.v + i + 1, (x->lines.n - i - 1) * sizeof *x->lines.v);
            x->lines.n -= i + 1;
        }
        return true;
    }
    return true;
}

/* ---- focus, ignore, hide, show, show_from ---- */

static bool any_matches(places *x, matcher *m, uint32_t map, bool *yes, err *e)
{
    const dict *d = &x->m->dict;
    *yes = false;
    for (size_t i = 0; i < x->lines.n && !*yes; i++)
        if (!matcher_function(m, d->lines.v[x->lines.v[i]].function, yes, e)) return false;
    return *yes || matcher_mapping(m, map, yes, e);
}

static bool judge(places *x, uint32_t map, uint8_t *verdict, err *e)
{
    bool yes;
    if (!any_matches(x, &x->m_ignore, map, &yes, e)) return false;
    if (yes) {
        *verdict |= PLACE_IGNORE;
        x->v->matched |= 1 << MATCHED_IGNORE;
        return true;
    }
    if (x->focus && !any_matches(x, &x->m_focus, map, &yes, e)) return false;
    if (yes || !x->focus) *verdict |= PLACE_FOCUS;
    if (yes) x->v->matched |= 1 << MATCHED_FOCUS;
    return true;
}

/* Keeps the lines that match, or with matching = false those that do not. A line without a function
 * matches nothing. pprof distinguishes a missing function from an empty one; OTLP does not. */
static bool keep_lines(places *x, matcher *m, bool matching, err *e)
{
    size_t n = 0;
    for (size_t i = 0; i < x->lines.n; i++) {
        uint32_t callee = x->m->dict.lines.v[x->lines.v[i]].function;
        bool yes;
        if (!matcher_function(m, callee, &yes, e)) return false;
        if (yes == matching) x->lines.v[n++] = x->lines.v[i];
    }
    x->lines.n = n;
    return true;
}

static bool hide(places *x, uint32_t map, uint8_t *verdict, err *e)
{
    bool yes, all;
    if (!any_matches(x, &x->m_hide, map, &yes, e)) return false;
    if (!yes) return true;
    x->v->matched |= 1 << MATCHED_HIDE;
    if (!matcher_mapping(&x->m_hide, map, &all, e)) return false;
    if (all) x->lines.n = 0;
    if (!all && !keep_lines(x, &x->m_hide, false, e)) return false;
    if (!x->lines.n) *verdict |= PLACE_HIDDEN;
    return true;
}

static bool show(places *x, uint32_t map, uint8_t *verdict, err *e)
{
    bool all;
    if (!matcher_mapping(&x->m_show, map, &all, e)) return false;
    if (!all && !keep_lines(x, &x->m_show, true, e)) return false;
    if (!x->lines.n) *verdict |= PLACE_HIDDEN;
    if (x->lines.n) x->v->matched |= 1 << MATCHED_SHOW;
    return true;
}

/* The attribute with the category of a location, plus 1; 0: it has none. */
static uint32_t category_of(const places *x, const location *l)
{
    const dict *d = &x->m->dict;
    for (uint32_t i = 0; i < l->attrs.n; i++) {
        uint32_t at = refs_at(&d->attr_refs, l->attrs)[i];
        const attribute *a = &d->attributes.v[at];
        if (a->value.kind == ANY_STRING && str_eq(dict_str(d, a->key), STR(ATTR_FRAME_TYPE)))
            return at + 1;
    }
    return 0;
}

/* Few attributes are categories, and neighbouring locations often have the same one. */
static bool focus_category(places *x, const location *l, uint8_t *verdict, err *e)
{
    uint32_t at = category_of(x, l);
    if (at && at != x->judged) {
        str text = any_str(&x->m->dict.attributes.v[at - 1].value);
        if (!pattern_match(x->category, text, &x->judged_yes, e)) return false;
        x->judged = at;
    }
    if (at && x->judged_yes) {
        x->v->matched |= 1 << MATCHED_CATEGORY;
        if (!(*verdict & PLACE_HIDDEN)) *verdict |= PLACE_CATEGORY;
        return true;
    }
    x->lines.n = 0;
    *verdict |= PLACE_HIDDEN;
    return true;
}

static bool show_from(places *x, uint32_t map, uint8_t *verdict, err *e)
{
    bool yes;
    if (!matcher_mapping(&x->m_from, map, &yes, e)) return false;
    for (size_t i = x->lines.n; !yes && i-- > 0;) {
        if (!matcher_function(&x->m_from, x->m->dict.lines.v[x->lines.v[i]].function, &yes, e))
            return false;
        if (yes) x->lines.n = i + 1;
    }
    if (yes) *verdict |= PLACE_FROM, x->v->matched |= 1 << MATCHED_FROM;
    return true;
}

static bool collapse(places *x, uint32_t map, uint8_t *verdict, err *e)
{
    bool yes;
    size_t i = x->lines.n;
    if (!matcher_mapping(&x->m_collapse, map, &yes, e)) return false;
    if (yes && i) i--;
    while (!yes && i-- > 0)
        if (!matcher_function(&x->m_collapse, x->m->dict.lines.v[x->lines.v[i]].function, &yes, e))
            return false;
    if (!yes) return true;
    memmove(x->lines.v, x->lines.v + i, (x->lines.n - i) * sizeof *x->lines.v);
    x->lines.n -= i;
    *verdict |= PLACE_COLLAPSE;
    x->v->matched |= 1 << MATCHED_COLLAPSE;
    return true;
}

static bool filter_lines(places *x, const location *l, uint8_t *verdict, err *e)
{
    uint32_t map = l->mapping;
    if (x->drop && !prune(x, verdict, e)) return false;
    if (!judge(x, map, verdict, e)) return false;
    if (x->hide && !hide(x, map, verdict, e)) return false;
    if (x->show && !show(x, map, verdict, e)) return false;
    if (x->category && !focus_category(x, l, verdict, e)) return false;
    if (x->show_from && !show_from(x, map, verdict, e)) return false;
    return !x->collapse || collapse(x, map, verdict, e);
}

/* ---- frames ---- */

static bool text_of(places *x, uint32_t string, uint32_t *out, err *e)
{
    uint32_t *slot = &x->text_of[string];
    if (!*slot) {
        uint32_t text;
        if (!frame_table_text(x->v->frames, dict_str(&x->m->dict, string), &text, e)) return false;
        *slot = text + 1;
    }
    *out = *slot - 1;
    return true;
}

static bool file_of(places *x, uint32_t string, uint32_t *out, err *e)
{
    uint32_t *slot = &x->file_of[string];
    if (!*slot) {
        str clean = path_clean(dict_str(&x->m->dict, string), x->v->frames->a);
        uint32_t text;
        if (!clean.p) return err_memory(e);
        if (!frame_table_text(x->v->frames, clean, &text, e)) return false;
        *slot = text + 1;
    }
    *out = *slot - 1;
    return true;
}

static bool line_matches(matcher *m, const location *l, const line *li, bool *yes, err *e)
{
    return matcher_function(m, li ? li->function : 0, yes, e) &&
           (*yes || matcher_mapping(m, l->mapping, yes, e));
}

/* Marks frames that match collapse_recursion or collapse_direct_recursion. */
static bool mark_recursion(places *x, const location *l, const line *li, frame_parts *p, err *e)
{
    bool all, direct;
    if (!line_matches(&x->m_recursion, l, li, &all, e)) return false;
    if (!line_matches(&x->m_direct, l, li, &direct, e)) return false;
    if (all) {
        p->flags |= FRAME_LOOP;
        x->v->loops = true;
        x->v->matched |= 1 << MATCHED_RECURSION;
    }
    if (direct) {
        p->flags |= FRAME_ONCE;
        x->v->once = true;
        x->v->matched |= 1 << MATCHED_DIRECT;
    }
    return true;
}

static bool frame_of(places *x, const location *l, const line *li, bool inlined, uint32_t *out,
                     err *e)
{
    const dict *d = &x->m->dict;
    frame_parts p = {.address = l->address, .flags = inlined ? FRAME_INLINED : FRAME_CALLED};
    if (li && li->function) {
        const function *f = &d->functions.v[li->function];
        p.line = li->line;
        if (!text_of(x, f->name ? f->name : f->system_name, &p.name, e)) return false;
        if (!file_of(x, f->filename, &p.file, e)) return false;
    }
    if (l->mapping && !text_of(x, d->mappings.v[l->mapping].filename, &p.mapping, e)) return false;
    if ((x->recursion || x->direct) && !mark_recursion(x, l, li, &p, e)) return false;
    return frame_table_add(x->v->frames, &p, out, e);
}

/* The frame of a location whose library is collapsed. */
static bool library_frame(places *x, const location *l, uint32_t *out, err *e)
{
    frame_parts p = {.flags = FRAME_CALLED | FRAME_ONCE};
    x->v->once = true;
    x->v->matched |= 1 << MATCHED_LIBRARY;
    return text_of(x, x->m->dict.mappings.v[l->mapping].filename, &p.mapping, e) &&
           frame_table_add(x->v->frames, &p, out, e);
}

static bool put_many(places *x, const location *l, uint32_t place, err *e)
{
    u32s *many = &x->v->many;
    size_t n = x->lines.n, at = many->n;
    if (at + n + 1 >= PLACE_MANY || !vec_reserve(x->a, many, n + 1)) return err_memory(e);
    many->v[many->n++] = (uint32_t)n;
    span all = l->lines;
    for (size_t i = 0; i < n; i++) {
        bool inlined = x->lines.v[i] + 1 != all.at + all.n;
        const line *li = &x->m->dict.lines.v[x->lines.v[i]];
        if (!frame_of(x, l, li, inlined, &many->v[many->n], e)) return false;
        many->n++;
    }
    if (n > x->most) x->most = (uint32_t)n;
    x->place[place] = (uint32_t)at | PLACE_MANY;
    return true;
}

static bool put_location(places *x, uint32_t i, err *e)
{
    const location *l = &x->m->dict.locations.v[i];
    uint8_t verdict = 0;
    x->lines.n = 0;
    if (!vec_reserve(x->a, &x->lines, l->lines.n)) return err_memory(e);
    for (uint32_t k = 0; k < l->lines.n; k++) x->lines.v[x->lines.n++] = l->lines.at + k;
    if (x->cuts && !filter_lines(x, l, &verdict, e)) return false;
    x->verdict[i] = verdict;
    if (verdict & PLACE_HIDDEN) {
        x->hides = true;
        x->place[i] = PLACE_MANY; /* many[0]: an empty list */
        return true;
    }
    bool collapsed;
    if (!matcher_mapping(&x->m_library, l->mapping, &collapsed, e)) return false;
    if (collapsed) return library_frame(x, l, &x->place[i], e);
    if (x->o->no_inlines && x->lines.n > 1) x->lines.v[0] = x->lines.v[x->lines.n - 1];
    if (x->o->no_inlines && x->lines.n > 1) x->lines.n = 1;
    if (x->v->frames->by == BY_MAPPING) x->lines.n = 0; /* inlined or not: one frame */
    if (x->lines.n > 1) return put_many(x, l, i, e);
    const line *only = x->lines.n ? &x->m->dict.lines.v[x->lines.v[0]] : NULL;
    bool inlined = only && !x->o->no_inlines && x->lines.v[0] + 1 != l->lines.at + l->lines.n;
    return frame_of(x, l, only, inlined, &x->place[i], e);
}

static bool make_room(places *x, size_t n, err *e)
{
    size_t n_strings = x->m->dict.strings.n + 1;
    x->cap = n + 1;
    x->place = arena_new(x->a, uint32_t, x->cap);
    x->verdict = arena_new(x->a, uint8_t, x->cap);
    x->text_of = arena_new(x->a, uint32_t, n_strings);
    x->file_of = arena_new(x->a, uint32_t, n_strings);
    return (x->place && x->verdict && x->text_of && x->file_of) || err_memory(e);
}

bool places_init(places *x, view *v, const model *m, const profile *p, const select_opts *o, err *e)
{
    *x = (places){.v = v, .m = m, .o = o, .a = v->a, .most = 1};
    if (!compile(x, o->focus, "focus", &x->focus, &x->m_focus, e) ||
        !compile(x, o->ignore, "ignore", &x->ignore, &x->m_ignore, e) ||
        !compile(x, o->hide, "hide", &x->hide, &x->m_hide, e) ||
        !compile(x, o->show, "show", &x->show, &x->m_show, e) ||
        !compile(x, o->show_from, "show-from", &x->show_from, &x->m_from, e) ||
        !compile(x, o->collapse, "collapse", &x->collapse, &x->m_collapse, e) ||
        !compile(x, o->collapse_library, "collapse-library", &x->library, &x->m_library, e) ||
        !compile(x, o->collapse_recursion, "collapse-recursion", &x->recursion, &x->m_recursion,
                 e) ||
        !compile(x, o->collapse_direct_recursion, "collapse-direct-recursion", &x->direct,
                 &x->m_direct, e) ||
        !compile_category(x, e) || !compile_own(x, p, e) || !make_room(x, m->dict.locations.n, e))
        return false;
    x->cuts = x->focus || x->ignore || x->hide || x->show || x->show_from || x->collapse ||
              x->category || x->drop;
    x->n = m->dict.locations.n;
    if (!v->many.n && !vec_push(v->a, &v->many)) return err_memory(e);
    for (uint32_t i = 0; i < m->dict.locations.n; i++)
        if (!stopper_step(v->stop, PLACE_STEPS, e) || !put_location(x, i, e)) return false;
    return true;
}

/* ---- tags as frames ---- */

static bool tag_matches(pattern *p, str value, str key, bool *yes, err *e)
{
    *yes = false;
    if (!p) return true;
    if (!pattern_match(p, value, yes, e)) return false;
    return *yes || pattern_match(p, key, yes, e);
}

static bool judge_tag(places *x, str value, str key, uint8_t *verdict, err *e)
{
    bool ignored, focused, hidden, shown, from, collapsed;
    if (!tag_matches(x->ignore, value, key, &ignored, e) ||
        !tag_matches(x->focus, value, key, &focused, e) ||
        !tag_matches(x->hide, value, key, &hidden, e) ||
        !tag_matches(x->show, value, key, &shown, e) ||
        !tag_matches(x->show_from, value, key, &from, e) ||
        !tag_matches(x->collapse, value, key, &collapsed, e))
        return false;
    if (ignored) *verdict |= PLACE_IGNORE, x->v->matched |= 1 << MATCHED_IGNORE;
    if (!ignored && (focused || !x->focus)) *verdict |= PLACE_FOCUS;
    if (focused) x->v->matched |= 1 << MATCHED_FOCUS;
    if (hidden) x->v->matched |= 1 << MATCHED_HIDE;
    if (shown) x->v->matched |= 1 << MATCHED_SHOW;
    if (from) x->v->matched |= 1 << MATCHED_FROM;
    if (collapsed) x->v->matched |= 1 << MATCHED_COLLAPSE;
    if (hidden || (x->show && !shown)) *verdict |= PLACE_HIDDEN;
    if (from) *verdict |= PLACE_FROM;
    if (collapsed) *verdict |= PLACE_COLLAPSE;
    return true;
}

static bool grow(places *x, err *e)
{
    if (x->n < x->cap) return true;
    size_t cap = x->cap * 2;
    if (cap > UINT32_MAX / 2) return err_memory(e);
    uint32_t *place = arena_grow(x->a, x->place, x->cap * sizeof *place, cap * sizeof *place);
    if (!place) return err_memory(e);
    x->place = place;
    uint8_t *verdict = arena_grow(x->a, x->verdict, x->cap, cap);
    if (!verdict) return err_memory(e);
    x->verdict = verdict;
    x->cap = cap;
    return true;
}

bool places_add_tag(places *x, str value, str key, uint32_t *out, err *e)
{
    if (!grow(x, e)) return false;
    uint8_t verdict = 0;
    frame_parts p = {.flags = FRAME_CALLED | FRAME_TAG};
    if (!judge_tag(x, value, key, &verdict, e)) return false;
    if (!frame_table_text(x->v->frames, value, &p.name, e) ||
        !frame_table_text(x->v->frames, key, &p.file, e))
        return false;
    *out = (uint32_t)x->n++;
    x->verdict[*out] = verdict;
    x->place[*out] = PLACE_MANY;
    if (verdict & PLACE_HIDDEN) x->hides = true;
    return (verdict & PLACE_HIDDEN) || frame_table_add(x->v->frames, &p, &x->place[*out], e);
}

/* ---- stacks ---- */

/* drop_frames: finds, from the root, the first dropped frame after one that is not dropped. Removes
 * its callees, and with PLACE_PRUNE the frame itself. */
static void cut_pruned(const places *x, const uint32_t *stack, uint32_t *at, uint32_t *n)
{
    bool user = false;
    for (uint32_t i = *n; i-- > 0;) {
        uint8_t verdict = x->verdict[stack[*at + i]];
        bool drops = verdict & (PLACE_PRUNE | PLACE_PRUNE_BENEATH);
        user |= !drops;
        if (!drops || !user) continue;
        uint32_t gone = verdict & PLACE_PRUNE ? i + 1 : i;
        *at += gone;
        *n -= gone;
        return;
    }
}

/* collapse: removes the callees of the outermost match. */
static void cut_callees(const places *x, const uint32_t *stack, uint32_t *at, uint32_t *n)
{
    for (uint32_t i = *n; i-- > 0;) {
        uint8_t verdict = x->verdict[stack[*at + i]];
        if (!(verdict & PLACE_COLLAPSE) || (verdict & PLACE_HIDDEN)) continue;
        *at += i;
        *n -= i;
        return;
    }
}

bool places_cut(const places *x, const uint32_t *stack, uint32_t *at, uint32_t *n)
{
    if (!x->cuts) return true;
    if (x->drop) cut_pruned(x, stack, at, n);
    uint8_t all = 0;
    uint32_t shown = 0, from = 0; /* from the leaf to the outermost match of show_from */
    for (uint32_t i = 0; i < *n; i++) {
        uint8_t verdict = x->verdict[stack[*at + i]];
        all |= verdict;
        shown += !(verdict & PLACE_HIDDEN);
        if ((verdict & PLACE_FROM) && !(verdict & PLACE_HIDDEN)) from = i + 1;
    }
    if (all & PLACE_IGNORE) return false;
    if (x->focus && !(all & PLACE_FOCUS)) return false;
    if (!shown && *n) return false;
    if (x->show_from && !from) return false;
    if (x->category && *n && !(all & PLACE_CATEGORY)) return false; /* only tags are left */
    if (x->show_from) *n = from;
    if (x->collapse) cut_callees(x, stack, at, n);
    return true;
}

void places_free(places *x)
{
    pattern *const all[] = {x->focus,     x->ignore,   x->hide,    x->show,
                            x->show_from, x->collapse, x->library, x->recursion,
                            x->direct,    x->category, x->drop,    x->keep};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) pattern_free(all[i]);
}
