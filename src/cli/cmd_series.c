/* `kiln series`: prints sums over time as text, JSON and SVG; heat_out.c draws --heat. */
#include "base/time.h"
#include "cli/heat_out.h"
#include "cli/query.h"
#include "draw/series_svg.h"
#include "draw/text.h"
#include "query/timeline.h"
#include "wire/json.h"

#include "base/ban.h"

/* BAR: columns of a bar. BARS: bars of a picture. NARROW: width below which dates are shortened. */
enum { BAR = 40, BARS = 200, NARROW = 60 };

static void put_json(query *q, const series *s)
{
    json_out o = {.b = &q->c->out, .pretty = true};
    json_put_object(&o);
    query_header_json(q, &o);
    json_put_key(&o, STR("dated"));
    json_put_bool(&o, !query_clock(q, 0).undated);
    json_put_key(&o, STR("step_nano"));
    if (s->step)
        json_put_u64(&o, s->step);
    else
        json_put_null(&o);
    json_put_key(&o, STR("steps"));
    json_put_array(&o);
    for (size_t i = 0; i < s->n; i++) {
        o.flat_at = o.depth + 1;
        json_put_object(&o);
        json_put_key(&o, STR("time_unix_nano"));
        json_put_u64(&o, s->time[i]);
        json_put_key(&o, STR("value"));
        json_put_i64(&o, s->sum[i]);
        json_put_key(&o, STR("count"));
        json_put_u64(&o, s->count[i]);
        json_put_object_end(&o);
    }
    json_put_array_end(&o);
    json_put_key(&o, STR("untimed"));
    json_put_object(&o);
    json_put_key(&o, STR("value"));
    json_put_i64(&o, s->untimed_sum);
    json_put_key(&o, STR("count"));
    json_put_u64(&o, s->n_untimed);
    json_put_object_end(&o);
    json_put_object_end(&o);
    buf_putc(&q->c->out, '\n');
}

/* Draws a bar with a resolution of an eighth of a column. */
static void put_bar(buf *b, double share, size_t columns)
{
    static const char *const eighth[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    unsigned n = share > 0 ? (unsigned)(share * (double)columns * 8 + 0.5) : 0;
    text_repeat(b, "█", n / 8);
    buf_z(b, eighth[n % 8]);
}

/* On a narrow terminal, prints the first time once and all others relative to it. */
static void shorten_clock(buf *b, human_clock *clock, uint64_t first)
{
    char when[HUMAN_MAX];
    if (clock->undated) return;
    buf_printf(b, "from %s\n", human_moment(clock, first, when));
    *clock = (human_clock){.undated = true, .base = first};
}

static void put_text(query *q, const series *s)
{
    buf *b = &q->c->out;
    size_t width = cli_width(q->c);
    char when[HUMAN_MAX], value[HUMAN_MAX];
    int64_t most = 1;
    human_clock clock = query_clock(q, s->n ? s->time[0] : 0);
    for (size_t i = 0; i < s->n; i++)
        if (s->sum[i] > most) most = s->sum[i];
    query_header(q, b);
    if (s->step) buf_printf(b, "steps of %s\n", human_duration(s->step, when));
    if (width < NARROW && s->n) shorten_clock(b, &clock, s->time[0]);
    for (size_t i = 0; i < s->n; i++) {
        const char *at = s->time[i] ? human_moment(&clock, s->time[i], when) : "(no time)";
        size_t used = strlen(at) + 14, room = width > used + 1 ? width - used - 1 : 1;
        buf_printf(b, "%s %11s  ", at, query_value(q, s->sum[i], value));
        put_bar(b, (double)s->sum[i] / (double)most, room < BAR ? room : BAR);
        buf_putc(b, '\n');
    }
    if (s->n_untimed)
        buf_printf(b, "%-*s %11s\n", (int)strlen(when), "(no time)",
                   query_value(q, s->untimed_sum, value));
}

/* Makes the header show the sum of the rows, which does not contain replaced cumulative
 * profiles. */
static void subtract_replaced(view *v, const series *s)
{
    v->sum =
        add_saturating(v->sum, s->replaced_sum > INT64_MIN ? -s->replaced_sum : INT64_MAX, NULL);
    v->total = add_saturating(v->total,
                              s->replaced_total > INT64_MIN ? -s->replaced_total : INT64_MAX, NULL);
}

static bool draw_svg(query *q, const series *s, err *e)
{
    cli *c = q->c;
    buf out = {0};
    series_opts o = {.title = input_title(c->args[0]),
                     .type = q->v.type,
                     .unit = q->v.unit,
                     .clock = query_clock(q, s->n ? s->time[0] : 0),
                     .width = c->o.width.n};
    bool ok = series_svg(s, &o, &out, e) && picture_write(c, &out, e);
    buf_free(&out);
    return ok;
}

static bool print_series(query *q, uint64_t step, err *e)
{
    const cli_options *o = &q->c->o;
    series s;
    if (o->output && !picture_is_svg(q->c, e)) return false;
    if (!series_of(&q->v, step, o->output ? BARS : 0, &q->arena, &s, e)) return false;
    subtract_replaced(&q->v, &s);
    if (o->output) return draw_svg(q, &s, e);
    if (o->json)
        put_json(q, &s);
    else
        put_text(q, &s);
    return true;
}

exit_code cmd_series(cli *c)
{
    query q = {.o = {.by_sample = true}};
    err e = {0};
    uint64_t step = 0;
    if (c->o.step && (!duration_parse(str_of(c->o.step), &step) || !step)) {
        cli_fail(c, EXIT_USAGE, "--step must be a duration such as 100ms, not `%s`", c->o.step);
        return c->worst;
    }
    q.keep_replaced = true;
    if (!query_open(&q, c, c->args, c->n_args, BY_FUNCTION)) return c->worst;
    if (!(c->o.heat ? heat_out(&q, &e) : print_series(&q, step, &e))) query_fail(&q, &e);
    query_close(&q);
    return c->worst;
}
