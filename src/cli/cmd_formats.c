/* `kiln formats`: prints the format registry (format/format.h) as text and JSON. */
#include "cli/cli.h"

#include "format/format.h"
#include "wire/json.h"
#include "base/ban.h"

static void put_features(json_out *o, const format *f)
{
    uint32_t carries = format_carries(f);
    json_put_key(o, STR("carries"));
    if (!carries) {
        json_put_null(o); /* not stated */
        return;
    }
    json_put_object(o);
    for (unsigned k = 0; k < FEATURE_COUNT; k++) {
        json_put_key(o, str_of(format_feature_name((format_feature)k)));
        json_put_bool(o, carries >> k & 1);
    }
    json_put_object_end(o);
}

static void put_suffixes(json_out *o, const char *p)
{
    json_put_key(o, STR("suffixes"));
    json_put_array(o);
    while (p && *p) {
        size_t n = strcspn(p, " ");
        json_put_str(o, (str){p, n});
        p += n + (p[n] == ' ');
    }
    json_put_array_end(o);
}

static void put_format(json_out *o, const format *f)
{
    json_put_object(o);
    json_put_key(o, STR("name"));
    json_put_str(o, str_of(f->name));
    json_put_key(o, STR("what"));
    json_put_str(o, str_of(f->what));
    json_put_key(o, STR("read"));
    json_put_bool(o, f->read != NULL);
    json_put_key(o, STR("write"));
    json_put_bool(o, f->write != NULL);
    put_suffixes(o, f->suffixes);
    put_features(o, f);
    json_put_object_end(o);
}

static void put_json(cli *c, const format *const *all, size_t n)
{
    json_out o = {.b = &c->out, .pretty = true};
    json_put_object(&o);
    json_put_key(&o, STR("schema"));
    json_put_i64(&o, 1);
    json_put_key(&o, STR("formats"));
    json_put_array(&o);
    for (size_t i = 0; i < n; i++) put_format(&o, all[i]);
    json_put_array_end(&o);
    json_put_object_end(&o);
    buf_putc(&c->out, '\n');
}

enum { LEFT = 14, WIDTH = 80 };

/* Prints "carries a, b, c", or "carries everything but c" if that is shorter. */
static void put_carries(cli *c, const format *f)
{
    uint32_t carries = format_carries(f);
    bool missing = (unsigned)__builtin_popcount(carries) * 2 > FEATURE_COUNT;
    const char *comma = " ";
    buf b = {0};
    buf_z(&b, missing ? "carries everything" : "carries");
    if (missing && carries != CARRIES_ALL) buf_z(&b, " but");
    for (unsigned k = 0; k < FEATURE_COUNT; k++) {
        if ((carries >> k & 1) == missing) continue;
        buf_printf(&b, "%s%s", comma, format_feature_what((format_feature)k));
        comma = ", ";
    }
    buf_putc(&b, '\0');
    if (carries && !b.failed) wrap_text(&c->out, b.p, LEFT, WIDTH);
    buf_free(&b);
}

static void put_text(cli *c, const format *f)
{
    bool color = c->term.color;
    buf_printf(&c->out, "%s%-*s%s%s%s%s\n", paint_on(color, PAINT_BOLD), LEFT, f->name,
               paint_on(color, PAINT_OFF),
               f->read && f->write ? "read, write"
               : f->read           ? "read"
                                   : "write",
               f->write && f->suffixes ? "  " : "", f->write && f->suffixes ? f->suffixes : "");
    wrap_text(&c->out, f->what, LEFT, WIDTH);
    put_carries(c, f);
}

exit_code cmd_formats(cli *c)
{
    size_t n;
    const format *const *all = formats(&n);
    if (c->o.json) {
        put_json(c, all, n);
        return EXIT_FINE;
    }
    for (size_t i = 0; i < n; i++) put_text(c, all[i]);
    return EXIT_FINE;
}
