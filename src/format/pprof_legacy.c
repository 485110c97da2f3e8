/* Detects the older pprof kinds, and builds the model from the data that their readers collect
 * (pprof_legacy.h). */
#include "format/pprof_legacy.h"

#include "base/utf8.h"
#include "model/sweep.h"
#include "base/ban.h"
#include <inttypes.h>

/* ---- lines ---- */

bool legacy_bad(legacy *g, const char *fmt, ...)
{
    char msg[160];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    err_at(g->e, ERR_MALFORMED, g->line_at, "%s", msg);
    return err_in(g->e, "line %zu", g->n_lines);
}

bool legacy_next_line(legacy *g)
{
    str rest = {g->in.p + g->at, g->in.n - g->at};
    g->line = (str){0};
    if (!str_line(&rest, &g->line)) return false;
    g->line = text_trim(g->line);
    g->line_at = g->at;
    g->at = g->in.n - rest.n;
    g->unended = g->in.p[g->at - 1] != '\n';
    g->n_lines++;
    return true;
}

bool legacy_end_sample(legacy *g, size_t n_before, bool ok)
{
    if (!g->unended) return ok;
    if (!ok && (!n_before || !g->e || g->e->code != ERR_MALFORMED)) return false;
    if (g->e) *g->e = (err){0};
    if (n_before) g->samples.n = n_before; /* keeps the sample if it is the only one */
    return g->cut = true;
}

static void record_truncation(const legacy *g)
{
    char value[64] = "the last line has no end";
    if (g->n_read < g->declared)
        snprintf(value, sizeof value, "%" PRIu64 " of %" PRIu64 " are present", g->n_read,
                 g->declared);
    if (g->cut || g->n_read < g->declared)
        ledger_add(g->ledger, STAGE_READ, LOSS_TRUNCATED, NULL, "samples", str_of(value));
}

bool legacy_is_map_heading(str s)
{
    return text_contains(s, STR("--- Memory map: ---")) ||
           text_contains(s, STR("MAPPED_LIBRARIES:"));
}

/* ---- text ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

str text_trim(str s)
{
    while (s.n && is_space(s.p[0])) s.p++, s.n--;
    while (s.n && is_space(s.p[s.n - 1])) s.n--;
    return s;
}

bool text_contains(str s, str sub) { return memmem(s.p ? s.p : "", s.n, sub.p, sub.n) != NULL; }

void text_blanks(str *s)
{
    while (s->n && is_space(s->p[0])) s->p++, s->n--;
}

bool text_char(str *s, char c)
{
    if (!s->n || s->p[0] != c) return false;
    s->p++, s->n--;
    return true;
}

bool text_i64(str *s, int64_t *v)
{
    str t = *s;
    bool minus = text_char(&t, '-');
    uint64_t r = 0;
    size_t n = 0;
    for (; t.n && t.p[0] >= '0' && t.p[0] <= '9'; t.p++, t.n--, n++)
        if (ckd_mul(&r, r, 10u) || ckd_add(&r, r, (uint64_t)(t.p[0] - '0'))) return false;
    if (!n || r > (uint64_t)INT64_MAX + minus) return false;
    *v = minus ? (int64_t)(0 - r) : (int64_t)r;
    *s = t;
    return true;
}

bool text_hex(str *s, uint64_t *v)
{
    str t = *s;
    if (str_starts(t, STR("0x"))) t.p += 2, t.n -= 2;
    uint64_t r = 0;
    size_t n = 0;
    for (; t.n && is_hex_digit(t.p[0]); t.p++, t.n--, n++) {
        if (r >> 60) return false;
        r = r << 4 | (uint64_t)hex_digit(t.p[0]);
    }
    if (!n) return false;
    *v = r;
    *s = t;
    return true;
}

/* ---- collecting ---- */

