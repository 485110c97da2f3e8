/* Turns the events of a track into pieces: a stack, its start and its length. Pieces are packed
 * into a few bytes each. Tracks that are out of order are sorted first. */
#include "format/chrome.h"

#include "wire/carried.h"
#include "base/ban.h"

/* ---- packed pieces ---- */

static uint64_t zigzag(int64_t v) { return (uint64_t)v << 1 ^ (uint64_t)(v >> 63); }
static int64_t unzigzag(uint64_t v) { return (int64_t)(v >> 1 ^ (0 - (v & 1))); }

static inline uint8_t *put(uint8_t *p, uint64_t v)
{
    for (; v >= 0x80; v >>= 7) *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    return p;
}

/* Decodes a number that put() wrote. Nothing else writes these bytes, so they need no checks. */
static inline const uint8_t *get(const uint8_t *p, uint64_t *v)
{
    uint64_t r = *p++;
    if (LIKELY(r < 0x80)) return *v = r, p;
    r &= 0x7f;
    for (unsigned shift = 7;; shift += 7) {
        r |= (uint64_t)(*p & 0x7f) << shift;
        if (!(*p++ & 0x80)) break;
    }
    *v = r;
    return p;
}

/* Packs node and "has an attribute" | pause since the previous piece | length | attribute. */
static void on_piece(void *self, uint32_t node, uint32_t attr, int64_t at, int64_t length)
{
    enum { MOST = 5 + 10 + 10 + 5 };
    chrome *c = self;
    chrome_track *t = &c->tracks.v[c->playing];
    if (length == 0) { /* the order of simultaneous events is lost */
        t->n_flat += t->n_pieces && at == t->flat_at;
        t->flat_at = at;
    }
    if (!vec_reserve(c->work, &t->packed, MOST)) {
        c->b.failed = true;
        return;
    }
    uint8_t *p = t->packed.v + t->packed.n;
    p = put(p, (uint64_t)node << 1 | (attr != 0));
    p = put(p, zigzag((int64_t)((uint64_t)at - (uint64_t)t->piece_end)));
    p = put(p, (uint64_t)length);
    if (attr) p = put(p, attr);
    t->packed.n = (size_t)(p - t->packed.v);
    t->piece_end = (int64_t)((uint64_t)at + (uint64_t)length);
    t->n_pieces++;
}

typedef struct piece {
    uint32_t node, attr;
    int64_t at, length, end;
} piece;

static const uint8_t *next_piece(const uint8_t *p, piece *x)
{
    uint64_t node, pause, length, attr = 0;
    p = get(p, &node);
    p = get(p, &pause);
    p = get(p, &length);
    if (node & 1) p = get(p, &attr);
    x->node = (uint32_t)(node >> 1);
    x->attr = (uint32_t)attr;
    x->at = (int64_t)((uint64_t)x->end + (uint64_t)unzigzag(pause));
    x->length = (int64_t)length;
    x->end = (int64_t)((uint64_t)x->at + length);
    return p;
}

/* ---- events ---- */

void chrome_track_init(chrome *c, chrome_track *t)
{
    t->nest = (nest){.t = &c->tree, .piece = on_piece, .self = c};
    nest_reset(&t->nest);
    t->last_ts = t->max_ts = t->flat_at = INT64_MIN;
}

static bool play_event(chrome *c, uint32_t track, const chrome_event *v)
{
    chrome_track *t = &c->tracks.v[track];
    c->playing = track;
    nest_until(&t->nest, v->ts);
    if (v->kind == CHROME_END) {
        t->n_stray += !nest_end(&t->nest);
        return !c->b.failed || err_memory(c->e);
    }
    int64_t end = INT64_MAX;
    if (v->kind == CHROME_COMPLETE && (ckd_add(&end, v->ts, v->dur) || end == INT64_MAX))
        end = INT64_MAX - 1;
    if (!nest_push(&t->nest, v->loc, v->attr, end)) c->b.failed = true;
    return !c->b.failed || err_memory(c->e);
}

/* Whether the event is in order. Of intervals that start together, the longest must come first,
 * because it is the outer one. The duration of a B is not known yet. */
