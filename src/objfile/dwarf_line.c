/* Runs line number programs (DWARF 5, section 6.2) of versions 2 to 5, with both formats of the
 * file table. Rows are kept only for code that is in an executable section, because the linker
 * leaves lines of discarded functions behind. */
#include "objfile/dwarf.h"

#include "base/ban.h"

enum {
    LNS_COPY = 1,
    LNS_ADVANCE_PC,
    LNS_ADVANCE_LINE,
    LNS_SET_FILE,
    LNS_SET_COLUMN,
    LNS_CONST_ADD_PC = 8,
    LNS_FIXED_ADVANCE_PC = 9
};
enum { LNE_END_SEQUENCE = 1, LNE_SET_ADDRESS = 2, LNE_DEFINE_FILE = 3 };
enum { LNCT_PATH = 1, LNCT_DIRECTORY = 2, MAX_FORMATS = 16 };

typedef struct line_program {
    dwarf *d;
    dwarf_unit *u;
    dwarf_lines *t;
    dwarf_unit shape; /* sizes from the header of the program */
    rd r;
    uint8_t min_length, line_range, opcode_base;
    int8_t line_base;
    const uint8_t *lengths; /* number of operands of each standard opcode */
    size_t sequence;        /* first row of the current sequence */
} line_program;

/* ---- files ---- */

static bool add_file(dwarf *d, dwarf_lines *t, str name, uint64_t dir)
{
    dwarf_file *f = vec_push(d->b->a, &d->files);
    if (!f) return dwarf_no_memory(d);
    *f = (dwarf_file){.name = name, .dir = dir};
    t->n_files++;
    return true;
}

static bool add_dir(dwarf *d, dwarf_lines *t, str name)
{
    str *s = vec_push(d->b->a, &d->dirs);
    if (!s) return dwarf_no_memory(d);
    *s = name;
    t->n_dirs++;
    return true;
}

static bool read_old_tables(line_program *p)
{
    rd *r = &p->r;
    for (str s; (s = rd_z(r)).n;)
        if (!add_dir(p->d, p->t, s)) return false;
    for (str s; (s = rd_z(r)).n;) {
        uint64_t dir = rd_uleb(r);
        rd_uleb(r), rd_uleb(r); /* time, length */
        if (!add_file(p->d, p->t, s, dir)) return false;
    }
    return true;
}

/* Returns whether a form needs at least one byte, so that the size of the header limits the number
 * of entries. */
static bool takes_bytes(uint64_t form)
{
    return form != FORM_FLAG_PRESENT && form != FORM_IMPLICIT_CONST && form != FORM_INDIRECT &&
           form && form <= UINT16_MAX;
}

/* Reads directories or files in the format of DWARF 5. */
static bool read_new_table(line_program *p, bool dirs)
{
    rd *r = &p->r;
    dwarf_attr format[MAX_FORMATS] = {{0}};
    uint8_t n_formats = rd_u8(r);
    if (n_formats > MAX_FORMATS) rd_fail(r);
    for (uint8_t i = 0; i < n_formats && !r->failed; i++) {
        uint64_t name = rd_uleb(r), form = rd_uleb(r);
        if (!takes_bytes(form)) rd_fail(r);
        format[i] = (dwarf_attr){.name = name <= 5 ? (uint16_t)name : 0, .form = (uint16_t)form};
    }
    uint64_t n = rd_uleb(r);
    if (n && !n_formats) rd_fail(r);
    for (uint64_t k = 0; k < n && !r->failed; k++) {
        str path = STR("");
        uint64_t dir = 0;
        for (uint8_t i = 0; i < n_formats; i++) {
            dwarf_value v = dwarf_read_form(&p->shape, r, &format[i]);
            if (format[i].name == LNCT_PATH) path = dwarf_string(p->d, p->u, &v);
            if (format[i].name == LNCT_DIRECTORY) dir = v.u;
        }
        if (r->failed) break;
        if (!(dirs ? add_dir(p->d, p->t, path) : add_file(p->d, p->t, path, dir))) return false;
    }
    return true;
}

static bool is_absolute(str s) { return s.n && s.p[0] == '/'; }

static void append(char *path, size_t cap, size_t *n, str part)
{
    if (!part.n) return;
    bool slash = *n && path[*n - 1] != '/';
    if (*n + slash + part.n > cap) return;
    if (slash) path[(*n)++] = '/';
    memcpy(path + *n, part.p, part.n);
    *n += part.n;
}

