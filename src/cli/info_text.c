/* `kiln info` as text: 80 columns, the most important facts first.  Long lists are truncated;
 * --json has everything. */
#include "cli/info.h"

#include "wire/anchor.h"
#include "wire/attributes.h"
#include "query/about.h"
#include "draw/human.h"
#include "draw/text.h"
#include "base/ban.h"
#include <inttypes.h>

enum {
    WIDTH = 80,
    LABEL = 14,          /* "  dictionary  " */
    MAX_PROFILES = 12,   /* profiles shown in full */
    MAX_ATTRIBUTES = 16, /* shown of a resource or profile */
    MAX_KEY = 32,        /* columns of an attribute's name before its value */
    MAX_PROSE = 1000,    /* columns of evidence */
    MAX_COMMENT = 8000,  /* columns of one comment */
    MAX_SHARES = 8,
    BAR = 24,
};

typedef struct page {
    buf *b;
    bool color;
    const info *f;
    const model *m;
} page;

static void paint_str(page *p, paint how, const char *text)
{
    buf_printf(p->b, "%s%s%s", paint_on(p->color, how), text, paint_on(p->color, PAINT_OFF));
}

/* Prints the left column, LABEL columns wide. */
static void label(page *p, const char *name)
{
    buf_printf(p->b, "  %s%-*s%s", paint_on(p->color, PAINT_DIM), LABEL - 2, name,
               paint_on(p->color, PAINT_OFF));
}

/* Wraps text in the column to the right of a label. */
static void prose(page *p, str text, size_t max)
{
    buf safe = {0}, lines = {0};
    text_clipped(&safe, text, max);
    buf_putc(&safe, '\0');
    wrap_text(&lines, safe.failed ? "" : safe.p, LABEL, WIDTH);
    if (lines.n > LABEL)
        buf_put(p->b, lines.p + LABEL, lines.n - LABEL);
    else
        buf_putc(p->b, '\n');
    buf_free(&safe);
    buf_free(&lines);
}

static void number(page *p, uint64_t n, const char *one, const char *many)
{
    char t[HUMAN_MAX];
    buf_printf(p->b, "%s %s", human_count(n, t), n == 1 ? one : many);
}

/* ---- header ---- */

static void bytes_lines(page *p)
{
    const document *d = &p->f->in->doc;
    char a[HUMAN_MAX], b[HUMAN_MAX];
    label(p, "bytes");
    buf_printf(p->b, "%s", human_count(p->f->in->file.bytes.n, a));
    for (size_t i = d->n_layers; i-- > 0;)
        buf_printf(p->b, "%s %s", i + 1 < d->n_layers ? " in" : " as", codec_name(d->layers[i]));
    if (d->n_layers) buf_printf(p->b, ", %s decompressed", human_count(d->bytes.n, a));
    buf_putc(p->b, '\n');
    if (!p->f->gzip_bytes) return; /* not measured */
    label(p, "");
    human_percent(p->f->gzip_bytes, d->bytes.n, b);
    buf_printf(p->b, "%s (%s) after gzip", human_count(p->f->gzip_bytes, a), b);
    human_percent(p->f->zstd_bytes, d->bytes.n, b);
    buf_printf(p->b, ", %s (%s) after zstd\n", human_count(p->f->zstd_bytes, a), b);
}

static size_t other_layouts(const document *d)
{
    size_t n = 0;
    for (size_t i = 1; i < d->parts.n; i++)
        n += d->parts.v[i].verdict.layout != d->parts.v[0].verdict.layout;
    return n;
}

static void layout_lines(page *p)
{
    const layout_verdict *v = info_verdict(p->f);
    if (v->layout == LAYOUT_UNKNOWN) return;
    label(p, "layout");
    paint_str(p, PAINT_BOLD, layout_name(v->layout));
    buf_printf(p->b, " (%s)", layout_confidence_name(v->confidence));
    size_t others = other_layouts(&p->f->in->doc);
    if (others) buf_z(p->b, "; "), number(p, others, "payload has another", "payloads have others");
    buf_putc(p->b, '\n');
    if (!v->evidence[0]) return;
    label(p, "");
    prose(p, str_of(v->evidence), MAX_PROSE);
}

static void head(page *p)
{
    const document *d = &p->f->in->doc;
    buf_z(p->b, paint_on(p->color, PAINT_BOLD));
    text_clipped(p->b, str_of(input_name(p->f->in->path)), WIDTH);
    buf_printf(p->b, "%s\n", paint_on(p->color, PAINT_OFF));
    label(p, "format");
    buf_printf(p->b, "%s", d->format->name);
    if (d->framing == FRAMING_LENGTHS || d->parts.n != 1) {
        buf_z(p->b, ", ");
        number(p, d->parts.n, "payload", "payloads");
        if (d->framing == FRAMING_LENGTHS) buf_z(p->b, " in length-prefixed frames");
    }
    buf_putc(p->b, '\n');
    layout_lines(p);
    bytes_lines(p);
}

