/* Detects the layout.  The message is walked strictly by the tables of each candidate layout
 * (detect_probe.c).  The first field that does not fit eliminates the candidate.  Index ranges
 * decide among the rest, then the tie rules (docs/spec/layouts.md, "Detection").
 *
 * The next pass runs only when the previous one leaves no candidate with valid indices and a format
 * for every payload.  If all passes fail, they are repeated without the requirement of a format,
 * then without that of valid indices: such data is malformed, and the decoder reports where. */
#include "wire/detect.h"

#include "base/ban.h"
#include <inttypes.h>

/* ---- names ---- */

static const char *const names[LAYOUT_COUNT] = {"unknown", "1.3", "1.4", "1.5", "1.6",
                                                "1.7",     "1.8", "1.9", "1.10"};

const char *layout_name(layout l) { return (unsigned)l < LAYOUT_COUNT ? names[l] : names[0]; }

layout layout_from_name(str name)
{
    if (str_eq(name, STR("current"))) return LAYOUT_CURRENT;
    if (name.n && name.p[0] == 'v') name.p++, name.n--;
    for (layout l = LAYOUT_1_3; l < LAYOUT_COUNT; l++)
        if (str_eq(name, str_of(names[l]))) return l;
    return str_eq(name, STR("1.11")) ? LAYOUT_1_10 : LAYOUT_UNKNOWN;
}

const char *layout_confidence_name(layout_confidence c)
{
    static const char *const text[] = {"forced",   "unique",    "tie-equal",
                                       "tie-rule", "ambiguous", "none"};
    return (unsigned)c < ARRAY_LEN(text) ? text[c] : "none";
}

/* ---- before the walk: the first profile and its first sample eliminate most layouts ---- */

enum { FIRST_FIELDS = 16 }; /* fields of a message that are read */

typedef struct piece {
    const uint8_t *p, *end; /* NULL: none */
} piece;

/* Returns the first length-delimited field with this number. */
static piece first_of(piece in, uint32_t number)
{
    wire_field w;
    for (unsigned i = 0; i < FIRST_FIELDS && in.p < in.end && !probe_next(&in.p, in.end, &w); i++)
        if (w.number == number && w.wire == 2 && w.value <= (size_t)(in.end - w.data))
            return (piece){w.data, w.data + w.value};
    return (piece){NULL, NULL};
}

/* Returns false if a strict walk would fail at one of the first fields of `in` or of its first
 * submessages. */
static bool begins_like(const message_desc *m, piece in, unsigned deeper)
{
    uint32_t last = 0;
    wire_field w;
    for (unsigned i = 0; i < FIRST_FIELDS && in.p < in.end && !probe_next(&in.p, in.end, &w); i++) {
        if (w.number == last) continue;
        last = w.number;
        const field_desc *f = message_field(m, w.number);
        if (!f || !probe_right_wire(PASS_STRICT, f, w.wire)) return false;
        if (w.wire == 2 && w.value > (size_t)(in.end - w.data)) return true;
        piece inner = {0};
        if (w.wire == 2) inner = (piece){w.data, w.data + w.value};
        if (f->type == FT_MESSAGE && deeper && !begins_like(f->message, inner, deeper - 1))
            return false;
    }
    return true;
}

static const message_desc *message_in(const message_desc *m, uint32_t number)
{
    const field_desc *f = m ? message_field(m, number) : NULL;
    return f ? f->message : NULL;
}

/* Returns resource_profiles[0].scope_profiles[0].profiles[0], which every layout has; NULL if it is
 * not among the first fields. */
static piece first_profile(const uint8_t *in, size_t n)
{
    return first_of(first_of(first_of((piece){in, in + n}, 1), 2), 2);
}

static bool profile_fits(layout l, piece profile)
{
    const message_desc *m = message_in(message_in(message_in(schema_profiles_data(l), 1), 2), 2);
    return !m || !profile.p || begins_like(m, profile, 1);
}

/* ---- whether two layouts decode to the same data ---- */

static bool same_name(const char *a, const char *b)
{
    size_t n = strlen(a), k = strlen(b);
    if (n > k) return same_name(b, a);
    /* sample and samples, line and lines: the same field */
    return memcmp(a, b, n) == 0 && (n == k || (n + 1 == k && b[n] == 's'));
}

