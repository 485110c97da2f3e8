/* Reads one profile of the file: its fields in any order, then its lists. */
#include "format/speedscope_read.h"

#include "base/ban.h"

static bool section_type(json *j, speedscope_section *p)
{
    if (json_next(j) != JSON_STRING) return json_expected(j, "text");
    p->evented = str_eq(j->text, STR("evented"));
    p->typed = true;
    return p->evented || str_eq(j->text, STR("sampled")) ||
           json_fail(j, "the type of a profile must be evented or sampled");
}

static bool section_unit(json *j, speedscope_section *p)
{
    if (json_next(j) != JSON_STRING) return json_expected(j, "text");
    p->unit = speedscope_unit_named(j->text);
    return p->unit ||
           json_fail(j, "unknown unit \"%.*s\"", j->text.n < 40 ? (int)j->text.n : 40, j->text.p);
}

static bool section_field(json *j, speedscope_reader *r, speedscope_section *p, json_slice *start,
                          json_slice *end)
{
    if (json_is(j, "type")) return section_type(j, p);
    if (json_is(j, "unit")) return section_unit(j, p);
    if (json_is(j, "name")) return speedscope_text(j, r, &p->name);
    if (json_is(j, "startValue")) return json_take_slice(j, start);
    if (json_is(j, "endValue")) return json_take_slice(j, end);
    if (json_is(j, "samples")) return json_take_slice(j, &p->samples);
    if (json_is(j, "weights")) return json_take_slice(j, &p->weights);
    if (json_is(j, "events")) return json_take_slice(j, &p->events);
    ledger_add(r->l, STAGE_READ, LOSS_UNKNOWN_FIELD, NULL, "profiles[]", j->text);
    return json_skip_value(j);
}

/* Returns the number of decimals that the numbers of a list need. */
static int digits_of(speedscope_reader *r, json_slice s)
{
    enum { MOST = 9 };
    int most = 0;
    err ignored = {0};
    json j = json_open_slice(s, r->work, &ignored);
    if (!s.bytes.n) return 0;
    while (json_next(&j) > JSON_END) {
        const char *point = j.tok == JSON_NUMBER ? memchr(j.text.p, '.', j.text.n) : NULL;
        if (!point) continue;
        int n = 0, used = 0;
        for (const char *p = point + 1; p < j.text.p + j.text.n && *p >= '0' && *p <= '9'; p++)
            n++, used = *p != '0' ? n : used;
        if (used > most) most = used;
    }
    return most < MOST ? most : MOST;
}

/* Converts startValue or endValue, whose unit was unknown when it was read. */
static bool bound(speedscope_reader *r, const speedscope_section *p, json_slice s, int64_t *v,
                  err *e)
{
    if (!s.bytes.n) return true;
    json j = json_open_slice(s, r->work, e);
    return json_next(&j) == JSON_NULL || json_to_scaled(&j, p->scale, v, &r->rounded);
}

bool speedscope_read_section(json *j, speedscope_reader *r, speedscope_section *p)
{
    json_slice start = {0}, end = {0};
    *p = (speedscope_section){0};
    r->pieces.n = 0;
    r->rounded = false;
    if (j->tok != JSON_OBJECT) return json_expected(j, "a profile");
    while (json_key(j))
        if (!section_field(j, r, p, &start, &end)) return false;
    if (j->bad) return false;
    if (!p->typed || !p->unit) return json_fail(j, "a profile requires a type and a unit");
    p->scale = p->unit->scale;
    if (!p->unit->is_time) p->scale = digits_of(r, p->evented ? p->events : p->weights);
    if (!bound(r, p, start, &p->start, j->e) || !bound(r, p, end, &p->end, j->e)) return false;
    return p->evented ? speedscope_read_evented(r, p, j->e) : speedscope_read_sampled(r, p, j->e);
}
