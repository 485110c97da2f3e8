/* schema_dump.c - prints the tables of wire/schema.h as lines, for tests/e2e/schema_oracle:
 *
 *   layout message number name type label target-message     ("-" for no message)
 *
 * label is one, repeated, oneof or optional. */
#include "wire/schema.h"

#include <stdio.h>

static const char *const types[] = {"int32",   "int64",  "uint32", "uint64", "bool",   "enum",
                                    "fixed64", "double", "string", "bytes",  "message"};

enum { MAX_MESSAGES = 64 };

static const message_desc *seen[MAX_MESSAGES];
static size_t n_seen;

static const char *label(const field_desc *f)
{
    if (f->flags & FF_REPEATED) return "repeated";
    if (f->flags & FF_ONEOF) return "oneof";
    return f->flags & FF_OPTIONAL ? "optional" : "one";
}

static void dump(const char *name, const message_desc *m)
{
    for (size_t i = 0; i < n_seen; i++)
        if (seen[i] == m) return;
    if (n_seen < MAX_MESSAGES) seen[n_seen++] = m;
    for (size_t i = 0; i < m->n_fields; i++) {
        const field_desc *f = &m->fields[i];
        printf("%s %s %u %s %s %s %s\n", name, m->name, f->number, f->name, types[f->type],
               label(f), f->message ? f->message->name : "-");
    }
    for (size_t i = 0; i < m->n_fields; i++)
        if (m->fields[i].message) dump(name, m->fields[i].message);
}

int main(void)
{
    for (int l = LAYOUT_1_3; l < LAYOUT_COUNT; l++) {
        n_seen = 0;
        dump(layout_name((layout)l), schema_profiles_data((layout)l));
        dump(layout_name((layout)l), schema_export_response());
    }
    return 0;
}
