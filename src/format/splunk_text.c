/* Parses and writes the text of a call stack: a metadata line, a state line, frames from the
 * innermost call outwards. */
#include "format/splunk.h"
#include "base/text.h"

#include "base/ban.h"

enum { NAME_LINES = 3 }; /* lines that a thread's name may span (G-2) */

static str from(str s, size_t at) { return (str){s.p + at, s.n - at}; }

/* ---- numbers ---- */

/* Parses leading digits into *v, which saturates. Returns the number of digits. */
static size_t take_uint(str s, unsigned base, uint64_t *v)
{
    size_t i = 0;
    *v = 0;
    for (; i < s.n; i++) {
        int digit = hex_digit(s.p[i]);
        unsigned d = digit < 0 ? base : (unsigned)digit;
        if (d >= base) break;
        if (ckd_mul(v, *v, (uint64_t)base) || ckd_add(v, *v, (uint64_t)d)) *v = UINT64_MAX;
    }
    return i;
}

static int64_t to_line(uint64_t v) { return v > INT32_MAX ? 0 : (int64_t)v; }

/* Removes a line or column number after a separator from the end of *s. Negative and implausible
 * numbers mean unknown (C-8). */
static bool drop_number(str *s, char separator, int64_t *v)
{
    size_t i = s->n;
    while (i && is_digit(s->p[i - 1])) i--;
    if (i == s->n || !i) return false;
    size_t at = i - 1;
    bool negative = s->p[at] == '-' && at;
    if (negative) at--;
    if (s->p[at] != separator) return false;
    uint64_t u;
    take_uint(from(*s, i), 10, &u);
    *v = negative ? 0 : to_line(u);
    s->n = at;
    return true;
}

/* ---- the metadata line ---- */

static bool token_is(str s, str word)
{
    return str_starts(s, word) && (s.n == word.n || is_blank(s.p[word.n]));
}

static const char *const keys[] = {"prio=", "os_prio=", "cpu=", "elapsed=", "tid=", "nid="};

/* Returns whether the name ends before `after` (G-1). Trims only the left side, because it is
 * called for every quote of a line. */
static bool ends_name(str after)
{
    str s = str_trim_left(after);
    uint64_t v;
    if (!s.n) return true;
    if (s.p[0] == '#') return take_uint(from(s, 1), 10, &v) > 0;
    if (s.p[0] == '[') {
        size_t n = take_uint(from(s, 1), 10, &v);
        return n && n + 1 < s.n && s.p[n + 1] == ']';
    }
    if (token_is(s, STR("daemon"))) return true;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (str_starts(s, str_of(keys[i]))) return true;
    return false;
}

static bool find_name(str text, splunk_thread *out)
{
    text = str_trim(text);
    for (size_t i = text.n; i-- > 1;)
        if (text.p[i] == '"' && ends_name(from(text, i + 1))) {
            out->name = (str){text.p + 1, i - 1};
            splunk_thread_parse(from(text, i + 1), out);
            return out->present = true;
        }
    return false;
}

static uint64_t scale(uint64_t whole, uint64_t fraction, uint64_t unit)
{
    uint64_t v;
    if (ckd_mul(&v, whole, unit)) return UINT64_MAX;
    return ckd_add(&v, v, fraction) ? UINT64_MAX : v;
}

/* Parses a time such as 0.12ms to nanoseconds and drops further decimals. */
static uint64_t time_of(str s)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"ns", 1},
                 {"us", 1000},
                 {"\xc2\xb5s", 1000},
                 {"ms", 1000000},
                 {"s", 1000000000},
                 {"m", UINT64_C(60000000000)},
                 {"h", UINT64_C(3600000000000)}};
    uint64_t whole, fraction = 0, ns = 1;
    size_t n = take_uint(s, 10, &whole);
    str digits = {0};
    s = from(s, n);
    if (s.n && s.p[0] == '.') {
        uint64_t ignored;
        digits = from(s, 1);
        digits.n = take_uint(digits, 10, &ignored);
        s = from(s, 1 + digits.n);
    }
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (str_eq(s, str_of(units[i].name))) ns = units[i].ns;
    uint64_t step = ns;
    for (size_t i = 0; i < digits.n && step; i++)
        step /= 10, fraction += step * (uint64_t)(digits.p[i] - '0');
    return scale(whole, fraction, ns);
}