/* Removes "." and ".." from an absolute path, and returns its new length. Build systems compile in
 * a directory of their own and name sources as ../src/x.c: without this, one file has a name for
 * each such directory, and links to forges, which reject "..", do not work. Lexical, as in lldb:
 * symbolic links of the building machine are not known. */
static size_t without_dots(char *path, size_t n)
{
    if (!n || path[0] != '/') return n;
    size_t out = 0; /* path[0, out) has no dots and does not end with a slash */
    for (size_t i = 0; i < n;) {
        while (i < n && path[i] == '/') i++;
        size_t from = i;
        while (i < n && path[i] != '/') i++;
        str part = {path + from, i - from};
        if (!part.n || str_eq(part, STR("."))) continue;
        if (str_eq(part, STR(".."))) {
            while (out && path[--out] != '/') {}
            continue;
        }
        path[out++] = '/';
        memmove(path + out, part.p, part.n);
        out += part.n;
    }
    return out ? out : 1;
}

/* Builds the path of a file. A relative name is joined to its directory, a relative directory to
 * the directory of the compilation. */
static uint32_t make_path(dwarf *d, const dwarf_lines *t, const dwarf_file *f)
{
    char path[8192];
    size_t n = 0;
    str dir = STR("");
    uint64_t first = t->version >= 5 ? 0 : 1;
    if (f->name.n > sizeof path) return index_text(d->b, f->name);
    if (!is_absolute(f->name)) {
        if (f->dir >= first && f->dir - first < t->n_dirs)
            dir = d->dirs.v[t->first_dir + (f->dir - first)];
        if (!is_absolute(dir)) append(path, sizeof path, &n, t->comp_dir);
        append(path, sizeof path, &n, dir);
    }
    append(path, sizeof path, &n, f->name);
    return index_text(d->b, (str){path, without_dots(path, n)});
}

static uint32_t file_text(dwarf *d, const dwarf_lines *t, uint64_t file)
{
    uint64_t first = t->version >= 5 ? 0 : 1;
    if (file < first || file - first >= t->n_files) return 0;
    dwarf_file *f = &d->files.v[t->first_file + (file - first)];
    if (!f->text) f->text = make_path(d, t, f) + 1;
    return f->text - 1;
}

uint32_t dwarf_file_text(dwarf *d, const dwarf_unit *u, uint64_t file)
{
    return u->line_table ? file_text(d, &d->line_tables.v[u->line_table - 1], file) : 0;
}

/* ---- the header ---- */

static bool read_header(line_program *p, bool *ok)
{
    rd *r = &p->r;
    p->shape = *p->u;
    p->shape.off_size = 4;
    uint64_t length = rd_u32(r);
    if (length == 0xffffffff) length = rd_u64(r), p->shape.off_size = 8;
    if (length > rd_left(r)) rd_fail(r);
    if (!r->failed) r->end = r->p + length;
    p->d->line_bytes += rd_left(r);
    p->t->version = p->shape.version = rd_u16(r);
    if (p->t->version < 2 || p->t->version > 5) rd_fail(r);
    if (p->t->version >= 5) p->shape.addr_size = rd_u8(r), rd_u8(r);
    uint64_t header = rd_uint(r, p->shape.off_size);
    const uint8_t *program = header <= rd_left(r) ? r->p + header : r->end;
    p->min_length = rd_u8(r);
    if (p->t->version >= 4)
        rd_u8(r); /* operations per instruction: more than 1 only on VLIW machines */
    rd_u8(r);     /* default of is_stmt */
    p->line_base = (int8_t)rd_u8(r);
    p->line_range = rd_u8(r);
    p->opcode_base = rd_u8(r);
    p->lengths = rd_take(r, p->opcode_base ? p->opcode_base - 1u : 0);
    *ok = !r->failed && p->line_range && p->opcode_base &&
          p->d->line_bytes / DWARF_SLACK <= p->d->line.n;
    if (!*ok) return true;
    bool read = p->t->version >= 5 ? read_new_table(p, true) && read_new_table(p, false)
                                   : read_old_tables(p);
    *ok = !r->failed;
    r->p = program;
    return read;
}

/* ---- the program ---- */

typedef struct line_state {
    uint64_t address, file, line, column;
} line_state;

