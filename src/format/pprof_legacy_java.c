/* Reads Java's heap and contention text, and the names that follow its samples:
 *     0x0000004a com.example.f (source.java:4) */
#include "format/pprof_legacy.h"

#include "base/ban.h"

enum { JAVA_HEAP_RATE = 524288 }; /* the agent's sampling interval, which is not in the file */

/* ---- names ---- */

/* Splits "f (file:line)", "f (/lib/x.so)", or a state of the VM such as "GC". */
static void split_name(str text, legacy_location *l)
{
    l->function = text;
    const char *open = NULL;
    if (text.n && text.p[text.n - 1] == ')') open = memrchr(text.p, '(', text.n);
    if (!open || open == text.p || (open[-1] != ' ' && open[-1] != '\t')) {
        if (text_contains(text, STR("generated stub/JIT"))) l->function = STR("STUB");
        return;
    }
    str inside = {open + 1, text.n - (size_t)(open - text.p) - 2};
    l->function = text_trim((str){text.p, (size_t)(open - text.p)});
    const char *colon = inside.n ? memrchr(inside.p, ':', inside.n) : NULL;
    str number = colon ? (str){colon + 1, inside.n - (size_t)(colon - inside.p) - 1} : (str){0};
    int64_t line_no;
    if (colon && colon != inside.p && text_i64(&number, &line_no) && !number.n) {
        l->file = (str){inside.p, (size_t)(colon - inside.p)};
        l->line = line_no > 0 ? line_no : 0;
    } else {
        l->file = str_base_name(inside);
    }
}

static uint32_t find(const legacy *g, uint64_t address)
{
    if (!g->by_address.slot) return PP_ABSENT;
    uint64_t h = hash_mix(g->by_address.seed, address);
    uint32_t i = hash_first(&g->by_address, h);
    for (uint32_t at; hash_next(&g->by_address, &i, h, &at); i++)
        if (g->locations.v[at].address == address) return at;
    return PP_ABSENT;
}

bool legacy_java_names(legacy *g)
{
    while (g->line.n || legacy_next_line(g)) {
        str s = g->line;
        g->line = (str){0};
        uint64_t id;
        if (!str_starts(s, STR("0x"))) continue;
        if (!text_hex(&s, &id)) return legacy_bad(g, "the id does not fit in 64 bits");
        if (!s.n || (s.p[0] != ' ' && s.p[0] != '\t')) continue;
        uint32_t i = find(g, id);
        if (i == PP_ABSENT) continue; /* no sample uses it */
        legacy_location *l = &g->locations.v[i];
        l->named = true;
        split_name(legacy_text(g, text_trim(s)), l);
        if (!l->function.p) return false;
    }
    return true;
}

/* ---- heap and contention ---- */

static bool setting(legacy *g, bool heap, str key, str value)
{
    int64_t v;
    if (str_eq(key, STR("format"))) {
        if (!str_eq(value, STR("java"))) return legacy_bad(g, "the format is not java");
    } else if (str_eq(key, STR("resolution"))) {
        value = legacy_text(g, value);
        if (!value.p) return false;
        g->types[1].unit = value;
    } else if (!heap && str_eq(key, STR("sampling period"))) {
        if (!text_i64(&value, &g->period) || value.n) return legacy_bad(g, "expected a number");
        g->period_type = g->types[0];
    } else if (!heap && str_eq(key, STR("ms since reset"))) {
        if (!text_i64(&value, &v) || value.n || v < 0 ||
            ckd_mul(&g->duration_nano, (uint64_t)v, 1000000u))
            return legacy_bad(g, "expected a number of milliseconds");
    } else {
        return legacy_comment(g, g->line);
    }
    return true;
}

/* Reads "bytes objects @ ids". Sets *is to false where the names begin. */
static bool take_sample(legacy *g, bool heap, bool *is)
{
    str s = g->line;
    int64_t amount, count;
    *is = text_i64(&s, &amount) && (text_blanks(&s), text_i64(&s, &count)) &&
          (text_blanks(&s), text_char(&s, '@'));
    if (!*is) return true;
    legacy_sample *to = legacy_new_sample(g);
    if (!to) return false;
    if (heap) {
        if (count == 0) return legacy_bad(g, "the second value must not be 0");
        to->has_bytes = true;
        to->bytes = count == -1 ? (amount == INT64_MIN ? INT64_MAX : -amount) : amount / count;
        legacy_unsample(&count, &amount, JAVA_HEAP_RATE);
    } else if (g->period) {
        if (ckd_mul(&count, count, g->period)) count = INT64_MAX;
        if (ckd_mul(&amount, amount, g->period)) amount = INT64_MAX;
    }
    to->values[0] = count;
    to->values[1] = amount;
    return legacy_addresses(g, s, ADJUST_NONE);
}

bool legacy_read_java(legacy *g)
{
    while (legacy_next_line(g) && legacy_is_comment(g->line)) continue;
    bool heap = str_starts(g->line, STR("--- heapz"));
    g->n_types = 2;
    g->types[0] = (legacy_type){heap ? STR("inuse_objects") : STR("contentions"), STR("count")};
    g->types[1] = (legacy_type){heap ? STR("inuse_space") : STR("delay"), STR("")};
    bool settings = true;
    while (legacy_next_line(g)) {
        if (!g->line.n) continue;
        const char *eq = settings ? memchr(g->line.p, '=', g->line.n) : NULL;
        settings = eq != NULL;
        if (settings) {
            size_t n = (size_t)(eq - g->line.p);
            if (!setting(g, heap, text_trim((str){g->line.p, n}),
                         text_trim((str){eq + 1, g->line.n - n - 1})))
                return false;
            continue;
        }
        bool is;
        size_t n_before = g->samples.n;
        if (!legacy_end_sample(g, n_before, take_sample(g, heap, &is))) return false;
        if (!is) break;
    }
    if (!g->types[1].unit.n) return legacy_bad(g, "the line \"resolution = bytes\" is missing");
    return legacy_java_names(g);
}