static int64_t int_of(str s)
{
    uint64_t v;
    bool negative = s.n && s.p[0] == '-';
    take_uint(negative ? from(s, 1) : s, 10, &v);
    if (v > INT32_MAX) v = INT32_MAX;
    return negative ? -(int64_t)v : (int64_t)v;
}

static uint64_t id_of(str s)
{
    uint64_t v;
    if (str_starts(s, STR("0x")))
        take_uint(from(s, 2), 16, &v);
    else
        take_uint(s, 10, &v);
    return v;
}

static void field_of(size_t key, str value, splunk_thread *t)
{
    switch (key) {
    case 0: t->prio = int_of(value); break;
    case 1: t->os_prio = int_of(value); break;
    case 2: t->cpu_ns = time_of(value); break;
    case 3: t->elapsed_ns = time_of(value); break;
    case 4: t->tid = id_of(value); break;
    default: t->nid = id_of(value); break;
    }
}

/* Parses a word that is a field. Returns false if it is part of the status. */
static bool take_field(str word, splunk_thread *t)
{
    uint64_t v;
    if (word.p[0] == '#' && word.n > 1 && take_uint(from(word, 1), 10, &v) == word.n - 1)
        return t->index = v, true;
    if (word.p[0] == '[' && word.n > 2 && word.p[word.n - 1] == ']' &&
        take_uint(from(word, 1), 10, &v) == word.n - 2)
        return true;
    if (str_eq(word, STR("daemon"))) return t->daemon = true;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (str_starts(word, str_of(keys[i])))
            return field_of(i, from(word, strlen(keys[i])), t), true;
    return false;
}

/* Removes the address of the stack, which OpenJDK puts last: [0x00007fe5c97fd000] */
static str without_address(str s)
{
    size_t i = s.n;
    if (!s.n || s.p[s.n - 1] != ']') return s;
    while (i && s.p[i - 1] != '[') i--;
    if (!i || !str_starts(from(s, i), STR("0x"))) return s;
    return str_trim((str){s.p, i - 1});
}

void splunk_thread_parse(str rest, splunk_thread *out)
{
    str s = out->rest = str_trim(rest);
    while (s.n) {
        size_t n = 0;
        while (n < s.n && !is_blank(s.p[n])) n++;
        if (!take_field((str){s.p, n}, out)) break;
        s = str_trim(from(s, n));
    }
    out->status = without_address(s);
}

/* Reads the metadata line, which starts with a name in quotes that may span lines. Sets *rest to
 * the text after it. */
static void read_thread(str body, str *rest, splunk_thread *out)
{
    str all = body, text;
    for (size_t k = 0; k <= NAME_LINES && str_line(&all, &text); k++) {
        str joined = {body.p, (size_t)(text.p - body.p) + text.n};
        if (find_name(joined, out)) {
            *rest = all;
            return;
        }
    }
}

/* ---- frames ---- */

/* Returns the position of the parenthesis that matches the last character, or else of the first one
 * (G-5). */
static size_t opening(str s)
{
    size_t depth = 0;
    for (size_t i = s.n; i-- > 0;) {
        if (s.p[i] == ')') depth++;
        if (s.p[i] == '(' && --depth == 0) return i;
    }
    const char *first = memchr(s.p, '(', s.n);
    return first ? (size_t)(first - s.p) : s.n;
}

/* Removes module@version/ before a file. A path is not taken for it: before its first slash it has
 * no @ without a space or colon. */
static str take_module(str *loc)
{
    const char *slash = memchr(loc->p, '/', loc->n);
    size_t n = slash ? (size_t)(slash - loc->p) : 0, at = n;
    for (size_t i = 0; i < n; i++) {
        if (is_blank(loc->p[i]) || loc->p[i] == ':') return (str){0};
        if (loc->p[i] == '@' && at == n) at = i;
    }
    if (!at || at == n) return (str){0};
    str module = {loc->p, n};
    *loc = from(*loc, n + 1);
    return module;
}