uint32_t legacy_address(legacy *g, uint64_t address)
{
    if (!hash_index_room(&g->by_address, g->a)) return arena_spent(g->a, g->e), PP_ABSENT;
    uint64_t h = hash_mix(g->by_address.seed, address);
    uint32_t i = hash_first(&g->by_address, h);
    for (uint32_t at; hash_next(&g->by_address, &i, h, &at); i++)
        if (g->locations.v[at].address == address) return at;
    legacy_location *l = vec_push(g->a, &g->locations);
    if (!l) return arena_spent(g->a, g->e), PP_ABSENT;
    *l = (legacy_location){.address = address, .index = PP_ABSENT};
    uint32_t at = (uint32_t)(g->locations.n - 1);
    hash_put(&g->by_address, i, h, at);
    return at;
}

legacy_sample *legacy_new_sample(legacy *g)
{
    legacy_sample *s = vec_push(g->a, &g->samples);
    if (!s) return arena_spent(g->a, g->e), NULL;
    s->frames.at = (uint32_t)g->frames.n;
    s->threads.at = (uint32_t)g->threads.n;
    return s;
}

bool legacy_frame(legacy *g, uint32_t at)
{
    if (at == PP_ABSENT) return false;
    uint32_t *slot = vec_push(g->a, &g->frames);
    if (!slot) return arena_spent(g->a, g->e);
    *slot = at;
    g->samples.v[g->samples.n - 1].frames.n++;
    return true;
}

bool legacy_addresses(legacy *g, str s, legacy_adjust adjust)
{
    while (s.n >= 3) {
        if (s.p[0] != '0' || s.p[1] != 'x' || !is_hex_digit(s.p[2])) {
            s.p++, s.n--;
            continue;
        }
        uint64_t address;
        if (!text_hex(&s, &address)) return legacy_bad(g, "the address does not fit in 64 bits");
        bool leaf = g->samples.v[g->samples.n - 1].frames.n == 0;
        if (adjust == ADJUST_ALL || (adjust == ADJUST_CALLERS && !leaf)) address--;
        if (!legacy_frame(g, legacy_address(g, address))) return false;
    }
    return true;
}

str legacy_text(legacy *g, str s)
{
    if (utf8_ok(s.p, s.n)) return s;
    str t = pp_utf8(g->a, g->ledger, s);
    if (!t.p) arena_spent(g->a, g->e);
    return t;
}

/* Replaces runs of spaces with one space. */
static str collapse_blanks(legacy *g, str s)
{
    s = legacy_text(g, s);
    char *p = arena_alloc(g->a, s.n + 1);
    if (!p || (s.n && !s.p)) return arena_spent(g->a, g->e), (str){0};
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = is_space(s.p[i]) ? ' ' : s.p[i];
        if (c != ' ' || (n && p[n - 1] != ' ')) p[n++] = c;
    }
    return (str){p, n};
}

bool legacy_symbol_comment(legacy *g)
{
    str s = g->line;
    uint64_t address;
    if (!text_char(&s, '#')) return true;
    text_blanks(&s);
    if (!str_starts(s, STR("0x")) || !text_hex(&s, &address)) return true;
    text_blanks(&s);
    uint32_t i = legacy_address(g, address);
    if (i == PP_ABSENT) return false;
    if (!g->locations.v[i].symbol.n) {
        g->locations.v[i].symbol = collapse_blanks(g, s);
        if (!g->locations.v[i].symbol.p) return false;
    }
    return true;
}

bool legacy_comment(legacy *g, str text)
{
    str *slot = vec_push(g->a, &g->comments);
    if (!slot) return arena_spent(g->a, g->e);
    *slot = collapse_blanks(g, text);
    return slot->p != NULL;
}

void legacy_drop_double_leaf(legacy *g)
{
    for (size_t i = 0; i < g->samples.n; i++) {
        span *s = &g->samples.v[i].frames;
        if (s->n < 2) continue;
        uint32_t *f = g->frames.v + s->at;
        if (g->locations.v[f[0]].address != g->locations.v[f[1]].address + 1) continue;
        f[1] = f[0];
        s->at++;
        s->n--;
    }
}

/* ---- numbers ---- */

int64_t legacy_i64(double v)
{
    if (!(v > -9223372036854775808.0)) return v == v ? INT64_MIN : 0;
    return v >= 9223372036854775808.0 ? INT64_MAX : (int64_t)v;
}