/* ---- resources ---- */

static void attribute_line(page *p, str key, const any *v, str unit, size_t key_width)
{
    buf value = {0};
    value_text(&value, v, 2 * WIDTH);
    if (!value.n) buf_z(&value, "\"\"");
    if (unit.n) buf_putc(&value, ' '), buf_str(&value, unit);
    text_padded(p->b, key, key_width);
    buf_z(p->b, "  ");
    text_clipped(p->b, buf_view(&value), WIDTH - LABEL - key_width - 2);
    buf_putc(p->b, '\n');
    buf_free(&value);
}

static size_t wider_key(size_t width, str key)
{
    size_t n = text_columns(key);
    if (n > MAX_KEY) n = MAX_KEY;
    return n > width ? n : width;
}

static void more_line(page *p, size_t n)
{
    if (!n) return;
    label(p, "");
    buf_printf(p->b, "and %zu more\n", n);
}

static void resource_lines(page *p, size_t i)
{
    const resource *r = &p->m->resources.v[i];
    char name[32];
    if (p->m->resources.n > 1)
        snprintf(name, sizeof name, "resource %zu", i);
    else
        snprintf(name, sizeof name, "resource");
    label(p, name);
    if (!r->attrs.n) {
        buf_z(p->b, "(no attributes)\n");
        return;
    }
    size_t width = 0, shown = r->attrs.n < MAX_ATTRIBUTES ? r->attrs.n : MAX_ATTRIBUTES;
    for (size_t k = 0; k < shown; k++) width = wider_key(width, r->attrs.v[k].key);
    for (size_t k = 0; k < shown; k++) {
        if (k) label(p, "");
        attribute_line(p, r->attrs.v[k].key, &r->attrs.v[k].value, (str){0}, width);
    }
    more_line(p, r->attrs.n - shown);
}

/* ---- profiles ---- */

static void total_line(page *p, const profile_facts *f, str unit)
{
    char t[HUMAN_MAX];
    label(p, "  total");
    paint_str(p, PAINT_BOLD, human_value(f->total, unit, t));
    if (f->saturated) buf_z(p->b, " or more: the sum exceeds 64 bits");
    char observed[2 * HUMAN_MAX];
    buf_printf(p->b, " in %s\n", human_observed(f->observations, f->samples, observed));
    if (!f->timestamps && !f->links) return;
    label(p, "");
    if (f->timestamps) number(p, f->timestamps, "timestamp", "timestamps");
    if (f->timestamps && f->links) buf_z(p->b, ", ");
    if (f->links) number(p, f->links, "sample linked to a span", "samples linked to spans");
    buf_putc(p->b, '\n');
}

static void time_line(page *p, const profile *x)
{
    char t[HUMAN_MAX];
    if (!x->time_unix_nano && !x->duration_nano) return;
    label(p, "  time");
    if (profile_is_undated(p->m, x) && profile_date(p->m, x))
        buf_printf(p->b, "in a recording that began at %s", human_time(profile_date(p->m, x), t));
    else if (profile_is_undated(p->m, x))
        buf_printf(p->b, "no date: %s after the start of its clock",
                   human_duration(x->time_unix_nano, t));
    else
        buf_z(p->b, x->time_unix_nano ? human_time(x->time_unix_nano, t) : "start unknown");
    if (x->duration_nano) buf_printf(p->b, ", for %s", human_duration(x->duration_nano, t));
    buf_putc(p->b, '\n');
}

static void period_line(page *p, const profile *x)
{
    char t[HUMAN_MAX];
    str type = dict_str(&p->m->dict, x->period_type.type),
        unit = dict_str(&p->m->dict, x->period_type.unit);
    if (!x->period && !type.n) return;
    label(p, "  period");
    buf_printf(p->b, "%s", human_value(x->period, unit, t));
    if (type.n) buf_z(p->b, " of "), text_clipped(p->b, type, 40);
    buf_putc(p->b, '\n');
}

static void hottest_line(page *p, const profile_facts *f, str unit)
{
    if (!f->has_top) return;
    char value[HUMAN_MAX], percents[HUMAN_MAX];
    human_value(f->top_self, unit, value);
    label(p, "  hottest");
    size_t tail = strlen(value) + 2;
    bool percent = f->top_self > 0 && f->total >= f->top_self;
    if (percent)
        tail += strlen(human_percent((uint64_t)f->top_self, (uint64_t)f->total, percents)) + 3;
    buf_z(p->b, paint_on(p->color, PAINT_CYAN));
    text_clipped(p->b, f->top_function, WIDTH - LABEL - tail);
    buf_printf(p->b, "%s  %s", paint_on(p->color, PAINT_OFF), value);
    if (percent) buf_printf(p->b, " (%s)", percents);
    buf_putc(p->b, '\n');
}

