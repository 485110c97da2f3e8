/* Slices, exact numbers and format detection for the readers of JSON profiles. */
#include "format/json_read.h"

#include "wire/json_quick.h"
#include "base/ban.h"

/* ---- slices ---- */

bool json_take_slice(json *j, json_slice *out)
{
    if (json_next(j) == JSON_FAIL) return false;
    uint64_t at = j->at;
    if (!json_skip_open(j)) return false;
    const char *from = j->window + (at - j->base);
    *out = (json_slice){{from, (size_t)(j->p - from)}, at};
    return true;
}

json json_open_slice(json_slice s, arena *a, err *e)
{
    json j = json_open(s.bytes.p, s.bytes.n, a, e);
    j.base = s.at;
    j.max_depth = JSON_DEPTH_CAP;
    return j;
}

json json_open_text(str bytes, arena *a, err *e)
{
    size_t bom = str_starts(bytes, STR("\xef\xbb\xbf")) ? 3 : 0;
    return json_open_slice((json_slice){{bytes.p + bom, bytes.n - bom}, bom}, a, e);
}

bool json_expect_object(json *j)
{
    return json_next(j) == JSON_OBJECT || json_expected(j, "an object");
}

bool json_expect_array(json *j)
{
    return json_next(j) == JSON_ARRAY || json_expected(j, "an array");
}

bool json_copy_text(const json *j, arena *a, str *out)
{
    char *copy = arena_alloc(a, j->text.n);
    if (!copy) return err_memory(j->e);
    if (j->text.n) memcpy(copy, j->text.p, j->text.n);
    *out = (str){copy, j->text.n};
    return true;
}

bool json_take_text(json *j, arena *a, str *out)
{
    return json_next(j) == JSON_STRING ? json_copy_text(j, a, out) : json_skip_open(j);
}

/* ---- numbers ---- */

enum { MAX_DIGITS = 27 }; /* digits of a number; the rest is dropped */

static wide pow10_wide(int n)
{
    wide v = 1;
    for (; n > 0; n--) v *= 10;
    return v;
}

/* mantissa * 10^exp; `cut` is set when digits did not fit. */
typedef struct parsed {
    wide mantissa;
    int digits, exp;
    bool cut;
} parsed;

static void take_digit(parsed *d, char c, bool fraction)
{
    if (d->digits < MAX_DIGITS) {
        d->mantissa = d->mantissa * 10 + (c - '0');
        d->digits += d->mantissa != 0;
        d->exp -= fraction;
    } else {
        d->cut |= c != '0';
        d->exp += !fraction;
    }
}

static const char *exponent(const char *p, const char *end, int *exp)
{
    bool minus = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    int v = 0;
    const char *from = p;
    for (; p < end && json_is_digit(*p); p++)
        if (v < 100000) v = v * 10 + (*p - '0');
    *exp += minus ? -v : v;
    return p > from ? p : NULL;
}

static bool parse(str t, parsed *d, bool *minus)
{
    const char *p = t.p, *end = t.p + t.n;
    *d = (parsed){0};
    *minus = p < end && *p == '-';
    p += *minus;
    const char *from = p;
    for (; p < end && json_is_digit(*p); p++) take_digit(d, *p, false);
    if (p == from) return false;
    if (p < end && *p == '.') {
        from = ++p;
        for (; p < end && json_is_digit(*p); p++) take_digit(d, *p, true);
        if (p == from) return false;
    }
    if (p < end && (*p | 0x20) == 'e') p = exponent(p + 1, end, &d->exp);
    return p == end;
}

static bool not_a_number(json *j)
{
    if (j->tok != JSON_STRING) return json_expected(j, "a number");
    int n = j->text.n < 40 ? (int)j->text.n : 40;
    return json_fail(j, "expected a number, found \"%.*s\"", n, j->text.p);
}

bool json_to_wide(json *j, int scale, wide *v, bool *exact)
{
    parsed d;
    bool minus;
    if (j->tok != JSON_NUMBER && j->tok != JSON_STRING) return json_expected(j, "a number");
    if (!parse(j->text, &d, &minus)) return not_a_number(j);
    int exp = d.exp + scale;
    *exact = !d.cut;
    if (d.mantissa == 0) {
        *v = 0;
        return true;
    }
    if (exp > 0 && exp + d.digits > 37) return json_fail(j, "the number is too large");
    if (exp >= 0) {
        *v = d.mantissa * pow10_wide(exp);
    } else {
        wide by = -exp > 37 ? 0 : pow10_wide(-exp);
        *v = by ? d.mantissa / by : 0;
        if (!by || *v * by != d.mantissa) *exact = false;
    }
    if (minus) *v = -*v;
    return true;
}

