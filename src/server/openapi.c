/* Generates the OpenAPI document from the tables of routes.c.  Most of it parses the shape notation
 * ("name:kind name:{...} name:[...]") that routes.h describes. */
#include "server/openapi.h"

#include "server/response.h"
#include "server/endpoints.h"
#include "server/query.h"
#include "wire/json.h"
#include "base/ban.h"
#include <string.h>

static void put_text(json_out *o, const char *key, const char *text)
{
    json_put_key(o, str_of(key));
    json_put_str(o, str_of(text));
}

static void open_at(json_out *o, const char *key)
{
    json_put_key(o, str_of(key));
    json_put_object(o);
}

/* Writes {"$ref": "#/components/<of>/<name>"}. */
static void put_ref(json_out *o, const char *of, str name)
{
    char text[80];
    snprintf(text, sizeof text, "#/components/%s/%.*s", of, STR_ARG(name));
    json_put_object(o);
    put_text(o, "$ref", text);
    json_put_object_end(o);
}

static void put_pattern(json_out *o, const char *pattern)
{
    put_text(o, "type", "string");
    put_text(o, "pattern", pattern);
}

/* ---- shapes: "name:kind name:{...} name:[...]" ---- */

static void put_members(json_out *o, const char **p, const char *first);

static str word_at(const char **p)
{
    str w = {*p, strcspn(*p, " :{}[]")};
    *p += w.n;
    return w;
}

/* Removes a trailing `?`; returns whether there was one. */
static bool take_mark(str *word)
{
    bool marked = word->n && word->p[word->n - 1] == '?';
    word->n -= marked;
    return marked;
}

static void put_or_null(json_out *o, const char *type)
{
    json_put_key(o, STR("type"));
    json_put_array_flat(o);
    json_put_str(o, str_of(type));
    json_put_str(o, STR("null"));
    json_put_array_end(o);
}

static void put_kind(json_out *o, str kind)
{
    static const struct {
        const char *kind, *type, *items;
    } all[] = {
        {"bool", "boolean", NULL},    {"int", "integer", NULL},     {"real", "number", NULL},
        {"text", "string", NULL},     {"hex", "string", NULL},      {"attributes", "object", NULL},
        {"ints", "array", "integer"}, {"reals", "array", "number"}, {"texts", "array", "string"}};
    if (kind.n && kind.p[0] == '@') {
        put_ref(o, "schemas", (str){kind.p + 1, kind.n - 1});
        return;
    }
    bool may_be_null = take_mark(&kind);
    json_put_object(o);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (!str_eq(kind, str_of(all[i].kind))) continue;
        if (may_be_null)
            put_or_null(o, all[i].type);
        else
            put_text(o, "type", all[i].type);
        if (all[i].items) {
            open_at(o, "items");
            put_text(o, "type", all[i].items);
            json_put_object_end(o);
        }
    }
    json_put_object_end(o);
}

/* Writes the type after a colon or in brackets. */
static void put_type(json_out *o, const char **p)
{
    if (**p == '{') {
        ++*p;
        put_members(o, p, NULL);
        ++*p;
    } else if (**p == '[') {
        ++*p;
        json_put_object(o);
        put_text(o, "type", "array");
        json_put_key(o, STR("items"));
        const char *after = *p + strcspn(*p, " :]");
        if (*after == ':')
            put_members(o, p, NULL);
        else
            put_kind(o, word_at(p));
        json_put_object_end(o);
        ++*p;
    } else {
        put_kind(o, word_at(p));
    }
}

/* Writes an object with the members of `first` and then those up to a closing bracket. All but
 * `name?` are required. */
static void put_members(json_out *o, const char **p, const char *first)
{
    str names[40];
    size_t n = 0;
    json_put_object(o);
    put_text(o, "type", "object");
    open_at(o, "properties");
    for (int pass = first ? 0 : 1; pass < 2; pass++) {
        const char **from = pass ? p : &first;
        while (**from && **from != '}' && **from != ']') {
            str name = word_at(from);
            bool may_miss = take_mark(&name);
            ++*from;
            json_put_key(o, name);
            put_type(o, from);
            if (!may_miss && n < ARRAY_LEN(names)) names[n++] = name;
            while (**from == ' ') ++*from;
        }
    }
    json_put_object_end(o);
    json_put_key(o, STR("required"));
    json_put_array_flat(o);
    for (size_t i = 0; i < n; i++) json_put_str(o, names[i]);
    json_put_array_end(o);
    json_put_key(o, STR("additionalProperties"));
    json_put_bool(o, false);
    json_put_object_end(o);
}

/* ---- parameters ---- */