static void scope_line(page *p, const scope *s)
{
    if (!s->name.n) return;
    label(p, "  scope");
    text_clipped(p->b, s->name, WIDTH - LABEL - 21);
    if (s->version.n) buf_putc(p->b, ' '), text_clipped(p->b, s->version, 20);
    buf_putc(p->b, '\n');
}

/* Prints the comments in full. */
static void comment_lines(page *p, const profile *x)
{
    str text;
    for (uint32_t i = 0; profile_comment(p->m, x, i, &text); i++) {
        label(p, i ? "" : "  comment");
        prose(p, text.n ? text : STR("(empty)"), MAX_COMMENT);
    }
}

static void temporality_line(page *p, const profile *x)
{
    str text = profile_temporality(p->m, x);
    if (!text.n) return;
    label(p, "  values");
    text_clipped(p->b, text, 20);
    buf_z(p->b, str_eq(text, STR("cumulative")) ? ": since the start of the process"
                : str_eq(text, STR("delta"))    ? ": of this period only"
                                                : "");
    buf_z(p->b, " (aggregation temporality)\n");
}

static void profile_attribute_lines(page *p, const profile *x)
{
    const dict *d = &p->m->dict;
    size_t width = 0, n = 0, shown = 0;
    for (uint32_t i = 0; i < x->attrs.n; i++) {
        const attribute *a = profile_attribute(p->m, x, i);
        if (attribute_about(d, a) != ABOUT_ATTRIBUTE) continue;
        if (n++ < MAX_ATTRIBUTES) width = wider_key(width, dict_str(d, a->key));
    }
    for (uint32_t i = 0; i < x->attrs.n && shown < MAX_ATTRIBUTES; i++) {
        const attribute *a = profile_attribute(p->m, x, i);
        if (attribute_about(d, a) != ABOUT_ATTRIBUTE) continue;
        label(p, shown++ ? "" : "  attribute");
        attribute_line(p, dict_str(d, a->key), &a->value, dict_str(d, a->unit), width);
    }
    more_line(p, n - shown);
}

/* Returns the next attribute from *i on that is printed, or 0 past the last. */
static uint32_t next_shown(const page *p, const profile *x, uint32_t *i)
{
    while (*i < x->attrs.n) {
        uint32_t ref = refs_at(&p->m->dict.attr_refs, x->attrs)[(*i)++];
        if (attribute_about(&p->m->dict, &p->m->dict.attributes.v[ref]) != ABOUT_TEMPORALITY)
            return ref;
    }
    return 0;
}

/* Returns whether two profiles have the same attributes, as those of one pprof file with several
 * types do. */
static bool same_attributes(const page *p, const profile *a, const profile *b)
{
    uint32_t i = 0, k = 0, x, y;
    do {
        x = next_shown(p, a, &i), y = next_shown(p, b, &k);
    } while (x && x == y);
    return x == y;
}

static void metadata_lines(page *p, size_t i)
{
    const profile *x = &p->m->profiles.v[i];
    uint32_t at = 0;
    size_t first = i;
    while (first && same_attributes(p, x, &p->m->profiles.v[first - 1])) first--;
    if (first < i && next_shown(p, x, &at)) {
        label(p, "  attribute");
        buf_printf(p->b, "same comments and attributes as profile %zu\n", first);
        return;
    }
    comment_lines(p, x);
    profile_attribute_lines(p, x);
}

static void original_line(page *p, const profile *x)
{
    char t[HUMAN_MAX];
    if (!x->original_payload.n && !x->original_payload_format.n) return;
    label(p, "  original");
    text_clipped(p->b, x->original_payload_format.n ? x->original_payload_format : STR("(no name)"),
                 40);
    buf_printf(p->b, ", %s (convert --to original)\n", human_bytes(x->original_payload.n, t));
}

