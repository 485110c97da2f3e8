/* Reads shared.frames. They are stored as text and become locations when a stack uses them. */
#include "format/speedscope_read.h"

#include "base/ban.h"
#include <inttypes.h>

static bool frame_list(json *j, speedscope_reader *r)
{
    if (!json_expect_array(j)) return false;
    while (json_element(j)) {
        uint64_t at = j->at;
        speedscope_slot *f = vec_push(r->work, &r->frames);
        if (!f) return err_memory(j->e);
        if (j->tok != JSON_OBJECT) return json_expected(j, "a frame");
        if (!json_skip_open(j)) return false;
        const char *from = j->window + (at - j->base);
        f->text = (json_slice){{from, (size_t)(j->p - from)}, at};
    }
    return !j->bad;
}

bool speedscope_read_frames(speedscope_reader *r, err *e)
{
    json j = json_open_slice(r->shared, r->work, e);
    if (!json_expect_object(&j)) return err_in(e, "shared");
    while (json_key(&j)) {
        bool ok = json_is(&j, "frames") ? frame_list(&j, r) : json_skip_value(&j);
        if (!ok) return err_in(e, "shared.frames[%zu]", r->frames.n ? r->frames.n - 1 : 0);
    }
    return !j.bad;
}

static bool number_or_null(json *j, int64_t *v)
{
    return json_next(j) == JSON_NULL || json_to_i64(j, INT64_MIN, INT64_MAX, v);
}

static bool make_frame(speedscope_reader *r, speedscope_slot *f, err *e)
{
    json j = json_open_slice(f->text, r->work, e);
    function fn = {0};
    line l = {0};
    bool ok = json_expect_object(&j);
    while (ok && json_key(&j)) {
        str text = {0};
        if (json_is(&j, "name")) {
            ok = speedscope_text(&j, r, &text);
            fn.name = builder_string(&r->b, text);
        } else if (json_is(&j, "file")) {
            ok = speedscope_text(&j, r, &text);
            fn.filename = builder_string(&r->b, text);
        } else if (json_is(&j, "line")) {
            ok = number_or_null(&j, &l.line);
        } else if (json_is(&j, "col")) {
            ok = number_or_null(&j, &l.column);
        } else {
            ok = json_skip_value(&j);
            ledger_add(r->l, STAGE_READ, LOSS_UNKNOWN_FIELD, NULL, "shared.frames[]", (str){0});
        }
    }
    if (!ok || j.bad) return err_in(e, "shared.frames[%zu]", (size_t)(f - r->frames.v));
    l.function = builder_function(&r->b, &fn);
    f->location = builder_location(&r->b, 0, 0, &l, 1, NULL, 0) + 1;
    return true;
}

bool speedscope_frame(json *j, speedscope_reader *r, uint32_t *loc)
{
    uint64_t i;
    if (j->tok != JSON_NUMBER) return json_expected(j, "the index of a frame");
    if (!json_to_u64(j, UINT32_MAX, &i)) return false;
    if (i >= r->frames.n) return json_fail(j, "frame %" PRIu64 " of %zu", i, r->frames.n);
    speedscope_slot *f = &r->frames.v[i];
    if (!f->location && !make_frame(r, f, j->e)) return false;
    *loc = f->location - 1;
    return true;
}