wide wide_round(wide v, int digits)
{
    wide by = pow10_wide(digits), q = v / by, r = v - q * by, twice = r < 0 ? -2 * r : 2 * r;
    if (twice > by || (twice == by && q % 2 != 0)) q += v < 0 ? -1 : 1;
    return q;
}

/* Parses numbers of a few digits and decimals, as nearly all numbers are. */
static bool quick_scaled(str t, int scale, int64_t *v)
{
    if (t.n == 0 || t.n > 17 || scale > 9) return false;
    const char *p = t.p, *end = t.p + t.n;
    int64_t r = 0;
    while (p < end && json_is_digit(*p)) r = r * 10 + (*p++ - '0');
    if (p == t.p) return false;
    if (p < end && *p == '.') {
        const char *point = p++;
        if (end - p > scale || p == end) return false;
        while (p < end && json_is_digit(*p)) r = r * 10 + (*p++ - '0');
        scale -= (int)(p - point) - 1;
    }
    if (p != end) return false;
    static const int64_t pow[] = {1,      10,      100,      1000,      10000,
                                  100000, 1000000, 10000000, 100000000, 1000000000};
    return !ckd_mul(v, r, pow[scale]);
}

bool json_to_scaled(json *j, int scale, int64_t *v, bool *rounded)
{
    enum { GUARD = 6 };
    if ((j->tok == JSON_NUMBER || j->tok == JSON_STRING) && quick_scaled(j->text, scale, v))
        return true;
    wide w;
    bool exact;
    if (!json_to_wide(j, scale + GUARD, &w, &exact)) return false;
    wide r = wide_round(w, GUARD);
    if (r > INT64_MAX || r < INT64_MIN) return json_fail(j, "the number does not fit in 64 bits");
    if (!exact || r * 1000000 != w) *rounded = true;
    *v = (int64_t)r;
    return true;
}

/* ---- format detection ---- */

/* Distinctive keys, and the depth down to which they count (1: only in the outermost object). */
#define KEYS(X)                                                                                    \
    X(TRACE_EVENTS, "traceEvents", 1)                                                              \
    X(SCHEMA, "$schema", 1)                                                                        \
    X(SHARED, "shared", 1)                                                                         \
    X(PROFILES, "profiles", 1)                                                                     \
    X(META, "meta", 2)                                                                             \
    X(LIBS, "libs", 2)                                                                             \
    X(THREADS, "threads", 2)                                                                       \
    X(PREPROCESSED, "preprocessedProfileVersion", 3)                                               \
    X(INTERVAL, "interval", 3)                                                                     \
    X(BREAKPAD_ID, "breakpadId", 5)                                                                \
    X(FRAME_TABLE, "frameTable", 6)                                                                \
    X(NODES, "nodes", 2)                                                                           \
    X(HEAD, "head", 2)                                                                             \
    X(TIMESTAMPS, "timestamps", 2)                                                                 \
    X(TIME_DELTAS, "timeDeltas", 2)                                                                \
    X(FUNCTION_NAME, "functionName", 6)                                                            \
    X(HIT_COUNT, "hitCount", 6)                                                                    \
    X(SELF_SIZE, "selfSize", 6)                                                                    \
    X(PH, "ph", 2)                                                                                 \
    X(RESOURCE_PROFILES, "resourceProfiles", 1)                                                    \
    X(RESOURCE_PROFILES_2, "resource_profiles", 1)                                                 \
    X(DICTIONARY, "dictionary", 1)                                                                 \
    X(RESOURCE_LOGS, "resourceLogs", 1)

enum {
#define X(id, name, depth) K_##id,
    KEYS(X)
#undef X
};
#define HAS(id) (seen >> K_##id & 1)

static uint64_t key_bit(str key, uint32_t depth)
{
    static const struct {
        str name;
        uint32_t depth;
    } keys[] = {
#define X(id, name, depth) {{name, sizeof name - 1}, depth},
        KEYS(X)
#undef X
    };
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (depth <= keys[i].depth && str_eq(keys[i].name, key)) return UINT64_C(1) << i;
    return 0;
}