static void profile_lines(page *p, size_t i)
{
    const profile *x = &p->m->profiles.v[i];
    const profile_facts *f = &p->f->facts[i];
    str type = dict_str(&p->m->dict, x->sample_type.type),
        unit = dict_str(&p->m->dict, x->sample_type.unit);
    char name[32], t[HUMAN_MAX];
    snprintf(name, sizeof name, "profile %zu", i);
    buf_putc(p->b, '\n');
    label(p, name);
    buf_z(p->b, paint_on(p->color, PAINT_BOLD));
    text_clipped(p->b, type.n ? type : STR("(no type)"), 30);
    buf_z(p->b, paint_on(p->color, PAINT_OFF));
    buf_z(p->b, " in ");
    text_clipped(p->b, unit.n ? unit : STR("(no unit)"), 20);
    if (p->m->resources.n > 1)
        buf_printf(p->b, ", resource %" PRIu32, p->m->scopes.v[x->scope].resource);
    buf_putc(p->b, '\n');
    scope_line(p, &p->m->scopes.v[x->scope]);
    total_line(p, f, unit);
    label(p, "  stacks");
    buf_printf(p->b, "%s distinct, up to %" PRIu32 " deep\n", human_count(f->distinct_stacks, t),
               f->max_depth);
    time_line(p, x);
    period_line(p, x);
    hottest_line(p, f, unit);
    temporality_line(p, x);
    metadata_lines(p, i);
    original_line(p, x);
}

/* ---- tail ---- */

static void dictionary_lines(page *p)
{
    const dict *d = &p->m->dict;
    const struct {
        const char *one, *many;
        size_t n;
    } tables[] = {
        {"string", "strings", d->strings.n},
        {"function", "functions", d->functions.n},
        {"location", "locations", d->locations.n},
        {"stack", "stacks", dict_n_stacks(d)},
        {"mapping", "mappings", d->mappings.n},
        {"attribute", "attributes", d->attributes.n},
        {"link", "links", d->links.n},
    };
    buf text = {0};
    char t[HUMAN_MAX];
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        buf_printf(&text, "%s%s %s", i ? ", " : "", human_count(tables[i].n, t),
                   tables[i].n == 1 ? tables[i].one : tables[i].many);
    buf_putc(p->b, '\n');
    label(p, "dictionary");
    prose(p, buf_view(&text), MAX_PROSE);
    buf_free(&text);
}

static void bar(page *p, uint64_t bytes, uint64_t whole)
{
    size_t n = whole ? (size_t)((double)bytes / (double)whole * BAR + 0.5) : 0;
    if (!n) return;
    buf_printf(p->b, "  %s", paint_on(p->color, PAINT_CYAN));
    text_repeat(p->b, "█", n);
    buf_z(p->b, paint_on(p->color, PAINT_OFF));
}

static void share_line(page *p, const share *s, uint64_t whole, const char *name)
{
    char size[HUMAN_MAX], percents[HUMAN_MAX];
    buf_printf(p->b, "%-24s %9s %6s", name, human_bytes(s->bytes, size),
               human_percent(s->bytes, whole, percents));
    if (!s->within) bar(p, s->bytes, whole);
    buf_putc(p->b, '\n');
}

/* Prints the byte shares, largest first.  Fields of samples are listed below the samples. */
static void shares_lines(page *p)
{
    const shares *s = &p->f->shares;
    size_t shown = 0;
    uint64_t rest = s->bytes;
    for (size_t i = 0; i < s->n && shown < MAX_SHARES; i++) {
        const share *x = &s->v[i];
        if (x->within || !*x->name || x->bytes * 200 < s->bytes) continue;
        label(p, shown++ ? "" : "contents");
        share_line(p, x, s->bytes, x->name);
        rest -= x->bytes;
        for (size_t k = 0; k < s->n; k++) {
            const share *y = &s->v[k];
            if (!y->within || strcmp(y->within, x->name) != 0 || y->bytes * 100 < s->bytes)
                continue;
            char name[40];
            snprintf(name, sizeof name, "  %s", y->name);
            label(p, "");
            share_line(p, y, s->bytes, name);
        }
    }
    if (!shown || !rest) return;
    label(p, "");
    share_line(p, &(share){.bytes = rest}, s->bytes, "the rest");
}

void info_text(cli *c, const info *f)
{
    page p = {.b = &c->out, .color = c->term.color, .f = f, .m = &f->in->doc.model};
    head(&p);
    for (size_t i = 0; i < p.m->resources.n && i < MAX_PROFILES; i++) resource_lines(&p, i);
    if (p.m->resources.n > MAX_PROFILES)
        buf_printf(p.b, "\n  and %zu more resources\n", p.m->resources.n - MAX_PROFILES);
    for (size_t i = 0; i < p.m->profiles.n && i < MAX_PROFILES; i++) profile_lines(&p, i);
    if (p.m->profiles.n > MAX_PROFILES)
        buf_printf(p.b, "\n  and %zu more profiles (--json lists all)\n",
                   p.m->profiles.n - MAX_PROFILES);
    if (!p.m->profiles.n) buf_z(p.b, "\n  no profiles\n");
    dictionary_lines(&p);
    shares_lines(&p);
    if (f->in->ledger.n) {
        buf_putc(p.b, '\n');
        ledger_text(p.b, &f->in->ledger, p.color);
    }
}