/* Removes line and column numbers from the end of *loc; other colons belong to the file (G-6). */
static void take_numbers(str *loc, const splunk_text_opts *o, splunk_frame *f)
{
    int64_t second, text;
    str t = *loc;
    bool group = false;
    if (drop_number(&t, ' ', &f->column)) { /* " 5" */
        group = true;
    } else if (drop_number(&t, ':', &f->column_end)) { /* " 5:9" */
        group = drop_number(&t, ' ', &f->column);
    }
    str before = t;
    group = group && drop_number(&t, ':', &text); /* must follow a line number (G-7) */
    if (group)
        t = before;
    else
        t = *loc, f->column = f->column_end = 0;
    if (!drop_number(&t, ':', &second)) return;
    f->line = second;
    if (drop_number(&t, ':', &text)) {
        f->line = text;
        if (!group && (o->columns || second < text))
            f->column = second; /* G-8 */
        else
            f->line_end = second;
    }
    *loc = t;
}

static void read_location(str loc, const splunk_text_opts *o, splunk_frame *f)
{
    f->module = take_module(&loc);
    f->native = str_eq(loc, STR("Native Method"));
    if (f->native || str_eq(loc, STR("Unknown Source"))) return;
    if (loc.n && loc.p[loc.n - 1] == ':')
        loc.n--;
    else
        take_numbers(&loc, o, f);
    f->file = str_eq(loc, STR("unknown")) ? (str){0} : loc;
}

static void read_namespace(splunk_frame *f)
{
    static const str known[] = {{"global.", 7}, {"unknown.", 8}};
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_starts(f->name, known[i]) && f->name.n > known[i].n) {
            f->scope = (str){f->name.p, known[i].n - 1};
            f->name = from(f->name, known[i].n);
            return;
        }
}

static bool is_noise(str s)
{
    return str_starts(s, STR("- ")) || str_starts(s, STR("No compile task")) ||
           str_starts(s, STR("Locked ownable synchronizers:"));
}

bool splunk_frame_parse(str text, const splunk_text_opts *o, splunk_frame *out)
{
    str s = str_trim(text);
    *out = (splunk_frame){0};
    if (!s.n || is_noise(s)) return false;
    if (str_starts(s, STR("at "))) s = str_trim(from(s, 3));
    out->raw = out->name = s;
    if (!s.n) return false;
    if (o->dotnet) return true;
    if (s.p[s.n - 1] != ')') { /* name:42, from old Java allocation records */
        if (!drop_number(&out->name, ':', &out->line) || !out->name.n) return false;
        return !memchr(out->name.p, ' ', out->name.n);
    }
    size_t at = opening(s);
    if (at >= s.n) return false;
    str loc = {s.p + at + 1, s.n - at - 2};
    out->name = (str){s.p, at};
    if (!at && !(loc.n && memchr(loc.p, ':', loc.n))) return false;
    read_location(loc, o, out);
    read_namespace(out);
    return true;
}

static bool add_line(str text, const splunk_text_opts *o, arena *a, splunk_stack *out)
{
    splunk_frame f;
    if (!splunk_frame_parse(text, o, &f)) {
        if (!str_trim(text).n) return true;
        if (!out->skipped++) out->skipped_first = str_trim(text);
        return true;
    }
    if (out->frames.n == SPLUNK_MAX_FRAMES) return out->cut++, true;
    splunk_frame *slot = vec_push(a, &out->frames);
    if (!slot) return false;
    *slot = f;
    return true;
}

bool splunk_text_parse(str body, const splunk_text_opts *o, arena *a, splunk_stack *out)
{
    *out = (splunk_stack){0};
    str rest = body, first, text;
    if (!str_line(&rest, &first)) return true;
    bool blank = !str_trim(first).n;
    if (body.p[0] == '"') read_thread(body, &rest, &out->thread);
    if (!blank && !out->thread.present) {
        rest = body; /* no metadata line: all lines are frames (G-3) */
    } else {
        str after = rest;
        if (str_line(&after, &text) && !str_starts(str_trim(text), STR("at "))) { /* G-4 */
            out->state = str_trim(text);
            rest = after;
        }
    }
    while (str_line(&rest, &text))
        if (!add_line(text, o, a, out)) return false;
    return true;
}

void splunk_frame_put(const splunk_frame *f, const splunk_text_opts *o, buf *out)
{
    buf_str(out, f->name);
    if (o->dotnet) return;
    buf_putc(out, '(');
    buf_str(out, f->file.n ? f->file : STR("unknown"));
    buf_putc(out, ':');
    buf_i64(out, f->line);
    if (f->column) {
        buf_putc(out, o->columns ? ':' : ' ');
        buf_i64(out, f->column);
    }
    buf_putc(out, ')');
}