/* Returns exp(-x) for x >= 0 without libm, accurate to the last bit or two: 2^-k times the series
 * for the remainder r, |r| <= ln 2 / 2. */
static double exp_minus(double x)
{
    if (x > 700) return 0;
    const double ln2_hi = 0x1.62e42fefa38p-1, ln2_lo = 0x1.ef35793c7673p-45;
    int k = (int)(x * 1.4426950408889634 + 0.5);
    double r = ln2_lo * k - (x - ln2_hi * k), sum = 0;
    for (int i = 17; i >= 1; i--) sum = (sum + 1) * r / i;
    double scale = 1;
    for (; k > 0; k--) scale *= 0.5;
    return (1 + sum) * scale;
}

void legacy_unsample(int64_t *count, int64_t *size, int64_t rate)
{
    if (*count == 0 || *size == 0) {
        *count = *size = 0;
        return;
    }
    if (rate <= 1) return; /* everything was recorded, or the rate is unknown */
    double average = (double)*size / (double)*count;
    double scale = average < 0 ? 1 : 1 / (1 - exp_minus(average / (double)rate));
    *count = legacy_i64((double)*count * scale);
    *size = legacy_i64((double)*size * scale);
}

/* ---- building ---- */

static uint32_t build_mapping(legacy *g, const legacy_mapping *m)
{
    uint32_t attr = 0;
    if (m->build_id.n) {
        attr = builder_attribute_str(&g->b, STR(ATTR_BUILD_ID_GNU), m->build_id);
        ledger_add(g->ledger, STAGE_READ, LOSS_BUILD_ID, ATTR_BUILD_ID_GNU, "memory map",
                   m->build_id);
    }
    mapping out = {.memory_start = m->start,
                   .memory_limit = m->limit,
                   .file_offset = m->offset,
                   .filename = builder_string(&g->b, m->file)};
    return builder_mapping(&g->b, &out, &attr, m->build_id.n ? 1 : 0);
}

static uint32_t build_location(legacy *g, const legacy_location *l, uint32_t mapping_i)
{
    if (l->named) {
        uint32_t name = builder_string(&g->b, legacy_text(g, l->function));
        function f = {.name = name,
                      .system_name = name,
                      .filename = builder_string(&g->b, legacy_text(g, l->file))};
        line one = {.line = l->line, .function = builder_function(&g->b, &f)};
        return builder_location(&g->b, 0, 0, &one, 1, NULL, 0);
    }
    uint32_t attr = 0;
    if (l->symbol.n) {
        str symbol = legacy_text(g, l->symbol);
        attr = builder_attribute_str(&g->b, STR(KILN_ATTR_SYMBOL), symbol);
        ledger_add(g->ledger, STAGE_READ, LOSS_COMMENTS, KILN_ATTR_SYMBOL, "location", symbol);
    }
    return builder_location(&g->b, mapping_i, l->address, NULL, 0, &attr, l->symbol.n ? 1 : 0);
}

static bool build_locations(legacy *g)
{
    uint32_t *of = arena_new(g->a, uint32_t, g->locations.n);
    if (!of) return arena_spent(g->a, g->e);
    if (!legacy_assign_mappings(g, of)) return false;
    uint32_t *index = arena_new(g->a, uint32_t, g->mappings.n + 1);
    if (!index) return arena_spent(g->a, g->e);
    for (size_t i = 0; i < g->mappings.n; i++) index[i + 1] = build_mapping(g, &g->mappings.v[i]);
    for (size_t i = 0; i < g->frames.n; i++) { /* in the order of use */
        uint32_t at = g->frames.v[i];
        legacy_location *l = &g->locations.v[at];
        if (l->index == PP_ABSENT) l->index = build_location(g, l, index[of[at]]);
        if (g->b.failed) return arena_spent(g->a, g->e);
    }
    for (size_t i = 0; i < g->frames.n; i++) g->frames.v[i] = g->locations.v[g->frames.v[i]].index;
    return true;
}

static any text_any(str s) { return (any){.kind = ANY_STRING, .n = (uint32_t)s.n, .s = s.p}; }

/* Creates the attributes for name and id of a thread, or lists of them if several threads share a
 * stack. */