static void put_words(json_out *o, const char *words)
{
    json_put_key(o, STR("enum"));
    json_put_array_flat(o);
    for (const char *p = words; *p;) {
        size_t n = strcspn(p, "|");
        json_put_str(o, (str){p, n});
        p += n + (p[n] == '|');
    }
    json_put_array_end(o);
}

static void put_value(json_out *o, const api_param *x)
{
    switch (x->kind) {
    case API_TEXT:
    case API_TIME: put_text(o, "type", "string"); break;
    case API_DURATION: put_pattern(o, "^[0-9.]+(ns|us|ms|s|min|m|h|d)$"); break;
    case API_NUMBER: put_text(o, "type", "integer"); break;
    case API_REAL: put_text(o, "type", "number"); break;
    case API_FLAG:
        put_text(o, "type", "string");
        put_words(o, "1|true|0|false");
        break;
    case API_ID16: put_pattern(o, "^[0-9A-Fa-f]{32}$"); break;
    case API_ID8: put_pattern(o, "^[0-9A-Fa-f]{16}$"); break;
    case API_WORD:
        put_text(o, "type", "string");
        put_words(o, x->example);
        return;
    }
    json_put_key(o, STR("examples"));
    json_put_array_flat(o);
    json_put_str(o, str_of(x->example));
    json_put_array_end(o);
}

static void put_param(json_out *o, const char *name, const char *in, const char *what)
{
    put_text(o, "name", name);
    put_text(o, "in", in);
    put_text(o, "description", what);
}

static void put_params(json_out *o)
{
    open_at(o, "parameters");
    for (size_t i = 0; i < API_N_PARAMS; i++) {
        const api_param *x = &api_params[i];
        open_at(o, x->id);
        put_param(o, x->name, "query", x->what);
        open_at(o, "schema");
        put_value(o, x);
        json_put_object_end(o);
        json_put_object_end(o);
    }
    json_put_object_end(o);
}

/* ---- routes ---- */

#define EVERY "schema:int "
#define EVERY_END " partial:bool why?:text looked_at:@looked_at"

static void put_content(json_out *o, const api_route *r)
{
    open_at(o, "content");
    for (size_t i = 0; i < (r->file ? 1 : RESPONSE_ENCODINGS); i++) {
        open_at(o, r->file ? r->file : response_encodings[i].type);
        json_put_key(o, STR("schema"));
        if (r->file && r->shape) {
            put_kind(o, str_of(r->shape));
        } else if (r->shape && !i) {
            char all[1600];
            const char *p = all;
            snprintf(all, sizeof all, "%s%s", r->shape, EVERY_END);
            put_members(o, &p, EVERY);
        } else {
            json_put_object(o);
            if (i || strcmp(r->file, "application/json")) {
                put_text(o, "type", "string");
                put_text(o, "format", "binary");
            }
            json_put_object_end(o);
        }
        json_put_object_end(o);
    }
    json_put_object_end(o);
}

static bool is_change(const api_route *r) { return r->params & (API_PUT | API_DELETE); }

static void put_responses(json_out *o, const api_route *r)
{
    static const struct {
        const char *status, *name;
        uint64_t only; /* for routes with one of these bits; 0: for all */
    } others[] = {{"400", "wrong", 0},
                  {"404", "none", 0},
                  {"503", "much", 0},
                  {"409", "taken", API_PUT | API_DELETE},
                  {"502", "upstream", API_FETCHED},
                  {"504", "late", API_FETCHED}};
    open_at(o, "responses");
    open_at(o, is_change(r) ? "204" : "200");
    put_text(o, "description", r->what);
    if (!is_change(r)) put_content(o, r);
    json_put_object_end(o);
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        if (others[i].only && !(r->params & others[i].only)) continue;
        json_put_key(o, str_of(others[i].status));
        put_ref(o, "responses", str_of(others[i].name));
    }
    json_put_object_end(o);
}

static void put_path_param(json_out *o, const char *path)
{
    const char *open = strchr(path, '{');
    char name[32];
    if (!open) return;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(open + 1, "}"), open + 1);
    bool id = !strcmp(name, "id"), saved = !strcmp(name, "name");
    json_put_object(o);
    put_param(o, name, "path",
              id      ? "id of a profile"
              : saved ? "name of a saved selection"
                      : "name of a label");
    json_put_key(o, STR("required"));
    json_put_bool(o, true);
    open_at(o, "schema");
    if (id)
        put_pattern(o, "^[0-9A-Fa-f]{32}$");
    else
        put_text(o, "type", "string");
    json_put_object_end(o);
    json_put_object_end(o);
}

