/* Reads symbol lists from ELF symbol tables, /proc/kallsyms and perf maps; sorts them and removes
 * duplicates. A binary search over them needs exactly one symbol per address, so of several aliases
 * the largest, then the last, is kept. */
#include "objfile/symbols.h"

#include "objfile/rd.h"
#include "base/text.h"
#include "base/ban.h"

enum {
    STT_NOTYPE,
    STT_OBJECT,
    STT_FUNC,
    STT_FILE = 4,
    STT_GNU_IFUNC = 10,
    STB_LOCAL = 0,
    SHN_UNDEF = 0,
    SHN_LORESERVE = 0xff00
};
enum { SHN_EXTENDED = 0xffff, NAME_MAX_BYTES = 64 * 1024 };

/* ---- ELF ---- */

typedef struct raw_symbol {
    uint64_t value, size;
    uint32_t name;
    uint16_t section;
    uint8_t type, binding;
} raw_symbol;

static raw_symbol symbol_at(const elf_file *f, rd *r)
{
    raw_symbol s = {.name = rd_u32(r)};
    if (!f->is64) s.value = rd_u32(r), s.size = rd_u32(r);
    uint8_t info = rd_u8(r);
    s.type = info & 0xf;
    s.binding = info >> 4;
    rd_u8(r);
    s.section = rd_u16(r);
    if (f->is64) s.value = rd_u64(r), s.size = rd_u64(r);
    return s;
}

/* Mapping symbols ($x, $d ...) mark code and data inside functions on ARM; they are not names. */
static bool is_mapping_symbol(const elf_file *f, str name)
{
    if (f->machine != ELF_MACHINE_ARM && f->machine != ELF_MACHINE_AARCH64) return false;
    return name.n >= 2 && name.p[0] == '$' && strchr("axdt", name.p[1]) &&
           (name.n == 2 || name.p[2] == '.');
}

static bool is_wanted(const elf_file *f, const raw_symbol *s)
{
    if (s->type > STT_FUNC && s->type != STT_GNU_IFUNC) return false;
    if (s->section == SHN_UNDEF || (s->section >= SHN_LORESERVE && s->section != SHN_EXTENDED))
        return false;
    return s->section >= f->sections.n || (f->sections.v[s->section].flags & ELF_FLAG_ALLOC);
}

static bool take_table(const elf_file *f, str table, str names, arena *a, symbol_list *out, err *e)
{
    size_t size = f->is64 ? 24 : 16;
    str file = STR("");
    rd r = rd_of(table, f->big);
    for (size_t k = 0; k < table.n / size; k++) {
        raw_symbol x = symbol_at(f, &r);
        bool local = x.binding == STB_LOCAL;
        if (x.type == STT_FILE && local) file = rd_string_at(names, x.name);
        if (!is_wanted(f, &x)) continue;
        str name = rd_string_at(names, x.name);
        if (!name.n || name.n > NAME_MAX_BYTES || is_mapping_symbol(f, name)) continue;
        symbol *to = vec_push(a, &out->v);
        if (!to) return err_memory(e);
        /* The address of a Thumb function has its lowest bit set. */
        if (f->machine == ELF_MACHINE_ARM && x.type == STT_FUNC) x.value &= ~UINT64_C(1);
        *to = (symbol){x.value, x.size, name, local && file.n <= NAME_MAX_BYTES ? file : STR("")};
    }
    return true;
}

bool symbols_of_elf(const elf_file *f, uint32_t type, arena *a, symbol_list *out, size_t *n, err *e)
{
    size_t before = out->v.n;
    *n = 0;
    for (size_t i = 0; i < f->sections.n; i++) {
        const elf_section *s = &f->sections.v[i];
        if (s->type != type || s->link >= f->sections.n) continue;
        str table, names;
        if (!elf_section_bytes(f, s, a, &table, e) ||
            !elf_section_bytes(f, &f->sections.v[s->link], a, &names, e) ||
            !take_table(f, table, names, a, out, e))
            return false;
        *n = out->v.n - before;
        return true; /* a file has one table of each kind */
    }
    return true;
}

