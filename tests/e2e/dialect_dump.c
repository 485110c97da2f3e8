/* dialect_dump.c - prints the tables of format/dialects.h as lines, for tests/e2e/dialect_oracle:
 *   dialect message number name type label target-message     ("-" for no message)
 * It also prints the tables of pprof, as dialect "pprof". label is one, repeated, oneof or optional. */
#include "format/dialects.h"
#include "format/pprof.h"

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
    static const dialect all[] = {DIALECT_A,  DIALECT_A1,    DIALECT_A2,
                                  DIALECT_A0, DIALECT_BENCH, DIALECT_C};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        n_seen = 0;
        dump(dialect_name(all[i]), dialect_schema(all[i]));
    }
    n_seen = 0;
    dump("pprof", &pprof_profile);
    return 0;
}