static const probe_mark *find_mark(const probe *p, const probe_mark *like)
{
    for (size_t i = 0; i < PROBE_MARKS; i++) {
        const probe_mark *k = &p->marks[i];
        if (k->f && k->f->number == like->f->number && same_name(k->m->name, like->m->name))
            return k;
    }
    return NULL;
}

static bool reads_same(const probe *a, const probe *b)
{
    bool nulls =
        (a->layout < LAYOUT_1_8) != (b->layout < LAYOUT_1_8); /* whether entry 0 is a null entry */
    for (size_t i = 0; i < PROBE_MARKS; i++) {
        const probe_mark *x = &a->marks[i];
        if (!x->f) continue;
        const probe_mark *y = find_mark(b, x);
        if (!y || !same_name(x->f->name, y->f->name)) return false;
        if (nulls && x->f->target > TABLE_STRING) return false;
    }
    return true;
}

/* ---- the verdict ---- */

typedef struct candidates {
    probe p[LAYOUT_COUNT];
    uint32_t fits; /* bit per layout */
    bool brief;
} candidates;

static uint32_t bit(layout l) { return 1u << l; }

static layout newest(uint32_t set)
{
    layout l = LAYOUT_CURRENT;
    while (l > LAYOUT_UNKNOWN && !(set & bit(l))) l--;
    return l;
}

static bool one(uint32_t set) { return set && !(set & (set - 1)); }

static void run_all(candidates *c, uint32_t left, probe_pass how, probe_round r, const uint8_t *in,
                    size_t n)
{
    c->fits = 0;
    for (layout l = LAYOUT_1_3; l < LAYOUT_COUNT; l++) {
        if (!(left & bit(l))) continue;
        probe_run(&c->p[l], l, how, r, c->brief, in, n);
        if (!c->p[l].failed) c->fits |= bit(l);
    }
}

/* Requirements in addition to known fields with the right wire types. */
typedef enum demand { DEMAND_NOTHING, DEMAND_RANGES, DEMAND_FORMATS, DEMAND_COUNT } demand;

static uint32_t meets(const candidates *c, demand d)
{
    uint32_t set = 0;
    for (layout l = LAYOUT_1_3; l < LAYOUT_COUNT; l++) {
        bool ok = (d < DEMAND_RANGES || !c->p[l].range[0]) &&
                  (d < DEMAND_FORMATS || !c->p[l].no_format[0]);
        if ((c->fits & bit(l)) && ok) set |= bit(l);
    }
    return set;
}

static void list_text(uint32_t set, char *out, size_t n)
{
    size_t at = 0;
    out[0] = '\0';
    for (layout l = LAYOUT_1_3; l < LAYOUT_COUNT && at < n; l++) {
        if (!(set & bit(l))) continue;
        int k = snprintf(out + at, n - at, "%s%s", at ? ", " : "", layout_name(l));
        at += k > 0 ? (size_t)k : 0;
    }
}

/* Writes why the next newer layout does not fit, or for the newest layout why the next older one
 * does not. */
static void unique_text(const candidates *c, layout_verdict *v)
{
    layout l = v->layout, other = l == LAYOUT_CURRENT ? l - 1 : l + 1;
    const probe *p = &c->p[other];
    snprintf(v->evidence, sizeof v->evidence, "only %s fits; not %s: %s", layout_name(l),
             layout_name(other),
             p->failed     ? p->why
             : p->range[0] ? p->range
                           : p->no_format);
}

