/* Prints findings, rules and repairs of `kiln check` as text and JSON (docs/check.md). */
#include "cli/check_out.h"

#include "draw/human.h"
#include "draw/text.h"
#include "wire/json.h"
#include "base/ban.h"
#include <inttypes.h>

enum { WIDTH = 80, INDENT = 12 };

static paint severity_paint(check_severity s)
{
    return s == CHECK_ERROR ? PAINT_RED : s == CHECK_WARNING ? PAINT_YELLOW : PAINT_DIM;
}

static void put_severity(buf *b, check_severity s, bool color)
{
    buf_printf(b, "%s%-8s%s", paint_on(color, severity_paint(s)), check_severity_name(s),
               paint_on(color, PAINT_OFF));
}

static void put_labelled(buf *b, const char *label, const char *text, bool color)
{
    buf_printf(b, "  %s%-*s%s", paint_on(color, PAINT_DIM), INDENT - 2, label,
               paint_on(color, PAINT_OFF));
    buf safe = {0}, lines = {0};
    text_clipped(&safe, str_of(text), 400);
    buf_putc(&safe, '\0');
    wrap_text(&lines, safe.failed ? "" : safe.p, INDENT, WIDTH);
    if (lines.n > INDENT)
        buf_put(b, lines.p + INDENT, lines.n - INDENT);
    else
        buf_putc(b, '\n');
    buf_free(&safe);
    buf_free(&lines);
}

static void put_place(buf *b, const check_example *x, bool color)
{
    buf_printf(b, "  %s%-*s%s", paint_on(color, PAINT_DIM), INDENT - 2, "at",
               paint_on(color, PAINT_OFF));
    text_clipped(b, x->path[0] ? str_of(x->path) : STR("the message"), 400);
    if (x->offset != NO_OFFSET) buf_printf(b, " (byte %" PRIu64 ")", x->offset);
    buf_putc(b, '\n');
}

static void finding_text(buf *b, const check_finding *f, bool color)
{
    char n[HUMAN_MAX];
    buf_putc(b, '\n');
    put_severity(b, f->rule->severity, color);
    buf_printf(b, "  %s%s%s  ", paint_on(color, PAINT_BOLD), f->rule->id,
               paint_on(color, PAINT_OFF));
    text_clipped(b, str_of(f->rule->title), 52);
    if (f->count > 1) buf_printf(b, " (%s times)", human_count(f->count, n));
    buf_putc(b, '\n');
    for (size_t i = 0; i < f->n_examples; i++) {
        put_place(b, &f->examples[i], color);
        if (f->examples[i].found && *f->examples[i].found)
            put_labelled(b, "found", f->examples[i].found, color);
        if (i == 0 && f->examples[i].expected)
            put_labelled(b, "expected", f->examples[i].expected, color);
    }
    if (f->count > f->n_examples) {
        human_count(f->count - f->n_examples, n);
        buf_printf(b, "  %*s... and %s more\n", INDENT - 2, "", n);
    }
    if (f->rule->fix) put_labelled(b, "fix", f->rule->fix, color);
}

static void put_count(buf *b, uint64_t n, const char *one, const char *many)
{
    char t[HUMAN_MAX];
    buf_printf(b, "%s %s", human_count(n, t), n == 1 ? one : many);
}

static void put_path(buf *b, const char *path, bool color)
{
    buf_printf(b, "%s", paint_on(color, PAINT_BOLD));
    text_clipped(b, str_of(path), 400);
    buf_printf(b, "%s: ", paint_on(color, PAINT_OFF));
}

static void put_counts(buf *b, const check_report *r, bool color)
{
    if (!r->errors && !r->warnings && !r->infos) {
        buf_printf(b, "%sfine%s\n", paint_on(color, PAINT_GREEN), paint_on(color, PAINT_OFF));
        return;
    }
    put_count(b, r->errors, "error", "errors");
    buf_z(b, ", ");
    put_count(b, r->warnings, "warning", "warnings");
    if (r->infos) buf_z(b, ", "), put_count(b, r->infos, "remark", "remarks");
    buf_putc(b, '\n');
}

void check_summary(cli *c, const char *path, uint64_t payloads, const check_report *sum)
{
    put_path(&c->out, path, c->term.color);
    put_count(&c->out, payloads, "payload", "payloads");
    buf_z(&c->out, ", ");
    put_counts(&c->out, sum, c->term.color);
}

void check_text(cli *c, const char *path, const check_report *r)
{
    bool color = c->term.color;
    put_path(&c->out, path, color);
    put_counts(&c->out, r, color);
    for (int s = CHECK_ERROR; s >= CHECK_INFO; s--)
        for (size_t i = 0; i < r->n_findings; i++)
            if ((int)r->findings[i].rule->severity == s)
                finding_text(&c->out, &r->findings[i], color);
    for (size_t i = 0; i < r->n_notes; i++) {
        if (i == 0) buf_putc(&c->out, '\n');
        put_labelled(&c->out, "note", r->notes[i], color);
    }
}

/* ---- JSON ---- */

static void put_str(json_out *o, const char *key, const char *value)
{
    json_put_key(o, str_of(key));
    if (value)
        json_put_str(o, str_of(value));
    else
        json_put_null(o);
}