static bool in_order(const chrome_track *t, const chrome_event *v)
{
    if (v->ts != t->last_ts) return v->ts > t->last_ts;
    if (v->kind == CHROME_END || t->last_kind == CHROME_END) return true;
    if (v->kind != t->last_kind) return false;
    return v->kind == CHROME_BEGIN || v->dur <= t->last_dur;
}

static void drop_pieces(chrome *c, chrome_track *t)
{
    t->unsorted = c->any_unsorted = true;
    t->packed.n = 0;
    t->n_pieces = 0;
    t->n_stray = t->n_flat = 0;
    t->flat_at = INT64_MIN;
    t->nest.n_overlaps = 0;
    t->piece_end = 0;
    nest_reset(&t->nest);
}

bool chrome_add(chrome *c, uint32_t track, const chrome_event *v)
{
    chrome_track *t = &c->tracks.v[track];
    if (v->ts > t->max_ts) t->max_ts = v->ts;
    if (t->unsorted) {
        if (!c->again) return true;
        chrome_sortable *slot = t->events.n < UINT32_MAX ? vec_push(c->work, &t->events) : NULL;
        if (!slot) return err_memory(c->e);
        *slot = (chrome_sortable){*v, (uint32_t)(t->events.n - 1)};
        return true;
    }
    if (c->again) return true;
    if (!in_order(t, v)) return drop_pieces(c, t), true;
    t->last_kind = v->kind;
    t->last_dur = v->dur;
    t->last_ts = v->ts;
    return play_event(c, track, v);
}

/* ---- unsorted tracks ---- */

