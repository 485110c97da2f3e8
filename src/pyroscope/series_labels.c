/* Collects the labels of a series and parses application names that contain labels. */
#include "pyroscope/series_labels.h"

#include "base/text.h"
#include "base/utf8.h"
#include "base/ban.h"

enum { SHOWN = 40 };

static bool too_long(str name, const char *what, size_t n, size_t most, err *e)
{
    return err_set(e, ERR_LIMIT, "the %s of label `%.*s` has %zu bytes, more than %zu", what,
                   (int)(name.n < SHOWN ? name.n : SHOWN), name.p, n, most);
}

static bool check(str name, str value, err *e)
{
    if (!name.n) return err_set(e, ERR_MALFORMED, "a label has no name");
    if (!utf8_ok(name.p, name.n)) return err_set(e, ERR_MALFORMED, "a label name is not UTF-8");
    if (name.n > PYRO_MAX_LABEL_NAME) return too_long(name, "name", name.n, PYRO_MAX_LABEL_NAME, e);
    if (value.n > PYRO_MAX_LABEL_VALUE)
        return too_long(name, "value", value.n, PYRO_MAX_LABEL_VALUE, e);
    return utf8_ok(value.p, value.n) ||
           err_set(e, ERR_MALFORMED, "the value of label `%.*s` is not UTF-8",
                   (int)(name.n < SHOWN ? name.n : SHOWN), name.p);
}

static size_t find(const pyro_labels *l, str name)
{
    size_t i = 0;
    while (i < l->n && !str_eq(l->v[i].name, name)) i++;
    return i;
}

bool pyro_labels_set(pyro_labels *l, str name, str value, arena *a, err *e)
{
    if (!check(name, value, e)) return false;
    size_t i = find(l, name);
    if (!value.n) {
        if (i < l->n) memmove(&l->v[i], &l->v[i + 1], (--l->n - i) * sizeof *l->v);
        return true;
    }
    if (i == l->n) {
        if (l->n == PYRO_MAX_LABELS)
            return err_set(e, ERR_LIMIT, "more than %d labels", PYRO_MAX_LABELS);
        if (!vec_push(a, l)) return arena_spent(a, e);
    }
    l->v[i] = (pyro_label){name, value};
    return true;
}

str pyro_labels_get(const pyro_labels *l, str name)
{
    size_t i = find(l, name);
    return i < l->n ? l->v[i].value : (str){0};
}

/* ---- application names ---- */

static size_t until(str text, size_t at, const char *stop)
{
    while (at < text.n && !strchr(stop, text.p[at])) at++;
    return at;
}

static str cut(str text, size_t from, size_t to)
{
    return str_trim((str){text.p + from, to - from});
}

/* Parses the labels from the byte after `{`. */
static bool take_labels(str text, size_t at, arena *a, pyro_labels *out, err *e)
{
    for (;;) {
        size_t name = at, eq = until(text, at, "=,}");
        if (eq < text.n && text.p[eq] == '=') {
            at = until(text, eq + 1, ",}");
            if (!pyro_labels_set(out, cut(text, name, eq), cut(text, eq + 1, at), a, e)) {
                if (e && e->offset == NO_OFFSET) e->offset = name;
                return false;
            }
        } else if (cut(text, name, eq).n) {
            return err_at(e, ERR_MALFORMED, name, "a label has no `=`");
        } else {
            at = eq;
        }
        if (at == text.n) return err_at(e, ERR_MALFORMED, at, "the labels do not end with `}`");
        if (text.p[at++] == '}') break;
    }
    return !cut(text, at, text.n).n ||
           err_at(e, ERR_MALFORMED, at, "text after the `}` of the labels");
}

bool pyro_app_name(str text, arena *a, str *app, pyro_labels *out, err *e)
{
    size_t brace = until(text, 0, "{");
    *app = cut(text, 0, brace);
    if (!app->n) return err_at(e, ERR_MALFORMED, 0, "the application has no name");
    if (app->n > PYRO_MAX_LABEL_VALUE)
        return err_at(e, ERR_LIMIT, 0, "the name of the application has %zu bytes, more than %d",
                      app->n, PYRO_MAX_LABEL_VALUE);
    if (!utf8_ok(app->p, app->n))
        return err_at(e, ERR_MALFORMED, utf8_valid(app->p, app->n),
                      "the name of the application is not UTF-8");
    return brace == text.n || take_labels(text, brace + 1, a, out, e);
}
