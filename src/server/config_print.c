/* Prints a configuration as a file that reads back to the same values. Half of the file implements
 * the quoting rules of YAML. */
#include "server/config.h"

#include "base/ban.h"

static const void *field_of(const server_config *c, const config_key *k)
{
    return (const char *)c + k->at;
}

static uint64_t number_of(const server_config *c, const config_key *k)
{
    uint32_t narrow;
    uint64_t v;
    if (k->width == sizeof narrow) return memcpy(&narrow, field_of(c, k), sizeof narrow), narrow;
    return memcpy(&v, field_of(c, k), sizeof v), v;
}

static const char *text_of(const server_config *c, const config_key *k)
{
    return *(const char *const *)field_of(c, k);
}

/* Prints v in the largest unit that divides it. */
static void put_in_units(buf *b, uint64_t v, const uint64_t *sizes, const char *const *names,
                         size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (v % sizes[i]) continue;
        buf_u64(b, v / sizes[i]);
        buf_z(b, names[i]);
        return;
    }
}

static void put_number(buf *b, const config_key *k, uint64_t v)
{
    static const uint64_t times[] = {
        24 * 3600 * NS_PER_S, 3600 * NS_PER_S, 60 * NS_PER_S, NS_PER_S, NS_PER_MS, 1};
    static const char *const time_names[] = {"d", "h", "min", "s", "ms", "ns"};
    static const uint64_t sizes[] = {UINT64_C(1) << 30, 1 << 20, 1 << 10, 1};
    static const char *const size_names[] = {"GiB", "MiB", "KiB", ""};
    if (k->may_be_none && v == UINT64_MAX)
        buf_z(b, "none");
    else if (k->kind == KEY_TIME)
        put_in_units(b, v, times, time_names, ARRAY_LEN(times));
    else if (k->kind == KEY_SIZE)
        put_in_units(b, v, sizes, size_names, ARRAY_LEN(sizes));
    else
        buf_u64(b, v);
}

/* Returns whether a text needs no quotes, not even in a list. */
static bool is_bare(str s)
{
    static const char safe[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/$._-:";
    for (size_t i = 0; i < s.n; i++)
        if (!memchr(safe, s.p[i], sizeof safe - 1)) return false;
    return s.n && !strchr("-:.", s.p[0]) && s.p[s.n - 1] != ':';
}

/* Returns the code point of a character that YAML requires to be escaped, otherwise 0. Sets *n to
 * its length. */
static unsigned spelled(str s, size_t *n)
{
    unsigned a = (unsigned char)s.p[0], b = s.n > 1 ? (unsigned char)s.p[1] : 0,
             c = s.n > 2 ? (unsigned char)s.p[2] : 0;
    *n = 1;
    if (a < ' ' || a == 127) return a;
    if (a == 0xc2 && b >= 0x80 && b < 0xa0) return *n = 2, b;
    unsigned v = a == 0xe2 || a == 0xef ? (a & 15) << 12 | (b & 63) << 6 | (c & 63) : 0;
    bool odd = v == 0x2028 || v == 0x2029 || v == 0xfeff || v == 0xfffe || v == 0xffff;
    return odd ? *n = 3, v : 0;
}

/* Prints a text, quoted if necessary: in double quotes if it needs escapes, otherwise in single
 * quotes. */
static void put_text(buf *b, str s)
{
    size_t n;
    bool odd = false;
    for (size_t i = 0; i < s.n; i++) odd |= spelled((str){s.p + i, s.n - i}, &n) != 0;
    if (is_bare(s)) {
        buf_str(b, s);
        return;
    }
    buf_putc(b, odd ? '"' : '\'');
    for (size_t i = 0; i < s.n; i += n) {
        unsigned v = spelled((str){s.p + i, s.n - i}, &n);
        char c = s.p[i];
        if (v) {
            buf_printf(b, "\\u%04x", v);
            continue;
        }
        if (odd ? c == '"' || c == '\\' : c == '\'') buf_putc(b, odd ? '\\' : '\'');
        buf_putc(b, c);
    }
    buf_putc(b, odd ? '"' : '\'');
}

/* Prints "NAME=..." without the value. */
static void put_secret(buf *b, str s)
{
    const char *sign = memchr(s.p, '=', s.n);
    buf shown = {0};
    buf_str(&shown, (str){s.p, sign ? (size_t)(sign - s.p) : s.n});
    if (sign) buf_z(&shown, "=...");
    put_text(b, buf_view(&shown));
    buf_free(&shown);
}

static void put_list(buf *b, const config_key *k, const config_list *l)
{
    buf_putc(b, '[');
    for (size_t i = 0; i < l->n; i++) {
        if (i) buf_z(b, ", ");
        if (k->secret)
            put_secret(b, l->v[i]);
        else
            put_text(b, l->v[i]);
    }
    buf_putc(b, ']');
}

static bool is_given(const server_config *c, const config_key *k)
{
    switch (k->kind) {
    case KEY_LIST: return ((const config_list *)field_of(c, k))->n;
    case KEY_TEXT:
    case KEY_CHOICE: return text_of(c, k);
    case KEY_FLAG: return *(const bool *)field_of(c, k);
    case KEY_SIZE:
    case KEY_TIME:
    case KEY_COUNT: break;
    }
    return number_of(c, k);
}

static void put_value(buf *b, const server_config *c, const config_key *k)
{
    switch (k->kind) {
    case KEY_LIST: put_list(b, k, field_of(c, k)); return;
    case KEY_TEXT:
    case KEY_CHOICE: put_text(b, str_of(text_of(c, k))); return;
    case KEY_FLAG: buf_z(b, *(const bool *)field_of(c, k) ? "true" : "false"); return;
    case KEY_SIZE:
    case KEY_TIME:
    case KEY_COUNT: break;
    }
    put_number(b, k, number_of(c, k));
}

static void put_given_or_usual(buf *out, const server_config *c, const config_key *k)
{
    if (is_given(c, k))
        put_value(out, c, k);
    else
        buf_z(out, k->usual ? k->usual : "");
}

void config_value(const server_config *c, const char *name, buf *out)
{
    size_t n;
    const config_key *keys = config_keys(&n);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(keys[i].name, name)) put_given_or_usual(out, c, &keys[i]);
}

void config_print(const server_config *c, buf *out)
{
    size_t n;
    const config_key *keys = config_keys(&n);
    str section = {0};
    for (size_t i = 0; i < n; i++) {
        const char *dot = strchr(keys[i].name, '.');
        bool given = is_given(c, &keys[i]);
        if (!given && !keys[i].usual) continue;
        if (!given && !c->forward.to && str_starts(str_of(keys[i].name), STR("forward."))) continue;
        if (dot && !(section.n && str_starts(str_of(keys[i].name), section))) {
            section = (str){keys[i].name, (size_t)(dot - keys[i].name) + 1};
            buf_printf(out, "%.*s:\n", (int)section.n - 1, section.p);
        }
        buf_printf(out, "%s%s: ", dot ? "  " : "", dot ? dot + 1 : keys[i].name);
        put_given_or_usual(out, c, &keys[i]);
        buf_putc(out, '\n');
    }
}

bool config_same(const config_key *k, const server_config *a, const server_config *b)
{
    buf x = {0}, y = {0};
    config_key whole = *k;
    whole.secret = false;
    if (is_given(a, k)) put_value(&x, a, &whole);
    if (is_given(b, k)) put_value(&y, b, &whole);
    bool same = str_eq(buf_view(&x), buf_view(&y)) && !x.failed && !y.failed;
    buf_free(&x);
    buf_free(&y);
    return same;
}
