/* Reads an evented profile: frames that open and close become pieces (nest.h). */
#include "format/speedscope_read.h"

#include "base/ban.h"

static void add_piece(speedscope_reader *r, uint32_t node, int64_t at, int64_t length)
{
    speedscope_piece *x = vec_push(r->work, &r->pieces);
    if (x)
        *x = (speedscope_piece){node, at, length};
    else
        r->b.failed = true;
}

/* Adds a piece. Values that are not times cannot represent a pause, so an empty stack marks it. */
void speedscope_on_piece(void *self, uint32_t node, uint32_t attr, int64_t at, int64_t length)
{
    speedscope_reader *r = self;
    (void)attr;
    if (!r->timed && at > r->until) {
        r->n_pauses++;
        if (r->pieces.n) add_piece(r, 0, at, 0);
    }
    add_piece(r, node, at, length);
    r->until = at + length;
}

typedef struct event {
    bool opens, typed, placed, framed;
    uint32_t location;
    int64_t at;
} event;

static bool read_event(json *j, speedscope_reader *r, const speedscope_section *p, event *v)
{
    *v = (event){0};
    if (j->tok != JSON_OBJECT) return json_expected(j, "an event");
    while (json_key(j)) {
        bool ok = true;
        if (json_is(j, "type")) {
            ok = json_next(j) == JSON_STRING || json_expected(j, "text");
            v->opens = ok && str_eq(j->text, STR("O"));
            v->typed = v->opens || (ok && str_eq(j->text, STR("C")));
        } else if (json_is(j, "frame")) {
            json_next(j);
            ok = v->framed = speedscope_frame(j, r, &v->location);
        } else if (json_is(j, "at")) {
            json_next(j);
            ok = v->placed = json_to_scaled(j, p->scale, &v->at, &r->rounded);
        } else {
            ok = json_skip_value(j);
        }
        if (!ok) return false;
    }
    if (j->bad) return false;
    return (v->typed && v->framed && v->placed) ||
           json_fail(j, "an event requires a type (O or C), a frame and a time");
}

static bool apply_event(json *j, nest *n, const event *v, bool first)
{
    if (first) n->at = v->at;
    if (v->at < n->at) return json_fail(j, "the time decreases");
    nest_until(n, v->at);
    if (v->opens) return nest_push(n, v->location, 0, INT64_MAX) || err_memory(j->e);
    bool on_top = n->hidden || (n->open.n && n->open.v[n->open.n - 1].location == v->location);
    return (on_top && nest_end(n)) || json_fail(j, "closes a frame that is not the innermost");
}

bool speedscope_read_evented(speedscope_reader *r, const speedscope_section *p, err *e)
{
    json j = json_open_slice(p->events, r->work, e);
    if (!p->events.bytes.n) return err_set(e, ERR_MALFORMED, "an evented profile requires events");
    nest *n = &r->open;
    nest_reset(n);
    n->at = r->until = p->start;
    r->timed = p->unit->is_time;
    if (!json_expect_array(&j)) return false;
    size_t i = 0;
    for (; json_element(&j); i++) {
        event v;
        if (!read_event(&j, r, p, &v) || !apply_event(&j, n, &v, i == 0))
            return err_in(e, "events[%zu]", i);
    }
    if (n->open.n) r->n_unclosed += n->open.n;
    nest_finish(n, p->end);
    return !j.bad;
}