static bool is_otlp(uint64_t seen)
{
    return HAS(RESOURCE_PROFILES) || HAS(RESOURCE_PROFILES_2) || HAS(DICTIONARY) ||
           HAS(RESOURCE_LOGS);
}

static json_kind kind_of_keys(uint64_t seen, bool speedscope)
{
    if (is_otlp(seen)) return JSON_KIND_OTHER;
    if (HAS(TRACE_EVENTS)) return JSON_KIND_CHROME;
    if (speedscope || (HAS(SHARED) && HAS(PROFILES))) return JSON_KIND_SPEEDSCOPE;
    if (HAS(FRAME_TABLE) || (HAS(LIBS) && HAS(BREAKPAD_ID)) ||
        (HAS(META) && (HAS(PREPROCESSED) || HAS(THREADS) || (HAS(LIBS) && HAS(INTERVAL)))))
        return JSON_KIND_GECKO;
    if (HAS(HEAD) && HAS(SELF_SIZE)) return JSON_KIND_HEAPPROFILE;
    if ((HAS(NODES) || HAS(HEAD)) && (HAS(FUNCTION_NAME) || HAS(HIT_COUNT) || HAS(TIME_DELTAS)))
        return JSON_KIND_CPUPROFILE;
    return JSON_KIND_OTHER;
}

typedef struct json_keys {
    uint64_t seen;   /* bit set of keys */
    bool speedscope; /* $schema names speedscope */
} json_keys;

static bool is_speedscope_schema(json *j)
{
    return json_next(j) == JSON_STRING && memmem(j->text.p, j->text.n, "speedscope", 10) != NULL;
}

/* Collects all keys in the first bytes of a text that is `outer` levels deep and may be
 * truncated. */
static void collect_keys(str text, uint32_t outer, arena *a, json_keys *l)
{
    json j =
        json_open_text((str){text.p, text.n < JSON_KIND_LOOK ? text.n : JSON_KIND_LOOK}, a, NULL);
    json_token t = json_next(&j);
    bool array = t == JSON_ARRAY && !outer;
    while ((t == JSON_OBJECT || t == JSON_ARRAY) && json_next(&j) != JSON_FAIL &&
           j.tok != JSON_END) {
        if (j.tok != JSON_KEY) continue;
        l->seen |= key_bit(j.text, j.depth + outer - array);
        if (!outer && j.depth == 1 && str_eq(j.text, STR("$schema")))
            l->speedscope = is_speedscope_schema(&j);
    }
}

/* Collects the keys of the outermost object, wherever they are, and the first bytes of each
 * value. */
static json_kind collect_outer_keys(str bytes, arena *a, json_keys *l)
{
    json j = json_open_text(bytes, a, NULL);
    json_kind kind = JSON_KIND_OTHER;
    if (json_next(&j) != JSON_OBJECT) return kind;
    while (kind == JSON_KIND_OTHER && json_next(&j) == JSON_KEY) {
        l->seen |= key_bit(j.text, 1);
        bool schema = str_eq(j.text, STR("$schema"));
        if (json_next(&j) == JSON_FAIL) break;
        const char *value = j.window + (j.at - j.base);
        if (schema) l->speedscope = memmem(j.text.p, j.text.n, "speedscope", 10) != NULL;
        collect_keys((str){value, (size_t)(bytes.p + bytes.n - value)}, 1, a, l);
        kind = kind_of_keys(l->seen, l->speedscope);
        if (!json_skip_open(&j)) break;
        arena_reset(a);
    }
    return kind;
}

json_kind json_kind_of(str bytes)
{
    size_t first = 0;
    while (first < bytes.n && memchr(" \t\r\n\xef\xbb\xbf", bytes.p[first], 7)) first++;
    if (first == bytes.n || (bytes.p[first] != '{' && bytes.p[first] != '['))
        return JSON_KIND_OTHER;
    arena a = {.budget = 2 * JSON_KIND_LOOK};
    json_keys l = {0};
    collect_keys(bytes, 0, &a, &l);
    bool events = bytes.p[first] == '[';
    json_kind kind = events ? l.seen >> K_PH & 1 ? JSON_KIND_CHROME : JSON_KIND_OTHER
                            : kind_of_keys(l.seen, l.speedscope);
    bool more = !events && kind == JSON_KIND_OTHER && bytes.n > JSON_KIND_LOOK && !is_otlp(l.seen);
    arena_reset(&a);
    if (more) kind = collect_outer_keys(bytes, &a, &l);
    arena_free(&a);
    return kind;
}