static bool thread_attrs(legacy *g, span threads, uint32_t out[2])
{
    if (!threads.n) return true;
    const legacy_thread *t = g->threads.v + threads.at;
    any *names = arena_new(g->a, any, threads.n), *ids = arena_new(g->a, any, threads.n);
    if (!names || !ids) return arena_spent(g->a, g->e);
    for (uint32_t i = 0; i < threads.n; i++) {
        names[i] = text_any(t[i].name);
        ids[i] = (any){.kind = ANY_INT, .i = t[i].id};
    }
    any name = names[0], id = ids[0];
    if (threads.n > 1) {
        name = (any){.kind = ANY_ARRAY, .n = threads.n, .array = names};
        id = (any){.kind = ANY_ARRAY, .n = threads.n, .array = ids};
    }
    out[0] = builder_attribute(&g->b, STR(ATTR_THREAD_NAME), &name, (str){0});
    out[1] = builder_attribute(&g->b, STR(ATTR_THREAD_ID), &id, (str){0});
    return true;
}

/* Builds the stack and attributes of each row, which all Profiles share. */
static bool build_rows(legacy *g, sample *rows, uint32_t (*attrs)[3])
{
    for (size_t i = 0; i < g->samples.n; i++) {
        const legacy_sample *s = &g->samples.v[i];
        uint32_t n = 0;
        if (s->has_bytes)
            attrs[i][n++] = builder_attribute(&g->b, STR("bytes"),
                                              &(any){.kind = ANY_INT, .i = s->bytes}, (str){0});
        if (!thread_attrs(g, s->threads, attrs[i] + n)) return false;
        if (s->threads.n) n += 2;
        rows[i] =
            (sample){.stack = builder_stack(&g->b, refs_at(&g->frames, s->frames), s->frames.n),
                     .attrs = attrs[i],
                     .n_attrs = n};
        if (g->b.failed) return arena_spent(g->a, g->e);
    }
    return true;
}

static void put_profile(legacy *g, uint32_t type, uint32_t comments, const sample *rows)
{
    profile *p = builder_profile(&g->b);
    p->sample_type = (value_type){builder_string(&g->b, g->types[type].type),
                                  builder_string(&g->b, g->types[type].unit)};
    p->period_type = (value_type){builder_string(&g->b, g->period_type.type),
                                  builder_string(&g->b, g->period_type.unit)};
    p->period = g->period;
    p->duration_nano = g->duration_nano;
    if (comments) builder_profile_attrs(&g->b, &comments, 1);
    for (size_t i = 0; i < g->samples.n; i++) {
        sample s = rows[i];
        s.values = &g->samples.v[i].values[type];
        s.n_values = 1;
        builder_sample(&g->b, &s);
    }
}

static bool comment_attr(legacy *g, uint32_t *out)
{
    *out = 0;
    if (!g->comments.n) return true;
    any list = {.kind = ANY_ARRAY,
                .n = (uint32_t)g->comments.n,
                .array = arena_new(g->a, any, g->comments.n)};
    if (!list.array) return arena_spent(g->a, g->e);
    for (size_t i = 0; i < g->comments.n; i++) list.array[i] = text_any(g->comments.v[i]);
    ledger_add_n(g->ledger, STAGE_READ, LOSS_COMMENTS, PPROF_ATTR_COMMENT, g->comments.n, "comment",
                 g->comments.v[0]);
    *out = builder_attribute(&g->b, STR(PPROF_ATTR_COMMENT), &list, (str){0});
    return true;
}

bool legacy_finish(legacy *g, model *out)
{
    sample *rows = arena_new(g->a, sample, g->samples.n);
    uint32_t(*attrs)[3] = arena_array_zero(g->a, g->samples.n, sizeof *attrs), comments;
    if (!rows || !attrs) return arena_spent(g->a, g->e);
    uint32_t n = (uint32_t)g->n_types;
    if (!build_locations(g) || !build_rows(g, rows, attrs) || !comment_attr(g, &comments))
        return false;
    if (!pp_put_scope(&g->b, n, n - 1, (str){0}, g->ledger)) return arena_spent(g->a, g->e);
    for (uint32_t k = 0; k < n; k++) put_profile(g, pp_type_at(n - 1, k), comments, rows);
    return builder_finish(&g->b, out, g->e) && model_sweep(out, PP_MAIN_MAPPING, g->a, g->e);
}

