/* Walks the DIEs of every unit and collects functions and the calls inlined into them.  This is
 * the entry of the DWARF reader: the other dwarf_*.c files read one kind of data each.  Damaged
 * units are counted and skipped. */
#include "objfile/dwarf.h"

#include "base/ban.h"

static uint32_t u32_of(uint64_t v) { return v <= UINT32_MAX ? (uint32_t)v : 0; }

/* Enters a function or an inlined call and sets *out to its scope. `enclosing` is the scope that
 * contains it. A function without code (a declaration, the abstract form of an inlined function)
 * gets no scope. */
static bool enter(dwarf *d, dwarf_unit *u, const dwarf_die *die, uint32_t enclosing, uint32_t *out)
{
    index_builder *b = d->b;
    bool any, inlined = die->tag == TAG_INLINED_SUBROUTINE;
    *out = 0;
    if (b->scopes.n >= UINT32_MAX - 1) return err_memory(d->b->e);
    if (!dwarf_add_ranges(d, u, die, (uint32_t)b->scopes.n + 1, &any)) return false;
    if (!any && !(inlined && enclosing)) return true;
    built_scope *s = vec_push(b->a, &b->scopes);
    if (!s) return err_memory(d->b->e);
    *out = (uint32_t)b->scopes.n;
    s->function = dwarf_function(d, u, die);
    if (inlined) {
        s->parent = enclosing;
        s->call_file = dwarf_file_text(d, u, die->call_file);
        s->call_line = u32_of(die->call_line);
        s->call_column = u32_of(die->call_column);
    }
    return !b->failed || err_memory(d->b->e);
}

static bool walk(dwarf *d, dwarf_unit *u)
{
    rd r = rd_from((str){d->info.p, (size_t)u->end}, u->dies, d->big);
    uint32_t scope = 0;
    d->stack.n = 0;
    while (rd_left(&r)) {
        uint64_t at = u->end - rd_left(&r), code = rd_uleb(&r);
        if (!code) {
            if (d->stack.n) scope = d->stack.v[--d->stack.n];
            continue;
        }
        const dwarf_abbrev *ab = dwarf_abbrev_of(d, u, code);
        if (!ab) {
            r.failed = true;
            break;
        }
        uint32_t inner = scope;
        bool children = ab->children, function = ab->tag == TAG_SUBPROGRAM;
        if (function && !ab->located) { /* a declaration, like most functions without addresses */
            dwarf_skip_die(d, u, &r, ab);
            inner = 0;
        } else if (function || ab->tag == TAG_INLINED_SUBROUTINE) {
            dwarf_die die = dwarf_read_die(d, u, &r, ab);
            if (r.failed) break;
            die.at = at;
            if (!enter(d, u, &die, scope, &inner)) return false;
        } else {
            dwarf_skip_die(d, u, &r, ab);
        }
        if (!children) continue;
        uint32_t *enclosing = vec_push(d->b->a, &d->stack);
        if (!enclosing) return err_memory(d->b->e);
        *enclosing = scope;
        scope = inner;
    }
    d->b->n_broken += r.failed;
    return true;
}

/* ---- sections ---- */

static bool section(index_builder *b, const elf_file *f, const char *name, str *out)
{
    char full[32];
    err why = {0};
    *out = STR("");
    snprintf(full, sizeof full, ".debug_%s", name);
    const elf_section *s = elf_section_named(f, str_of(full));
    snprintf(full, sizeof full, ".zdebug_%s", name);
    if (!s) s = elf_section_named(f, str_of(full));
    if (!s || elf_section_bytes(f, s, b->a, out, &why)) return true;
    b->n_broken++;
    return !err_exhausted(&why) || err_set(b->e, ERR_LIMIT, "%s", why.msg);
}

static bool open_sections(dwarf *d, index_builder *b, const elf_file *f)
{
    *d = (dwarf){.b = b, .big = f->big};
    return section(b, f, "info", &d->info) && section(b, f, "abbrev", &d->abbrev) &&
           section(b, f, "str", &d->text) && section(b, f, "line", &d->line) &&
           section(b, f, "line_str", &d->line_text) && section(b, f, "ranges", &d->ranges) &&
           section(b, f, "rnglists", &d->rnglists) && section(b, f, "addr", &d->addr) &&
           section(b, f, "str_offsets", &d->str_offsets) && dwarf_find_units(d);
}

bool dwarf_collect(index_builder *b, const elf_file *f, const elf_file *alt)
{
    dwarf d, other;
    if (f->type == ELF_TYPE_REL) return true; /* addresses are not final before linking */
    if (!open_sections(&d, b, f)) return false;
    if (alt && !open_sections(&other, b, alt)) return false;
    if (alt) d.alt = &other;
    for (size_t i = 0; i < d.units.n; i++) {
        dwarf_unit *u = &d.units.v[i];
        if (!stopper_now(b->stop, b->e)) return false;
        if (!dwarf_load_unit(&d, u)) return false;
        if (u->bad) continue;
        if (u->split) b->flags |= INDEX_HAS_SPLIT;
        if (!dwarf_read_lines(&d, u) || !walk(&d, u)) return false;
        dwarf_scope_forget(&d, u);
    }
    return true;
}
