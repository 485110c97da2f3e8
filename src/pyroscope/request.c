/* Decodes requests by the tables of messages.h: the name of a field decides which member of
 * pyro_request it sets. */
#include "pyroscope/request.h"

#include "wire/pb.h"

#include "base/ban.h"
#include <stddef.h>

typedef enum kind {
    NUMBER,
    PRESENT, /* a number with presence: the flag follows in `has` */
    REAL,
    TEXT,
    TEXTS,
    NAMES,  /* messages with a name in field 1 */
    WITHIN, /* a message whose fields are members of the same request */
    CHILD,  /* a request */
} kind;

typedef struct member {
    const char *name;
    kind kind;
    size_t at, has;
} member;

#define AT(name, kind, to)                                                                         \
    {                                                                                              \
        name, kind, offsetof(pyro_request, to), 0                                                  \
    }
#define HAS(name, to, flag)                                                                        \
    {                                                                                              \
        name, PRESENT, offsetof(pyro_request, to), offsetof(pyro_request, flag)                    \
    }

static const member members[] = {
    AT("start", NUMBER, start),
    AT("end", NUMBER, end),
    AT("profile_typeID", TEXT, profile_type),
    AT("label_selector", TEXT, selector),
    AT("matchers", TEXTS, matchers),
    AT("label_names", TEXTS, label_names),
    AT("group_by", TEXTS, group_by),
    AT("profile_id_selector", TEXTS, profile_ids),
    AT("trace_id_selector", TEXTS, trace_ids),
    AT("span_selector", TEXTS, span_ids),
    AT("stack_trace_selector", WITHIN, start),
    AT("call_site", NAMES, call_site),
    AT("step", REAL, step),
    HAS("max_nodes", max_nodes, has_max_nodes),
    HAS("limit", limit, has_limit),
    AT("format", NUMBER, format),
    AT("aggregation", NUMBER, aggregation),
    AT("exemplar_type", NUMBER, exemplars),
    AT("query_type", NUMBER, heatmap),
    AT("query", TEXT, query),
    AT("left", CHILD, left),
    AT("right", CHILD, right),
    AT("setting", WITHIN, start),
    AT("name", TEXT, name),
    AT("value", TEXT, value),
    AT("id", TEXT, id),
    AT("left_id", TEXT, id),
    AT("right_id", TEXT, right_id),
    AT("profile_type", TEXT, adhoc_type),
    AT("profile", TEXT, profile),
    AT("service", TEXT, service),
};

static const member *member_of(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (!strcmp(members[i].name, name)) return &members[i];
    return NULL;
}

static bool read_fields(const message_desc *d, pb_cur *c, arena *a, pyro_request *out);

static bool push_text(pb_cur *c, pyro_texts *to, str s, arena *a)
{
    if (to->n == PYRO_LIST_MAX)
        return err_set(c->e, ERR_LIMIT, "a list has more than %d elements", PYRO_LIST_MAX);
    str *v = vec_push(a, to);
    if (!v) return err_memory(c->e);
    *v = s;
    return true;
}

static bool read_name(pb_cur *c, const pb_field *f, pyro_texts *to, arena *a)
{
    str name = {"", 0};
    pb_cur in = pb_message(c, f);
    for (pb_field x; pb_next(&in, &x);)
        if (x.number == 1 && !pb_text(&in, &x, "name", &name)) return false;
    return pb_ok(&in) && push_text(c, to, name, a);
}

static bool read_child(const field_desc *d, pb_cur *c, const pb_field *f, arena *a,
                       pyro_request **out)
{
    pb_cur in = pb_message(c, f);
    if (!*out && !(*out = arena_new(a, pyro_request, 1))) return err_memory(c->e);
    return read_fields(d->message, &in, a, *out) || /* repeated messages are merged */
           err_in(c->e, "%s", d->name);
}

static bool read_member(const field_desc *d, const member *m, pb_cur *c, const pb_field *f,
                        arena *a, pyro_request *out)
{
    void *to = (char *)out + m->at;
    str text;
    pb_cur in;
    if (!pb_expect(c, f,
                   m->kind == NUMBER || m->kind == PRESENT ? 0
                   : m->kind == REAL                       ? 1
                                                           : 2,
                   d->name))
        return false;
    switch (m->kind) {
    case PRESENT:
        *(bool *)((char *)out + m->has) = true;
        *(uint64_t *)to = f->value;
        return true;
    case NUMBER: *(uint64_t *)to = f->value; return true;
    case REAL: memcpy(to, &f->value, sizeof f->value); return true;
    case TEXT: return pb_text(c, f, d->name, to);
    case TEXTS: return pb_text(c, f, d->name, &text) && push_text(c, to, text, a);
    case NAMES: return read_name(c, f, to, a);
    case CHILD: return read_child(d, c, f, a, to);
    case WITHIN: in = pb_message(c, f); return read_fields(d->message, &in, a, out);
    }
    return true;
}

static bool read_fields(const message_desc *d, pb_cur *c, arena *a, pyro_request *out)
{
    for (pb_field f; pb_next(c, &f);) {
        const field_desc *field = d ? message_field(d, f.number) : NULL;
        const member *m = field ? member_of(field->name) : NULL;
        if (m && !read_member(field, m, c, &f, a, out)) return false;
    }
    return pb_ok(c);
}

bool pyro_request_read(const message_desc *d, str bytes, arena *a, pyro_request *out, err *e)
{
    pb_cur c = pb_open(bytes.p, bytes.n, e);
    *out = (pyro_request){0};
    return read_fields(d, &c, a, out);
}

static bool is_side(const pyro_request *side, const pyro_texts *texts)
{
    return side && texts->v[0].p == side->selector.p;
}

bool pyro_request_name(const pyro_request *r, const pyro_texts *texts, size_t i, err *e)
{
    if (texts->v == r->matchers.v) return err_in(e, "matchers[%zu]", i);
    return err_in(e, "%s",
                  is_side(r->left, texts)    ? "left.label_selector"
                  : is_side(r->right, texts) ? "right.label_selector"
                  : r->query.n               ? "query"
                                             : "label_selector");
}
