/* Prints the loss ledger as JSON and text, for every command that converts. */
#include "cli/input.h"

#include "draw/human.h"
#include "draw/text.h"
#include "wire/json.h"
#include "base/ban.h"

static void entry_json(json_out *o, const loss *l)
{
    json_put_object(o);
    json_put_key(o, STR("concept"));
    json_put_str(o, str_of(loss_name(l->concept)));
    json_put_key(o, STR("stage"));
    json_put_str(o, str_of(loss_stage_name(l->stage)));
    json_put_key(o, STR("count"));
    json_put_u64(o, l->count);
    json_put_key(o, STR("first"));
    json_put_object(o);
    json_put_key(o, STR("path"));
    json_put_str(o, str_of(l->path));
    json_put_key(o, STR("value"));
    json_put_str(o, str_of(l->value));
    json_put_object_end(o);
    json_put_key(o, STR("carried_as"));
    if (l->carried_as)
        json_put_str(o, str_of(l->carried_as));
    else
        json_put_null(o);
    json_put_object_end(o);
}

void ledger_json(json_out *o, const ledger *l)
{
    json_put_array(o);
    for (size_t i = 0; i < l->n; i++) entry_json(o, &l->v[i]);
    json_put_array_end(o);
}

enum { INDENT = 17, WIDTH = 80 }; /* INDENT: columns of "  carried     12  " minus one */

/* Wraps text that starts at column INDENT. */
static void put_wrapped(buf *b, const char *text)
{
    buf lines = {0};
    wrap_text(&lines, text, INDENT, WIDTH);
    if (lines.n > INDENT) buf_put(b, lines.p + INDENT, lines.n - INDENT);
    buf_free(&lines);
}

static void detail(buf *b, const char *name, const char *text)
{
    if (!*text) return;
    buf_printf(b, "%*s%s ", INDENT, "", name);
    text_clipped(b, str_of(text), 200);
    buf_putc(b, '\n');
}

static void entry_text(buf *b, const loss *l, bool color)
{
    char count[HUMAN_MAX], what[256];
    buf_printf(b, "  %s%-7s%s %5s  ", paint_on(color, l->carried_as ? PAINT_GREEN : PAINT_YELLOW),
               l->carried_as ? "carried" : "lost", paint_on(color, PAINT_OFF),
               human_count(l->count, count));
    if (l->carried_as)
        snprintf(what, sizeof what, "%s as %s%s%s", loss_name(l->concept), l->carried_as,
                 l->stage == STAGE_INGEST ? ": " : "", l->stage == STAGE_INGEST ? l->value : "");
    else
        snprintf(what, sizeof what, "%s: %s", loss_name(l->concept), loss_what(l->concept));
    put_wrapped(b, what);
    if (l->carried_as) return;
    detail(b, "first at", l->path);
    detail(b, "value", l->value);
}

void ledger_text(buf *b, const ledger *l, bool color)
{
    for (size_t i = 0; i < l->n; i++) entry_text(b, &l->v[i], color);
}