/* ---- order ---- */

typedef struct ordered {
    symbol s;
    size_t at;
} ordered;

static int by_address(const void *x, const void *y)
{
    const ordered *a = x, *b = y;
    if (a->s.address != b->s.address) return a->s.address < b->s.address ? -1 : 1;
    if (a->s.size != b->s.size) return a->s.size < b->s.size ? -1 : 1;
    return a->at < b->at ? -1 : 1;
}

static int by_age(const void *x, const void *y)
{
    const ordered *a = x, *b = y;
    if (a->s.address != b->s.address) return a->s.address < b->s.address ? -1 : 1;
    return a->at < b->at ? -1 : 1;
}

static bool sort(symbol_list *l, int (*order)(const void *, const void *), arena *a, err *e)
{
    size_t n = 0;
    ordered *o = arena_array(a, l->v.n, sizeof *o);
    if (!o) return err_memory(e);
    for (size_t i = 0; i < l->v.n; i++) o[i] = (ordered){l->v.v[i], i};
    qsort(o, l->v.n, sizeof *o, order);
    for (size_t i = 0; i < l->v.n; i++)
        if (i + 1 == l->v.n || o[i].s.address != o[i + 1].s.address) l->v.v[n++] = o[i].s;
    l->v.n = n;
    return true;
}

bool symbols_sort(symbol_list *l, arena *a, err *e) { return sort(l, by_address, a, e); }

/* ---- text ---- */

static str take_line(str *text)
{
    const char *nl = text->n ? memchr(text->p, '\n', text->n) : NULL;
    size_t n = nl ? (size_t)(nl - text->p) : text->n;
    str line = {text->p, n};
    *text = (str){text->p + n, text->n - n};
    if (nl) *text = (str){text->p + 1, text->n - 1};
    return line;
}

static bool take_hex(str *s, uint64_t *v)
{
    size_t i = 0;
    *v = 0;
    if (str_starts(*s, STR("0x"))) *s = (str){s->p + 2, s->n - 2};
    for (; i < s->n && i < 17; i++) {
        int d = hex_digit(s->p[i]);
        if (d < 0) break;
        *v = *v << 4 | (uint64_t)d;
    }
    bool ok = i > 0 && i <= 16 && i < s->n && s->p[i] == ' ';
    if (ok) *s = (str){s->p + i + 1, s->n - i - 1};
    return ok;
}

bool symbols_of_kallsyms(str text, arena *a, symbol_list *out, err *e)
{
    while (text.n) {
        str l = take_line(&text);
        uint64_t address;
        if (!take_hex(&l, &address) || !address || l.n < 3 || l.p[1] != ' ') continue;
        if (!strchr("tTwWvViI", l.p[0])) continue; /* symbols of code */
        str name = {l.p + 2, l.n - 2};
        const char *tab = memchr(name.p, '\t', name.n);
        if (tab) name.n = (size_t)(tab - name.p); /* the module follows */
        symbol *to = name.n ? vec_push(a, &out->v) : NULL;
        if (!to) {
            if (name.n) return err_memory(e);
            continue;
        }
        *to = (symbol){.address = address, .name = name};
    }
    return symbols_sort(out, a, e);
}

bool symbols_of_perf_map(str text, arena *a, symbol_list *out, err *e)
{
    while (text.n) {
        str l = take_line(&text);
        uint64_t address, size;
        if (!take_hex(&l, &address) || !take_hex(&l, &size) || !l.n || !size) continue;
        symbol *to = vec_push(a, &out->v);
        if (!to) return err_memory(e);
        *to = (symbol){.address = address, .size = size, .name = l};
    }
    return sort(out, by_age, a, e);
}