/* Writes the members that a change has and a query has not. */
static void put_body(json_out *o)
{
    open_at(o, "requestBody");
    put_text(o, "description", "query and fragment of the page's address: ?query=...#view=...");
    open_at(o, "content");
    open_at(o, "text/plain");
    open_at(o, "schema");
    put_text(o, "type", "string");
    for (int n = 0; n < 4; n++) json_put_object_end(o);
}

/* Writes one method of a path. */
static void put_route(json_out *o, const api_route *r)
{
    const char *method = r->params & API_PUT ? "put" : r->params & API_DELETE ? "delete" : "get";
    char id[80];
    size_t n = 0;
    if (is_change(r)) n = (size_t)snprintf(id, sizeof id, "%s_", method);
    for (const char *p = r->path; *p && n < sizeof id - 1; p++)
        if (!strchr("{}", *p)) id[n++] = (*p == '/' || *p == '.') ? '_' : *p;
    id[n] = '\0';
    open_at(o, method);
    put_text(o, "operationId", id);
    put_text(o, "summary", r->what);
    json_put_key(o, STR("parameters"));
    json_put_array_flat(o);
    put_path_param(o, r->path);
    for (size_t i = 0; i < API_N_PARAMS; i++)
        if (r->params >> i & 1) put_ref(o, "parameters", str_of(api_params[i].id));
    json_put_array_end(o);
    if (r->params & API_PUT) put_body(o);
    put_responses(o, r);
    json_put_object_end(o);
}

static void put_paths(json_out *o)
{
    char path[80];
    open_at(o, "paths");
    for (size_t i = 0; i < api_n_routes;) {
        const char *of = api_routes[i].path;
        snprintf(path, sizeof path, "/api/v1/%s", of);
        open_at(o, path);
        for (; i < api_n_routes && !strcmp(api_routes[i].path, of); i++)
            put_route(o, &api_routes[i]);
        json_put_object_end(o);
    }
    json_put_object_end(o);
}

/* ---- the rest ---- */

static void put_schemas(json_out *o)
{
    open_at(o, "schemas");
    for (size_t i = 0; i < api_n_shapes; i++) {
        const char *p = api_shapes[i].shape;
        json_put_key(o, str_of(api_shapes[i].name));
        put_members(o, &p, NULL);
    }
    json_put_object_end(o);
}

static void put_errors(json_out *o)
{
    static const char *const all[][2] = {
        {"wrong", "invalid query; the message names the parameter"},
        {"none", "unknown endpoint, or nothing is stored under this id"},
        {"much", "the server is overloaded, or the query exceeds its budget"},
        {"taken", "the name is taken, or the list of saved selections is full"},
        {"upstream", "the debuginfod server is unreachable, or sent something else than the file"},
        {"late", "the debuginfod server did not respond in time"}};
    open_at(o, "responses");
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        open_at(o, all[i][0]);
        put_text(o, "description", all[i][1]);
        open_at(o, "content");
        open_at(o, "application/json");
        json_put_key(o, STR("schema"));
        put_ref(o, "schemas", STR("error"));
        for (int n = 0; n < 3; n++) json_put_object_end(o);
    }
    json_put_object_end(o);
}

static void put_security(json_out *o)
{
    open_at(o, "securitySchemes");
    open_at(o, "token");
    put_text(o, "type", "http");
    put_text(o, "scheme", "bearer");
    json_put_object_end(o);
    json_put_object_end(o);
}

static void put_info(json_out *o)
{
    put_text(o, "openapi", "3.1.0");
    open_at(o, "info");
    put_text(o, "title", "kiln serve");
    put_text(o, "version", "1");
    put_text(o, "summary",
             "Queries about stored profiles; docs/query-api.md describes the responses");
    json_put_object_end(o);
    json_put_key(o, STR("security")); /* the token is optional: a server may run without */
    json_put_array_flat(o);
    json_put_object(o);
    json_put_object_end(o);
    json_put_object(o);
    json_put_key(o, STR("token"));
    json_put_array(o);
    json_put_array_end(o);
    json_put_object_end(o);
    json_put_array_end(o);
}

void openapi_put(buf *out)
{
    json_out o = {.b = out, .pretty = true};
    json_put_object(&o);
    put_info(&o);
    put_paths(&o);
    open_at(&o, "components");
    put_params(&o);
    put_schemas(&o);
    put_errors(&o);
    put_security(&o);
    json_put_object_end(&o);
    json_put_object_end(&o);
    buf_putc(out, '\n');
}

bool api_openapi(query *k, err *e)
{
    openapi_put(&k->body);
    k->type = "application/json";
    return !k->body.failed || err_memory(e);
}