static bool put_row(line_program *p, const line_state *s, bool end)
{
    index_builder *b = p->d->b;
    line_row *row = vec_push(b->a, &b->lines);
    if (!row) return dwarf_no_memory(p->d);
    *row = (line_row){.address = s->address, .end = end};
    row->file = end ? 0 : file_text(p->d, p->t, s->file);
    if (row->file) row->line = (uint32_t)s->line, row->column = (uint32_t)s->column;
    if (!end) return true;
    /* Drops the lines of code that the linker discarded, because it has no address. */
    uint64_t hi = s->address;
    if (!index_clip(b, b->lines.v[p->sequence].address, &hi)) b->lines.n = p->sequence;
    p->sequence = b->lines.n;
    return true;
}

static bool extended(line_program *p, line_state *s)
{
    uint64_t n = rd_uleb(&p->r);
    if (n > rd_left(&p->r) || !n) {
        rd_skip(&p->r, n);
        return true;
    }
    rd r = p->r;
    r.end = r.p + n;
    rd_skip(&p->r, n);
    switch (rd_u8(&r)) {
    case LNE_END_SEQUENCE:
        if (!put_row(p, s, true)) return false;
        *s = (line_state){.file = 1, .line = 1};
        return true;
    case LNE_SET_ADDRESS: s->address = rd_uint(&r, (unsigned)rd_left(&r)); return true;
    default: return true; /* DEFINE_FILE: no compiler writes it */
    }
}

static bool standard(line_program *p, line_state *s, uint8_t op)
{
    rd *r = &p->r;
    switch (op) {
    case LNS_COPY: return put_row(p, s, false);
    case LNS_ADVANCE_PC: s->address += rd_uleb(r) * p->min_length; return true;
    case LNS_ADVANCE_LINE: s->line += (uint64_t)rd_sleb(r); return true;
    case LNS_SET_FILE: s->file = rd_uleb(r); return true;
    case LNS_SET_COLUMN: s->column = rd_uleb(r); return true;
    case LNS_CONST_ADD_PC:
        s->address += (uint64_t)((255 - p->opcode_base) / p->line_range) * p->min_length;
        return true;
    case LNS_FIXED_ADVANCE_PC: s->address += rd_u16(r); return true;
    default:
        for (uint8_t i = 0; i < p->lengths[op - 1]; i++) rd_uleb(r);
        return true;
    }
}

static bool special(line_program *p, line_state *s, uint8_t op)
{
    unsigned x = (unsigned)op - p->opcode_base;
    s->address += (uint64_t)(x / p->line_range) * p->min_length;
    s->line += (uint64_t)((int64_t)p->line_base + (int64_t)(x % p->line_range));
    return put_row(p, s, false);
}

static bool run(line_program *p)
{
    line_state s = {.file = 1, .line = 1};
    p->sequence = p->d->b->lines.n;
    while (rd_left(&p->r)) {
        uint8_t op = rd_u8(&p->r);
        bool ok = op >= p->opcode_base ? special(p, &s, op)
                  : op                 ? standard(p, &s, op)
                                       : extended(p, &s);
        if (!ok) return false;
    }
    p->d->b->lines.n = p->sequence; /* a sequence without an end covers nothing */
    p->d->b->n_broken += p->r.failed;
    return true;
}

static bool read_table(dwarf *d, dwarf_unit *u, uint64_t offset)
{
    dwarf_lines t = {.offset = offset,
                     .comp_dir = u->comp_dir,
                     .first_dir = d->dirs.n,
                     .first_file = d->files.n};
    line_program p = {.d = d, .u = u, .t = &t, .r = rd_from(d->line, offset, d->big)};
    bool ok, read = read_header(&p, &ok);
    if (read && ok)
        read = run(&p);
    else
        d->b->n_broken++;
    dwarf_lines *to = read ? vec_push(d->b->a, &d->line_tables) : NULL;
    if (!to) return dwarf_no_memory(d);
    *to = t;
    u->line_table = (uint32_t)d->line_tables.n;
    return true;
}

bool dwarf_read_lines(dwarf *d, dwarf_unit *u)
{
    uint64_t offset = u->stmt_list.u;
    if (!u->stmt_list.form) return true;
    if (!hash_index_room(&d->by_line_offset, d->b->a)) return dwarf_no_memory(d);
    uint64_t h = hash_mix(d->by_line_offset.seed, offset);
    uint32_t i = hash_first(&d->by_line_offset, h);
    for (uint32_t at; hash_next(&d->by_line_offset, &i, h, &at); i++)
        if (d->line_tables.v[at].offset == offset) return u->line_table = at + 1, true;
    if (!read_table(d, u, offset)) return false;
    hash_put(&d->by_line_offset, i, h, (uint32_t)(d->line_tables.n - 1));
    return true;
}
