/* Splits multipart/form-data bodies, without copying them. */
#include "pyroscope/multipart.h"

#include "base/text.h"
#include "base/ban.h"
#include <strings.h>

/* ---- header values ---- */

static bool is_word(str s, const char *word)
{
    size_t n = strlen(word);
    return s.n == n && !strncasecmp(s.p, word, n);
}

/* Moves *rest past the next parameter `; key=value` or `; key="value"`. Backslashes stay as they
 * are, as browsers write them. Returns false at the end. */
static bool next_param(str *rest, str *key, str *value)
{
    const char *semi = rest->n ? memchr(rest->p, ';', rest->n) : NULL;
    if (!semi) return false;
    str s = str_trim_left((str){semi + 1, (size_t)(rest->p + rest->n - semi - 1)});
    size_t n = 0;
    while (n < s.n && s.p[n] != '=' && s.p[n] != ';') n++;
    *key = str_trim((str){s.p, n});
    *value = (str){s.p + n, 0};
    if (n < s.n && s.p[n] == '=') {
        s = (str){s.p + n + 1, s.n - n - 1};
        bool quoted = s.n && s.p[0] == '"';
        if (quoted) s.p++, s.n--;
        for (n = 0; n < s.n && s.p[n] != (quoted ? '"' : ';');) n++;
        *value = quoted ? (str){s.p, n} : str_trim((str){s.p, n});
        n += quoted && n < s.n;
    }
    *rest = (str){s.p + n, s.n - n};
    return true;
}

static str param_of(str value, const char *name)
{
    str key, v;
    while (next_param(&value, &key, &v))
        if (is_word(key, name)) return v;
    return (str){0};
}

static str first_word(str value)
{
    const char *semi = value.n ? memchr(value.p, ';', value.n) : NULL;
    return str_trim((str){value.p, semi ? (size_t)(semi - value.p) : value.n});
}

bool multipart_is(str content_type)
{
    return is_word(first_word(content_type), "multipart/form-data");
}

/* ---- the body ---- */

typedef struct reading {
    str body;
    size_t at;
    char mark[MULTIPART_MAX_BOUNDARY + 4]; /* CR LF - - boundary */
    size_t n_mark;
    multipart *out;
    err *e;
} reading;

static bool take_boundary(reading *r, str content_type)
{
    str b = param_of(content_type, "boundary");
    if (!b.n || b.n > MULTIPART_MAX_BOUNDARY)
        return err_set(r->e, ERR_MALFORMED,
                       "the content type multipart/form-data has no boundary of 1 to %d characters",
                       MULTIPART_MAX_BOUNDARY);
    memcpy(r->mark, "\r\n--", 4);
    memcpy(r->mark + 4, b.p, b.n);
    r->n_mark = b.n + 4;
    return true;
}

static str left(const reading *r) { return (str){r->body.p + r->at, r->body.n - r->at}; }

/* Finds the next boundary, whose first line end is optional at the start of the body. Sets *before
 * to the bytes in front of it. */
static bool next_mark(reading *r, str *before)
{
    str s = left(r);
    if (!r->at && s.n >= r->n_mark - 2 && !memcmp(s.p, r->mark + 2, r->n_mark - 2)) {
        *before = (str){s.p, 0};
        r->at = r->n_mark - 2;
        return true;
    }
    const char *p = s.n ? memmem(s.p, s.n, r->mark, r->n_mark) : NULL;
    if (!p)
        return err_at(r->e, ERR_MALFORMED, r->body.n,
                      r->at ? "the body ends before its closing boundary"
                            : "the body does not contain its boundary");
    *before = (str){s.p, (size_t)(p - s.p)};
    r->at += before->n + r->n_mark;
    return true;
}

/* Reads the headers of a part. */
static bool take_head(reading *r, str *name)
{
    size_t begin = r->at;
    *name = (str){0};
    for (str row, rest = left(r); str_line(&rest, &row);) {
        r->at = r->body.n - rest.n;
        if (r->at - begin > MULTIPART_MAX_HEAD)
            return err_at(r->e, ERR_LIMIT, begin, "the headers of a part exceed %d bytes",
                          MULTIPART_MAX_HEAD);
        if (!row.n) {
            if (name->n) return true;
            return err_at(r->e, ERR_MALFORMED, begin, "a part has no name");
        }
        const char *colon = memchr(row.p, ':', row.n);
        str key = {row.p, colon ? (size_t)(colon - row.p) : row.n};
        if (colon && is_word(key, "content-disposition"))
            *name = param_of((str){colon + 1, row.n - key.n - 1}, "name");
    }
    return err_at(r->e, ERR_MALFORMED, r->body.n, "the body ends in the headers of a part");
}

/* Reads one part, with the cursor after a boundary. Sets *over at the closing one. */
static bool take_part(reading *r, bool *over)
{
    str s = left(r), body;
    *over = s.n >= 2 && !memcmp(s.p, "--", 2);
    if (*over) return true;
    size_t n = 0;
    while (n < s.n && is_blank(s.p[n])) n++;
    if (s.n - n < 2 || memcmp(s.p + n, "\r\n", 2) != 0)
        return err_at(r->e, ERR_MALFORMED, r->at + n, "no line end after a boundary");
    r->at += n + 2;
    if (r->out->n == MULTIPART_MAX_PARTS)
        return err_at(r->e, ERR_LIMIT, r->at, "more than %d parts", MULTIPART_MAX_PARTS);
    if (!take_head(r, &r->out->part[r->out->n].name)) return false;
    r->at -= 2; /* an empty body ends with the line end of its headers */
    size_t begin = r->at + 2;
    if (!next_mark(r, &body)) return false;
    size_t end = r->at - r->n_mark;
    r->out->part[r->out->n++].body = (str){r->body.p + begin, end > begin ? end - begin : 0};
    return true;
}

bool multipart_parse(str content_type, str body, multipart *out, err *e)
{
    reading r = {.body = body, .out = out, .e = e};
    str before;
    out->n = 0;
    if (!take_boundary(&r, content_type) || !next_mark(&r, &before)) return false;
    for (bool over = false; !over;)
        if (!take_part(&r, &over)) return err_in(e, "part[%zu]", out->n);
    return true;
}

str multipart_get(const multipart *m, str name)
{
    for (size_t i = 0; i < m->n; i++)
        if (str_eq(m->part[i].name, name)) return m->part[i].body;
    return (str){0};
}
