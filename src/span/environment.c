/* Parses OTEL_RESOURCE_ATTRIBUTES without allocating. */
#include "span/environment.h"

#include "base/utf8.h"
#include <string.h>

static int digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Copies s[0..n) without surrounding spaces to `out`, decodes %41 to A, and terminates it.  Returns
 * false when the text is malformed. */
static bool decode(const char *s, size_t n, char *out)
{
    size_t k = 0;
    while (n && (*s == ' ' || *s == '\t')) s++, n--;
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\t')) n--;
    for (size_t i = 0; i < n; i++) {
        int c = (uint8_t)s[i];
        if (c == '%') {
            int high = n - i < 3 ? -1 : digit(s[i + 1]), low = high < 0 ? -1 : digit(s[i + 2]);
            if (high < 0 || low < 0) return false;
            c = high * 16 + low;
            i += 2;
        }
        if (k == TEXT_MAX || !c) return false;
        out[k++] = (char)c;
    }
    out[k] = '\0';
    return utf8_ok(out, k);
}

static bool next(const char **list, char *key, char *value, bool *bad)
{
    const char *s = *list;
    size_t n = strcspn(s, ",");
    const char *equals = memchr(s, '=', n);
    if (!*s) return false;
    *list = s + n + (s[n] == ',');
    size_t k = equals ? (size_t)(equals - s) : 0;
    *bad = !equals || !decode(s, k, key) || !*key || !decode(equals + 1, n - k - 1, value);
    return true;
}

bool environment_next(const char **list, char *key, char *value)
{
    bool bad;
    return next(list, key, value, &bad);
}

bool environment_valid(const char *list)
{
    char key[TEXT_MAX + 1], value[TEXT_MAX + 1];
    for (bool bad; next(&list, key, value, &bad);)
        if (bad) return false;
    return true;
}
