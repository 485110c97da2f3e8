/* tests/support/jfr_make.h - writes small recordings field by field: types from a table, constants
 * and events as the test specifies. Integers are LEB128 or, with `fixed`, full width. */
#pragma once
#include "base/buf.h"
#include <stdio.h>
#include <string.h>

typedef struct jm_field {
    const char *name;
    unsigned class_id;
    bool constant, array;
    const char *unit; /* "TICKS", or NULL */
} jm_field;

typedef struct jm_class {
    unsigned id;
    const char *name;
    jm_field fields[10]; /* ends at the first without a name */
} jm_class;

enum { JM_MAX_STRINGS = 256 };

typedef struct jm {
    buf out;
    bool fixed;
    size_t chunk; /* start of the chunk */
    size_t event; /* position of its size */
    const char *strings[JM_MAX_STRINGS];
    unsigned n_strings;
} jm;

static inline void jm_be(jm *m, uint64_t v, unsigned bytes)
{
    while (bytes--) buf_putc(&m->out, (char)(v >> (8 * bytes)));
}

static inline void jm_var(jm *m, uint64_t v)
{
    for (int i = 0; i < 8 && v >= 0x80; i++, v >>= 7) buf_putc(&m->out, (char)(v | 0x80));
    buf_putc(&m->out, (char)v);
}

static inline void jm_int(jm *m, uint32_t v) { m->fixed ? jm_be(m, v, 4) : jm_var(m, v); }
static inline void jm_long(jm *m, uint64_t v) { m->fixed ? jm_be(m, v, 8) : jm_var(m, v); }
static inline void jm_byte(jm *m, unsigned v) { buf_putc(&m->out, (char)v); }

static inline void jm_str(jm *m, const char *s) /* s NULL writes null */
{
    jm_byte(m, s ? 3 : 0);
    if (!s) return;
    jm_int(m, (uint32_t)strlen(s));
    buf_z(&m->out, s);
}

/* Sizes are four bytes, as async-profiler writes them: a padded LEB128. */
static inline void jm_patch(jm *m, size_t at, size_t n)
{
    for (unsigned i = 0; i < 4; i++)
        m->out.p[at + i] =
            (char)(m->fixed ? n >> (24 - 8 * i) : (n >> (7 * i) & 0x7f) | (i < 3 ? 0x80 : 0));
}

static inline void jm_begin(jm *m, uint64_t type)
{
    m->event = m->out.n;
    buf_put(&m->out, "\0\0\0", 4);
    jm_long(m, type);
}

static inline void jm_end(jm *m) { jm_patch(m, m->event, m->out.n - m->event); }

typedef struct jm_header {
    unsigned major, minor;
    uint64_t start_ns, start_ticks, ticks_per_s;
} jm_header;

static inline void jm_chunk(jm *m, jm_header h)
{
    m->chunk = m->out.n;
    buf_put(&m->out, "FLR", 4);
    jm_be(m, h.major, 2);
    jm_be(m, h.minor, 2);
    for (int i = 0; i < 3; i++)
        jm_be(m, 0, 8); /* size, checkpoint, metadata: Kiln needs the size only */
    jm_be(m, h.start_ns, 8);
    jm_be(m, 1000000000, 8);
    jm_be(m, h.start_ticks, 8);
    jm_be(m, h.ticks_per_s, 8);
    jm_be(m, m->fixed ? 0 : 1, 4);
}

static inline void jm_chunk_end(jm *m)
{
    uint64_t n = m->out.n - m->chunk;
    for (unsigned i = 0; i < 8; i++) m->out.p[m->chunk + 8 + i] = (char)(n >> (56 - 8 * i));
}

/* ---- metadata ---- */

static inline unsigned jm_string(jm *m, const char *s)
{
    unsigned i = 0;
    while (i < m->n_strings && strcmp(m->strings[i], s)) i++;
    if (i == m->n_strings && i < JM_MAX_STRINGS) m->strings[m->n_strings++] = s;
    return i;
}

static inline void jm_element(jm *m, const char *name, unsigned n_attrs, const char *const *attrs)
{
    jm_int(m, jm_string(m, name));
    jm_int(m, n_attrs);
    for (unsigned i = 0; i < 2 * n_attrs; i++) jm_int(m, jm_string(m, attrs[i]));
}

static inline unsigned jm_n_fields(const jm_class *c)
{
    unsigned n = 0;
    while (n < 10 && c->fields[n].name) n++;
    return n;
}

/* Formats a number as text that outlives the metadata. */
static inline const char *jm_number(unsigned v)
{
    static char text[1024][6];
    if (v >= 1024) return "0";
    snprintf(text[v], sizeof text[v], "%u", v);
    return text[v];
}

static inline void jm_tree(jm *m, const jm_class *c, size_t n)
{
    jm_element(m, "root", 0, NULL);
    jm_int(m, 1);
    jm_element(m, "metadata", 0, NULL);
    jm_int(m, (uint32_t)n);
    for (; n--; c++) {
        unsigned n_fields = jm_n_fields(c);
        jm_element(m, "class", 2, (const char *[]){"id", jm_number(c->id), "name", c->name});
        jm_int(m, n_fields);
        for (unsigned k = 0; k < n_fields; k++) {
            const jm_field *f = &c->fields[k];
            jm_element(m, "field", 4,
                       (const char *[]){"name", f->name, "class", jm_number(f->class_id),
                                        "constantPool", f->constant ? "true" : "false", "dimension",
                                        f->array ? "1" : "0"});
            jm_int(m, f->unit != NULL);
            if (!f->unit) continue;
            jm_element(m, "annotation", 2, (const char *[]){"class", "999", "value", f->unit});
            jm_int(m, 0);
        }
    }
}

static inline void jm_metadata(jm *m, const jm_class *c, size_t n)
{
    buf kept = m->out;
    m->n_strings = 0;
    m->out = (buf){0};
    jm_tree(m, c, n); /* a first pass for the strings, which come first */
    buf_free(&m->out);
    m->out = kept;
    jm_begin(m, 0);
    for (int i = 0; i < 3; i++) jm_long(m, 0);
    jm_int(m, m->n_strings);
    for (unsigned i = 0; i < m->n_strings; i++) jm_str(m, m->strings[i]);
    jm_tree(m, c, n);
    jm_end(m);
}

static inline void jm_checkpoint(jm *m, uint32_t pools)
{
    jm_begin(m, 1);
    for (int i = 0; i < 3; i++) jm_long(m, 0);
    jm_byte(m, 1);
    jm_int(m, pools);
}

static inline void jm_pool(jm *m, uint64_t type, uint32_t n)
{
    jm_long(m, type);
    jm_int(m, n);
}