/* ---- detection ---- */

/* "goroutine profile: total 7" */
static bool is_count_heading(str s)
{
    const char *p = s.n ? memchr(s.p, ' ', s.n) : NULL;
    if (!p || p == s.p) return false;
    str rest = {p, s.n - (size_t)(p - s.p)};
    int64_t n;
    if (!str_starts(rest, STR(" profile: total "))) return false;
    rest = (str){rest.p + 16, rest.n - 16};
    return text_i64(&rest, &n) && n >= 0 && !rest.n;
}

/* Java's contention profiles have the same heading; a line below it states the format. */
static pprof_legacy contention_kind(legacy g)
{
    while (legacy_next_line(&g)) {
        if (legacy_is_comment(g.line)) continue;
        if (str_starts(g.line, STR("format")) || str_starts(g.line, STR("resolution")))
            return PPROF_LEGACY_JAVA;
        if (!text_contains(g.line, STR("="))) break;
    }
    return PPROF_LEGACY_CONTENTION;
}

static pprof_legacy text_kind(legacy g)
{
    if (str_starts(g.line, STR("heap profile:"))) return PPROF_LEGACY_HEAP;
    if (str_eq(g.line, STR("--- heapz 1 ---"))) return PPROF_LEGACY_JAVA;
    if (str_starts(g.line, STR("--- contentionz "))) return contention_kind(g);
    if (str_starts(g.line, STR("--- mutex:")) || str_starts(g.line, STR("--- contention:")))
        return PPROF_LEGACY_CONTENTION;
    if (str_starts(g.line, STR("--- threadz ")) || str_starts(g.line, STR("--- Thread ")))
        return PPROF_LEGACY_THREAD;
    return is_count_heading(g.line) ? PPROF_LEGACY_COUNT : PPROF_LEGACY_NONE;
}

pprof_legacy pprof_legacy_detect(str bytes)
{
    unsigned word;
    bool big;
    uint64_t java, period;
    if (legacy_cpu_header(bytes, &word, &big, &java, &period))
        return java ? PPROF_LEGACY_JAVA_CPU : PPROF_LEGACY_CPU;
    enum { DETECT_BYTES = 4096 }; /* comments may precede the heading */
    legacy g = {.in = {bytes.p, bytes.n < DETECT_BYTES ? bytes.n : DETECT_BYTES}};
    while (legacy_next_line(&g))
        if (!legacy_is_comment(g.line)) return text_kind(g);
    return PPROF_LEGACY_NONE;
}

bool pprof_legacy_decode(str bytes, pprof_legacy kind, const pprof_read_opts *o, arena *a,
                         model *out, err *e)
{
    legacy g = {.in = bytes, .a = a, .e = e, .ledger = o->ledger};
    if (bytes.n > PP_MAX_BYTES)
        return err_set(e, ERR_LIMIT, "a profile of %zu bytes; the limit is %d", bytes.n,
                       PP_MAX_BYTES);
    if (!builder_init(&g.b, a)) return arena_spent(g.a, g.e);
    g.b.borrow = true;
    static bool (*const readers[])(legacy *) = {
        [PPROF_LEGACY_CPU] = legacy_read_cpu,
        [PPROF_LEGACY_JAVA_CPU] = legacy_read_cpu,
        [PPROF_LEGACY_HEAP] = legacy_read_heap,
        [PPROF_LEGACY_COUNT] = legacy_read_count,
        [PPROF_LEGACY_THREAD] = legacy_read_thread,
        [PPROF_LEGACY_CONTENTION] = legacy_read_contention,
        [PPROF_LEGACY_JAVA] = legacy_read_java,
    };
    if (kind == PPROF_LEGACY_NONE || (unsigned)kind >= ARRAY_LEN(readers))
        return err_set(e, ERR_UNSUPPORTED, "not a legacy pprof profile");
    if (!readers[kind](&g)) return false;
    record_truncation(&g);
    return legacy_finish(&g, out);
}