static void settle(const candidates *c, layout_verdict *v)
{
    uint32_t set = v->fits;
    v->layout = newest(set);
    if (one(set)) {
        v->confidence = LAYOUT_UNIQUE;
        if (!c->brief) unique_text(c, v);
        return;
    }
    char all[64];
    list_text(set, all, sizeof all);
    uint32_t differ = 0;
    for (layout l = LAYOUT_1_3; l < v->layout; l++)
        if ((set & bit(l)) && !reads_same(&c->p[v->layout], &c->p[l])) differ |= bit(l);
    if (!differ) {
        v->confidence = LAYOUT_TIE_EQUAL;
        snprintf(v->evidence, sizeof v->evidence,
                 "%s fit, and the fields present mean the same; the newest is taken", all);
        return;
    }
    const probe *p = &c->p[v->layout];
    bool tie_c = v->layout == LAYOUT_1_10 && (differ & bit(LAYOUT_1_9));
    if (tie_c && (p->is_v10 || p->is_v9)) {
        v->confidence = LAYOUT_TIE_RULE;
        v->layout = p->is_v10 ? LAYOUT_1_10 : LAYOUT_1_9;
        snprintf(
            v->evidence, sizeof v->evidence, "%s fit; %s", all,
            p->is_v10
                ? "a Sample has different counts in fields 2 and 5: field 2 has attributes, 1.10"
                : "a Sample has field 2 alone, with a 0 or a repeated number: field 2 has "
                  "values, 1.9");
        return;
    }
    if (!tie_c && v->layout >= LAYOUT_1_9 && !(differ & ~bit(LAYOUT_1_8))) {
        v->confidence = LAYOUT_TIE_RULE;
        snprintf(v->evidence, sizeof v->evidence,
                 "%s fit; Profile field 7 has 16 bytes: a profile_id rather than comments, 1.9 or "
                 "newer",
                 all);
        return;
    }
    v->confidence = LAYOUT_AMBIGUOUS;
    snprintf(v->evidence, sizeof v->evidence,
             "%s fit and would decode differently; the newest is taken, name the layout if that is "
             "wrong",
             all);
}

static void none(const candidates *c, layout_verdict *v)
{
    v->confidence = LAYOUT_NONE;
    v->layout = LAYOUT_CURRENT;
    for (layout l = LAYOUT_CURRENT - 1; l >= LAYOUT_1_3; l--)
        if (c->p[l].known > c->p[v->layout].known) v->layout = l;
    const probe *p = &c->p[v->layout];
    snprintf(v->evidence, sizeof v->evidence, "no layout fits; %s fits longest",
             layout_name(v->layout));
    snprintf(v->against, sizeof v->against, "%s (byte %" PRIu64 "%s%s)", p->why, p->at,
             p->where[0] ? ", at " : "", p->where);
}

static const uint32_t all_layouts = (1u << LAYOUT_COUNT) - 2;

static bool any_cut(const candidates *c)
{
    for (layout l = LAYOUT_1_3; l < LAYOUT_COUNT; l++)
        if ((c->fits & bit(l)) && c->p[l].cut) return true;
    return false;
}

/* Runs the rounds until at most one candidate is left or all bytes were read. */
static bool try_pass(candidates *c, probe_pass how, demand d, const uint8_t *in, size_t n,
                     layout_verdict *v)
{
    uint32_t left = all_layouts;
    if (c->brief && how == PASS_STRICT) {
        piece profile = first_profile(in, n);
        for (layout l = LAYOUT_1_3; l < LAYOUT_COUNT; l++)
            if (!profile_fits(l, profile)) left &= ~bit(l);
    }
    for (probe_round r = GLANCE; r < ROUND_COUNT && left; r++) {
        run_all(c, left, how, r, in, n);
        left = meets(c, d);
        /* The first round is enough for the current layout; another candidate may still fail later. */
        if (left == bit(LAYOUT_CURRENT) || !any_cut(c)) break;
        if (r > GLANCE && (one(left) || (newest(left) == LAYOUT_1_10 && c->p[LAYOUT_1_10].is_v10)))
            break;
    }
    v->fits = left;
    if (!left) return false;
    settle(c, v);
    size_t at = strlen(v->evidence);
    if (how == PASS_UNKNOWN)
        snprintf(v->evidence + at, sizeof v->evidence - at, "; unknown fields skipped, first %s",
                 c->p[v->layout].newer);
    return true;
}

static void detect(const void *in, size_t n, bool brief, layout_verdict *v)
{
    static const uint8_t nothing[1];
    const uint8_t *p = in && n ? in : nothing;
    candidates c; /* run_all initializes the candidates that it runs */
    c.fits = 0, c.brief = brief;
    for (demand d = DEMAND_COUNT; d-- > DEMAND_NOTHING;)
        for (probe_pass how = PASS_STRICT; how < PASS_COUNT; how++) {
            *v = (layout_verdict){0};
            if (try_pass(&c, how, d, p, n, v)) return;
        }
    run_all(&c, all_layouts, PASS_LOOSE, LOOK, p, n); /* finds the layout that fits longest */
    none(&c, v);
}

void layout_detect(const void *in, size_t n, layout_verdict *v) { detect(in, n, false, v); }
void layout_detect_brief(const void *in, size_t n, layout_verdict *v) { detect(in, n, true, v); }