static void example_json(json_out *o, const check_example *x)
{
    json_put_object(o);
    put_str(o, "path", x->path);
    put_str(o, "found", x->found);
    put_str(o, "expected", x->expected);
    json_put_key(o, STR("offset"));
    if (x->offset == NO_OFFSET)
        json_put_null(o);
    else
        json_put_u64(o, x->offset);
    json_put_object_end(o);
}

static void finding_json(json_out *o, const check_finding *f)
{
    json_put_object(o);
    put_str(o, "rule", f->rule->id);
    put_str(o, "severity", check_severity_name(f->rule->severity));
    put_str(o, "level", f->rule->level);
    put_str(o, "title", f->rule->title);
    put_str(o, "fix", f->rule->fix);
    json_put_key(o, STR("count"));
    json_put_u64(o, f->count);
    json_put_key(o, STR("examples"));
    json_put_array(o);
    for (size_t i = 0; i < f->n_examples; i++) example_json(o, &f->examples[i]);
    json_put_array_end(o);
    json_put_object_end(o);
}

static void put_u64(json_out *o, const char *key, uint64_t v)
{
    json_put_key(o, str_of(key));
    json_put_u64(o, v);
}

void check_json(json_out *o, const check_report *r)
{
    put_u64(o, "errors", r->errors);
    put_u64(o, "warnings", r->warnings);
    put_u64(o, "infos", r->infos);
    json_put_key(o, STR("findings"));
    json_put_array(o);
    for (size_t i = 0; i < r->n_findings; i++) finding_json(o, &r->findings[i]);
    json_put_array_end(o);
    json_put_key(o, STR("notes"));
    json_put_array(o);
    for (size_t i = 0; i < r->n_notes; i++) json_put_str(o, str_of(r->notes[i]));
    json_put_array_end(o);
}

/* ---- the list of rules ---- */

#define TODAY "1.8-1.11"

void check_rules_text(cli *c)
{
    size_t n;
    const check_rule *r = check_rules(&n);
    for (size_t i = 0; i < n; i++) {
        buf_printf(&c->out, "%s%-5s%s ", paint_on(c->term.color, PAINT_BOLD), r[i].id,
                   paint_on(c->term.color, PAINT_OFF));
        if (r[i].unseen)
            buf_printf(&c->out, "%-8s", "-");
        else
            put_severity(&c->out, r[i].severity, c->term.color);
        buf_printf(&c->out, " %-11s ", r[i].level);
        text_clipped(&c->out, str_of(r[i].title), 52);
        char where[CHECK_KINDS_MAX];
        if (strcmp(check_kinds_text(r[i].kinds, where, sizeof where), TODAY) != 0)
            buf_printf(&c->out, " (%s)", where);
        buf_putc(&c->out, '\n');
    }
    buf_z(&c->out,
          "\n- means that no data can show a violation. Parentheses list the layouts and\n"
          "formats of a rule that does not apply to " TODAY ". --json adds expectation, fix and\n"
          "source.\n");
}

void check_rules_json(cli *c)
{
    size_t n;
    const check_rule *r = check_rules(&n);
    json_out o = {.b = &c->out, .pretty = true};
    json_put_object(&o);
    json_put_key(&o, STR("schema"));
    json_put_i64(&o, 1);
    json_put_key(&o, STR("rules"));
    json_put_array(&o);
    for (size_t i = 0; i < n; i++) {
        json_put_object(&o);
        put_str(&o, "rule", r[i].id);
        put_str(&o, "severity", check_severity_name(r[i].severity));
        put_str(&o, "level", r[i].level);
        put_str(&o, "title", r[i].title);
        put_str(&o, "expected", r[i].expected);
        put_str(&o, "fix", r[i].fix);
        put_str(&o, "source", r[i].source);
        put_str(&o, "unseen", r[i].unseen);
        char where[CHECK_KINDS_MAX];
        put_str(&o, "layouts", check_kinds_text(r[i].kinds, where, sizeof where));
        json_put_key(&o, STR("fixable"));
        json_put_bool(&o, r[i].fixable);
        json_put_object_end(&o);
    }
    json_put_array_end(&o);
    json_put_object_end(&o);
    buf_putc(&c->out, '\n');
}

void fix_text(cli *c, const char *path, const fix_report *r)
{
    char t[HUMAN_MAX];
    if (!r->n) buf_printf(&c->out, "%s: nothing to repair\n", path);
    for (size_t i = 0; i < r->n; i++) {
        buf_printf(&c->out, "%s%-5s%s %s (%s)\n", paint_on(c->term.color, PAINT_BOLD), r->v[i].rule,
                   paint_on(c->term.color, PAINT_OFF), r->v[i].action,
                   human_count(r->v[i].count, t));
        if (r->v[i].path[0]) buf_printf(&c->out, "      first at %s\n", r->v[i].path);
    }
}

void fix_json(json_out *o, const fix_report *r)
{
    json_put_key(o, STR("repairs"));
    json_put_array(o);
    for (size_t i = 0; i < r->n; i++) {
        json_put_object(o);
        json_put_key(o, STR("rule"));
        json_put_str(o, str_of(r->v[i].rule));
        json_put_key(o, STR("action"));
        json_put_str(o, str_of(r->v[i].action));
        json_put_key(o, STR("count"));
        json_put_u64(o, r->v[i].count);
        json_put_key(o, STR("path"));
        json_put_str(o, str_of(r->v[i].path));
        json_put_object_end(o);
    }
    json_put_array_end(o);
}
