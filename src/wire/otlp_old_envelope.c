/* Reads ResourceProfiles and ScopeProfiles of the old layouts and of the drafts.  They are nearly
 * the same in all of them; only v1.6 added entity_refs. */
#include "wire/otlp_old_internal.h"

#include "base/ban.h"

/* ---- scopes ---- */

#define SCOPE(kind, member, name) OLD_FIELD(kind, old_scope, member, name)

static const old_field scope_message_fields[] = {
    [1] = SCOPE(TEXT, scope.name, "name"),
    [2] = SCOPE(TEXT, scope.version, "version"),
    [3] = SCOPE(ATTRS, attrs, "attributes"),
    [4] = SCOPE(U32, scope.dropped_attributes_count, "dropped_attributes_count"),
};

static bool scope_message(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                          void *to)
{
    static const old_message message = OLD_MESSAGE(scope_message_fields);
    ((old_scope *)to)->scope.present = true;
    return old_submessage(o, t, c, f, name, &message, to);
}

static const old_field scope_fields[] = {
    [1] = {OLD_CALL, 0, "scope", scope_message},
    [2] = SCOPE(PIECE, profiles, "profiles"),
    [3] = SCOPE(TEXT, scope.schema_url, "schema_url"),
};

bool old_put_scope(old *o, old_scope *s)
{
    s->scope.attrs = (keyvalues){s->attrs.v, s->attrs.n};
    builder_scope(&o->b, &s->scope);
    return o->b.failed ? err_memory(o->e) : true;
}

/* ---- resources ---- */

typedef struct resource_reader {
    resource resource;
    keyvalue_list attrs;
    VEC(entity_ref) refs;
    pieces scopes;
} resource_reader;

typedef struct key_list {
    VEC(str) v;
} key_list;

typedef struct entity_reader {
    entity_ref ref;
    key_list id_keys, description_keys;
} entity_reader;

static bool entity_key(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                       void *to)
{
    key_list *list = to;
    str s;
    if (!pb_text(c, f, name, &s)) return false;
    str *slot = vec_push(t->a, &list->v);
    if (!slot) return err_memory(o->e);
    *slot = s;
    return true;
}

static const old_field entity_fields[] = {
    [1] = OLD_FIELD(TEXT, entity_reader, ref.schema_url, "schema_url"),
    [2] = OLD_FIELD(TEXT, entity_reader, ref.type, "type"),
    [3] = OLD_READ(entity_key, entity_reader, id_keys, "id_keys"),
    [4] = OLD_READ(entity_key, entity_reader, description_keys, "description_keys"),
};

static bool entity(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name, void *to)
{
    static const old_message message = OLD_MESSAGE(entity_fields);
    resource_reader *r = to;
    entity_reader x = {0};
    if (!pb_expect(c, f, 2, name)) return false;
    entity_ref *e = vec_push(t->a, &r->refs);
    if (!e) return err_memory(o->e);
    if (!old_fields(o, t->a, t, pb_message(c, f), &message, &x))
        return err_in(o->e, "%s[%zu]", name, r->refs.n - 1);
    *e = x.ref;
    e->id_keys = x.id_keys.v.v;
    e->n_id_keys = x.id_keys.v.n;
    e->description_keys = x.description_keys.v.v;
    e->n_description_keys = x.description_keys.v.n;
    return true;
}

#define RESOURCE_V3                                                                                \
    [1] = OLD_FIELD(ATTRS, resource_reader, attrs, "attributes"),                                  \
    [2] = OLD_FIELD(U32, resource_reader, resource.dropped_attributes_count,                       \
                    "dropped_attributes_count")

static const old_field resource_v3_fields[] = {RESOURCE_V3};
static const old_field resource_v6_fields[] = {
    RESOURCE_V3, [3] = {OLD_CALL, 0, "entity_refs", entity}};

static bool resource_message(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                             void *to)
{
    static const old_message v3 = OLD_MESSAGE(resource_v3_fields),
                             v6 = OLD_MESSAGE(resource_v6_fields);
    ((resource_reader *)to)->resource.present = true;
    return old_submessage(o, t, c, f, name, o->layout >= LAYOUT_1_6 ? &v6 : &v3, to);
}

static const old_field resource_fields[] = {
    [1] = {OLD_CALL, 0, "resource", resource_message},
    [2] = OLD_FIELD(PIECE, resource_reader, scopes, "scope_profiles"),
    [3] = OLD_FIELD(TEXT, resource_reader, resource.schema_url, "schema_url"),
};

bool old_resource(old *o, pb_cur c, size_t resource_i,
                  bool (*each)(old *o, old_scope *s, size_t resource_i, size_t scope_i, void *ctx),
                  void *ctx)
{
    static const old_message message = OLD_MESSAGE(resource_fields),
                             scope_profiles = OLD_MESSAGE(scope_fields);
    old_tables t = {.a = &o->keep};
    resource_reader r = {.resource.schema_url = {"", 0}};
    if (!old_fields(o, t.a, &t, c, &message, &r)) return false;
    r.resource.attrs = (keyvalues){r.attrs.v, r.attrs.n};
    r.resource.entity_refs = r.refs.v;
    r.resource.n_entity_refs = r.refs.n;
    builder_resource(&o->b, &r.resource);
    if (o->b.failed) return err_memory(o->e);
    for (size_t i = 0; i < r.scopes.n; i++) {
        old_scope s = {.scope.name = {"", 0}};
        if (!old_fields(o, t.a, &t, old_cur(o, r.scopes.v[i]), &scope_profiles, &s) ||
            !each(o, &s, resource_i, i, ctx))
            return err_in(o->e, "scope_profiles[%zu]", i);
    }
    return true;
}