static int by_ts(const void *left, const void *right)
{
    const chrome_sortable *a = left, *b = right;
    if (a->v.ts != b->v.ts) return a->v.ts < b->v.ts ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static int by_dur(const void *left, const void *right)
{
    const chrome_sortable *a = left, *b = right;
    if (a->v.dur != b->v.dur) return a->v.dur > b->v.dur ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Computes the duration of each B from the E that closes it. open[]: scratch, n entries. */
static void measure_begins(chrome_sortable *v, size_t n, uint32_t *open)
{
    size_t depth = 0;
    for (size_t i = 0; i < n; i++) {
        if (v[i].v.kind == CHROME_BEGIN) {
            v[i].v.dur = INT64_MAX;
            open[depth++] = (uint32_t)i;
        } else if (v[i].v.kind == CHROME_END && depth) {
            chrome_event *b = &v[open[--depth]].v;
            if (ckd_sub(&b->dur, v[i].v.ts, b->ts)) b->dur = INT64_MAX;
        }
    }
}

/* Sorts by time. Of intervals that start together without an E between them, the longest comes
 * first; all other ties keep their order in the file. */
static bool sort_events(chrome *c, chrome_sortable *v, size_t n)
{
    arena a = arena_beside(c->work);
    uint32_t *open = arena_array(&a, n, sizeof *open);
    if (!open) return arena_free(&a), err_memory(c->e);
    qsort(v, n, sizeof *v, by_ts);
    measure_begins(v, n, open);
    arena_free(&a);
    for (size_t i = 0, end; i < n; i = end) {
        end = i + 1;
        if (v[i].v.kind == CHROME_END) continue;
        while (end < n && v[end].v.kind != CHROME_END && v[end].v.ts == v[i].v.ts) end++;
        if (end - i > 1) qsort(v + i, end - i, sizeof *v, by_dur);
    }
    return true;
}

static bool finish_track(chrome *c, uint32_t track)
{
    chrome_track *t = &c->tracks.v[track];
    if (t->events.n && !sort_events(c, t->events.v, t->events.n)) return false;
    for (size_t i = 0; i < t->events.n; i++)
        if (!play_event(c, track, &t->events.v[i].v)) return false;
    c->n_unclosed += t->nest.hidden;
    for (size_t i = 0; i < t->nest.open.n; i++) c->n_unclosed += t->nest.open.v[i].end == INT64_MAX;
    c->playing = track;
    nest_finish(&t->nest, t->max_ts);
    c->n_stray += t->n_stray;
    c->n_overlaps += t->nest.n_overlaps;
    c->n_flat += t->n_flat;
    return !c->b.failed || err_memory(c->e);
}

bool chrome_finish_tracks(chrome *c)
{
    for (uint32_t i = 0; i < c->tracks.n; i++)
        if (!finish_track(c, i)) return false;
    return true;
}

/* ---- into the model ---- */

/* The sample key of a node without arguments; valid if `stamp` is that of the current track. */
typedef struct node_key {
    uint32_t stamp, key;
} node_key;

/* The sample key of a node with arguments, cached until another node needs the slot. */
enum { RECENT_KEYS = 1024 };
typedef struct recent_key {
    uint32_t stamp, node, attr, key;
} recent_key;

struct chrome_player {
    chrome *c;
    observe o;
    uint32_t attrs[4];
    size_t n_attrs;
    node_key *key_of; /* per node */
    recent_key recent[RECENT_KEYS];
    uint32_t stamp;
};

static uint32_t key_with(chrome_player *p, uint32_t node, uint32_t attr)
{
    recent_key *r = &p->recent[(node * 31 + attr) % RECENT_KEYS];
    if (r->stamp == p->stamp && r->node == node && r->attr == attr) return r->key;
    p->attrs[p->n_attrs] = attr;
    uint32_t key = observe_key(&p->o, nest_stack(&p->c->tree, node), p->attrs, p->n_attrs + 1);
    *r = (recent_key){p->stamp, node, attr, key};
    return key;
}

static inline uint32_t key_for(chrome_player *p, const piece *x)
{
    if (x->attr) return key_with(p, x->node, x->attr);
    node_key *k = &p->key_of[x->node];
    if (UNLIKELY(k->stamp != p->stamp)) {
        uint32_t key = observe_key(&p->o, nest_stack(&p->c->tree, x->node), p->attrs, p->n_attrs);
        *k = (node_key){p->stamp, key};
    }
    return k->key;
}

static bool put_track(chrome_player *p, const chrome_track *t)
{
    chrome *c = p->c;
    p->n_attrs = chrome_track_attrs(c, t, p->attrs);
    p->stamp++;
    observe_reset(&p->o);
    piece x = {0};
    const uint8_t *at = t->packed.v, *end = at + t->packed.n;
    while (at < end && !c->b.failed) {
        at = next_piece(at, &x);
        uint32_t key = key_for(p, &x);
        if (!c->b.failed) p->o.keys.v[key].n++;
    }
    observe_place(&p->o, OBSERVE_BOTH);
    x = (piece){0};
    for (at = t->packed.v; at < end && !c->b.failed;) {
        at = next_piece(at, &x);
        c->n_negative += x.at < 0;
        observe_put(&p->o, key_for(p, &x), x.at < 0 ? 0 : (uint64_t)x.at, x.length);
    }
    return !c->b.failed || err_memory(c->e);
}

static void open_profile(chrome *c, bool async)
{
    observe_profile(&c->b, async ? STR("async") : STR("wall"), STR("nanoseconds"));
    uint32_t attrs[1 + CHROME_EPOCH_ATTRS] = {
        builder_attribute_bool(&c->b, STR(KILN_ATTR_EVENT_INTERVAL), true)};
    size_t n = 1 + chrome_epoch(c, attrs + 1);
    builder_profile_attrs(&c->b, attrs, n);
}

/* One player serves all processes: its table of nodes has one entry per stack of the trace. */
static chrome_player *player_of(chrome *c)
{
    if (c->player) return c->player;
    chrome_player *p = arena_new(c->work, chrome_player, 1);
    if (!p) return NULL;
    *p = (chrome_player){.c = c, .o = observe_new(&c->b, c->work)};
    p->o.lengths = true;
    p->key_of = arena_new(c->work, node_key, c->tree.nodes.n);
    return p->key_of ? c->player = p : NULL;
}

bool chrome_put_intervals(chrome *c, uint32_t process, bool async)
{
    bool opened = false;
    chrome_player *p = player_of(c);
    if (!p) return err_memory(c->e);
    for (uint32_t at = c->processes.v[process].first_track; at; at = c->tracks.v[at - 1].next) {
        const chrome_track *t = &c->tracks.v[at - 1];
        if (t->async != async || !t->n_pieces) continue;
        if (!opened) open_profile(c, async), observe_window_reset(&p->o);
        opened = true;
        if (!put_track(p, t)) return false;
    }
    if (opened) observe_window(&c->b.m.profiles.v[c->b.m.profiles.n - 1], p->o.first, p->o.last);
    return !c->b.failed || err_memory(c->e);
}
