/* Reads columns of numbers from a table of either shape: rows of cells with a schema, or
 * columns. */
#include "format/gecko.h"

#include "base/ban.h"

enum { MAX_CELLS = 64 }; /* columns of a row that are read */

/* Converts the value whose first token was read to a number, or GECKO_NONE for other values. */
static bool cell(json *j, int scale, int64_t *v, bool *rounded)
{
    *v = GECKO_NONE;
    if (j->tok == JSON_NUMBER) return json_to_scaled(j, scale, v, rounded);
    if (j->tok == JSON_TRUE || j->tok == JSON_FALSE) *v = j->tok == JSON_TRUE;
    return json_skip_open(j);
}

/* ---- columns ---- */

static bool column(json *j, gecko_column *c, arena *work, bool *rounded)
{
    if (json_next(j) != JSON_ARRAY) return json_skip_open(j);
    c->present = true;
    while (json_element(j)) {
        int64_t *v = vec_push(work, &c->v);
        if (!v) return err_memory(j->e);
        if (!cell(j, c->scale, v, rounded)) return err_in(j->e, "%s[%zu]", c->name, c->v.n - 1);
    }
    return !j->bad;
}

/* ---- rows ---- */

/* Reads the schema. Sets cells[k] to the column of the k-th cell, + 1. */
static bool schema(json *j, gecko_column *cols, size_t n, uint8_t *cells)
{
    if (!json_expect_object(j)) return false;
    while (json_key(j)) {
        size_t i = 0;
        while (i < n && !json_is(j, cols[i].name)) i++;
        uint64_t k;
        json_next(j);
        if (!json_to_u64(j, UINT32_MAX, &k)) return false;
        if (i < n && k < MAX_CELLS) cells[k] = (uint8_t)(i + 1), cols[i].present = true;
    }
    return !j->bad;
}

static bool row(json *j, gecko_column *cols, size_t n, const uint8_t *cells, arena *work,
                bool *rounded)
{
    if (j->tok != JSON_ARRAY) return json_expected(j, "a row");
    for (size_t i = 0; i < n; i++) {
        int64_t *v = vec_push(work, &cols[i].v);
        if (!v) return err_memory(j->e);
        *v = GECKO_NONE;
    }
    for (size_t k = 0; json_element(j); k++) {
        gecko_column *c = k < MAX_CELLS && cells[k] ? &cols[cells[k] - 1] : NULL;
        bool ok = c ? cell(j, c->scale, &c->v.v[c->v.n - 1], rounded) : json_skip_open(j);
        if (!ok) return false;
    }
    return !j->bad;
}

static bool rows_of(json_slice text, gecko_column *cols, size_t n, const uint8_t *cells,
                    arena *work, bool *rounded, err *e)
{
    json j = json_open_slice(text, work, e);
    if (json_next(&j) != JSON_ARRAY) return json_expected(&j, "an array");
    for (size_t i = 0; json_element(&j); i++)
        if (!row(&j, cols, n, cells, work, rounded)) return err_in(e, "data[%zu]", i);
    return !j.bad;
}

/* ---- both shapes ---- */

static gecko_column *column_named(const json *j, gecko_column *cols, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (json_is(j, cols[i].name)) return &cols[i];
    return NULL;
}

bool gecko_table(json_slice text, gecko_column *cols, size_t n, size_t *rows, arena *work,
                 bool *rounded, err *e)
{
    *rows = 0;
    if (!text.bytes.n) return true;
    json j = json_open_slice(text, work, e);
    uint8_t cells[MAX_CELLS] = {0};
    json_slice data = {0};
    bool by_rows = false;
    if (json_next(&j) == JSON_NULL) return true;
    if (j.tok != JSON_OBJECT) return json_expected(&j, "a table");
    while (json_key(&j)) {
        gecko_column *c = column_named(&j, cols, n);
        bool ok;
        if (c)
            ok = column(&j, c, work, rounded);
        else if (json_is(&j, "schema"))
            ok = by_rows = schema(&j, cols, n, cells);
        else if (json_is(&j, "data"))
            ok = json_take_slice(&j, &data);
        else
            ok = json_skip_value(&j);
        if (!ok) return false;
    }
    if (j.bad || (by_rows && data.bytes.n && !rows_of(data, cols, n, cells, work, rounded, e)))
        return false;
    for (size_t i = 0; i < n; i++)
        if (cols[i].v.n > *rows) *rows = cols[i].v.n;
    return true;
}

bool gecko_string_table(json_slice text, gecko_strings *out, arena *work, err *e)
{
    if (!text.bytes.n) return true;
    json j = json_open_slice(text, work, e);
    if (!json_expect_array(&j)) return false;
    while (json_element(&j)) {
        str *s = vec_push(work, out);
        if (!s) return err_memory(e);
        if (j.tok != JSON_STRING) return json_expected(&j, "text");
        *s = j.text;
        if (s->p != j.scratch || !s->n) continue; /* a view of the input */
        char *copy = arena_alloc(work, s->n);
        if (!copy) return err_memory(e);
        s->p = memcpy(copy, s->p, s->n);
    }
    return !j.bad;
}
