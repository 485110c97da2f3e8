/* objfile/dwarf.h - declarations that the files of the DWARF reader share (DWARF 2 to 5).
 *
 * The reader extracts only what lookups of addresses need: units, functions, inlined calls, ranges,
 * lines. Sections may be hostile, so every loop is bounded by the bytes it consumes. Where a table
 * can be referenced repeatedly (abbreviations, line programs, range lists), the total that is read
 * is limited to a few times the size of the section, which valid files never exceed. */
#pragma once
#include "objfile/index_build.h"
#include "objfile/rd.h"

enum {
    DWARF_MAX_ATTRS =
        256, /* most attributes of one abbreviation; some need no bytes in .debug_info */
    DWARF_MAX_HOPS = 16,        /* references followed from a DIE to its name */
    DWARF_MAX_NAME = 64 * 1024, /* bytes; a longer name is truncated */
    DWARF_MAX_PATH = 16 * 1024, /* bytes of a scope; a longer one is omitted */
    DWARF_MAX_DEPTH = 64,       /* scopes around a function; deeper ones are omitted */
    DWARF_SLACK = 4,            /* most bytes read, as a multiple of the section's size */
};

typedef struct dwarf_attr {
    uint16_t name, form;
    int8_t size;      /* size of the form if it is the same in all units; else -1 */
    int64_t implicit; /* DW_FORM_implicit_const */
} dwarf_attr;

typedef struct dwarf_abbrev {
    uint64_t code;
    uint32_t first, n; /* attributes, in dwarf.attrs */
    uint16_t tag;
    bool children;
    bool located; /* has an attribute with addresses */
} dwarf_abbrev;

typedef struct dwarf_abbrevs {
    uint64_t offset;
    size_t first, n; /* in dwarf.abbrevs, by code */
    bool bad;
} dwarf_abbrevs;

typedef struct dwarf_value {
    uint16_t form; /* 0: the attribute is absent */
    uint64_t u;    /* number, offset or index */
    str s;         /* DW_FORM_string */
} dwarf_value;

typedef struct dwarf_unit {
    uint64_t at, end, dies; /* header, end and first DIE in .debug_info */
    uint64_t abbrev_offset;
    uint64_t low_pc, addr_base, str_base, rnglists_base;
    dwarf_value stmt_list;
    str comp_dir;
    uint16_t version;
    uint8_t addr_size, off_size, type;
    bool loaded, bad, split, cxx;
    bool scanned;                         /* its containers are in dwarf.containers */
    size_t first_container, n_containers; /* by offset */
    uint32_t abbrevs;                     /* position + 1 in dwarf.tables */
    uint32_t line_table; /* position + 1 in dwarf.line_tables; 0: none, or not yet read */
} dwarf_unit;

typedef struct dwarf_file {
    str name;
    uint64_t dir;
    uint32_t text; /* path in the index + 1; 0: not built yet */
} dwarf_file;

typedef struct dwarf_lines {
    uint64_t offset;
    uint16_t version;
    str comp_dir;
    size_t first_dir, n_dirs, first_file, n_files; /* in dwarf.dirs and dwarf.files */
} dwarf_lines;

typedef struct dwarf_known {
    uint64_t offset;
    uint32_t function; /* position + 1 */
} dwarf_known;

/* A namespace, class or function that contains functions, as one step of their path. */
typedef struct dwarf_container {
    uint64_t at, end; /* its DIE, and the end of its children */
    uint32_t parent;  /* position + 1 in dwarf.containers; 0: the unit */
    uint32_t path;    /* text + 1 of the path to it; 0: not built yet */
    uint32_t number;  /* of a class without a name: 1, 2, 3 ... in its parent */
    uint32_t line, column;
    uint16_t tag;
    bool nameless, lambda;
} dwarf_container;

/* A DIE whose children are being read. */
typedef struct dwarf_open {
    dwarf_container h;
    uint32_t container; /* position + 1 of the innermost container, if it is in dwarf.containers */
} dwarf_open;

typedef struct dwarf {
    index_builder *b;
    bool big;
    str info, abbrev, text, line, line_text, ranges, rnglists, addr, str_offsets;
    struct dwarf *alt;
    VEC(dwarf_unit) units; /* by offset */
    VEC(dwarf_abbrevs) tables;
    VEC(dwarf_abbrev) abbrevs;
    VEC(dwarf_attr) attrs;
    VEC(dwarf_lines) line_tables;
    VEC(dwarf_file) files;
    VEC(str) dirs;
    VEC(dwarf_known) known; /* functions whose names were found, by the offset of their DIE */
    hash_index by_abbrev_offset, by_line_offset, by_die;
    VEC(dwarf_container) containers;
    VEC(dwarf_open) open;
    size_t n_put; /* entries of `open`, from the outermost, that have a container or need none */
    char *path;   /* the path being built */
    u32s stack;   /* scopes that enclose the DIE being read */
    /* Bytes read so far, limited by the sizes of the sections. */
    uint64_t abbrev_bytes, line_bytes, range_bytes, scan_bytes;
} dwarf;

/* The attributes of a DIE that the reader uses. */
typedef struct dwarf_die {
    uint64_t at; /* in .debug_info */
    uint16_t tag;
    bool external;
    dwarf_value low_pc, high_pc, ranges, origin, specification, name, linkage_name;
    uint64_t decl_line, call_file, call_line, call_column;
} dwarf_die;

/* ---- dwarf_unit.c ---- */

/* Finds the units, up to the first broken one. */
NODISCARD bool dwarf_find_units(dwarf *d);
/* Reads the abbreviations and the first DIE. Returns false only when the budget is used up; a
 * broken unit is marked `bad`. */
NODISCARD bool dwarf_load_unit(dwarf *d, dwarf_unit *u);
/* Returns the loaded unit that contains an offset of .debug_info; NULL when there is none, it is
 * broken, or the budget is used up. */
dwarf_unit *dwarf_unit_at(dwarf *d, uint64_t offset);
const dwarf_abbrev *dwarf_abbrev_of(const dwarf *d, const dwarf_unit *u, uint64_t code);

/* ---- dwarf_form.c ---- */
/* Returns the size of a form if it is the same in every unit, else -1. */
int8_t dwarf_form_size(uint16_t form);
void dwarf_skip_form(const dwarf_unit *u, rd *r, uint16_t form);
void dwarf_skip_die(const dwarf *d, const dwarf_unit *u, rd *r, const dwarf_abbrev *ab);
dwarf_value dwarf_read_form(const dwarf_unit *u, rd *r, const dwarf_attr *a);
str dwarf_string(const dwarf *d, const dwarf_unit *u, const dwarf_value *v);
bool dwarf_address(const dwarf *d, const dwarf_unit *u, const dwarf_value *v, uint64_t *out);
bool dwarf_is_address(const dwarf_value *v);
/* Resolves a reference to a DIE: sets *in to the file that has it, and its offset. Returns false if
 * there is none. */
bool dwarf_reference(dwarf *d, const dwarf_unit *u, const dwarf_value *v, dwarf **in,
                     uint64_t *offset);
uint64_t dwarf_indexed(str section, uint64_t base, uint64_t index, unsigned size, bool big,
                       bool *ok);

/* ---- dwarf_range.c ---- */

/* Adds the code ranges of a DIE to b->ranges under `scope`; sets *any if it has any. */
NODISCARD bool dwarf_add_ranges(dwarf *d, const dwarf_unit *u, const dwarf_die *die, uint32_t scope,
                                bool *any);

/* ---- dwarf_line.c ---- */

/* Reads the line table of a unit, once per table, and adds its rows to b->lines. */
NODISCARD bool dwarf_read_lines(dwarf *d, dwarf_unit *u);
/* Returns the path of a file in the unit's line table, as text; 0 if there is no such file. */
uint32_t dwarf_file_text(dwarf *d, const dwarf_unit *u, uint64_t file);

/* ---- dwarf_name.c ---- */

/* Returns position + 1 of the function that a DIE represents; 0 when the budget is used up. */
uint32_t dwarf_function(dwarf *d, const dwarf_unit *u, const dwarf_die *die);
dwarf_die dwarf_read_die(const dwarf *d, const dwarf_unit *u, rd *r, const dwarf_abbrev *ab);
/* Reads the DIE at an offset of .debug_info, and its unit.  Returns false if there is none. */
bool dwarf_die_at(dwarf *d, uint64_t offset, dwarf_unit **u, dwarf_die *out);

/* ---- dwarf_scope.c ---- */

/* Returns the scope that encloses the DIE at an offset, as text in C++ notation: "app::(anonymous
 * namespace)", "main()::{lambda#1}". 0 when there is none, or the budget is used up. */
uint32_t dwarf_scope(dwarf *d, uint64_t offset);
/* Drops the containers of a unit that has been walked.  They are read again if another unit needs
 * them. */
void dwarf_scope_forget(dwarf *d, dwarf_unit *u);

/* DWARF 5, tables 7.3 (tags), 7.5 (attributes), 7.6 (forms). */
enum {
    TAG_CLASS = 0x02,
    TAG_LEXICAL_BLOCK = 0x0b,
    TAG_COMPILE_UNIT = 0x11,
    TAG_STRUCTURE = 0x13,
    TAG_UNION = 0x17,
    TAG_INLINED_SUBROUTINE = 0x1d,
    TAG_SUBPROGRAM = 0x2e,
    TAG_NAMESPACE = 0x39,
    TAG_PARTIAL_UNIT = 0x3c,

    AT_SIBLING = 0x01,
    AT_NAME = 0x03,
    AT_STMT_LIST = 0x10,
    AT_LOW_PC = 0x11,
    AT_HIGH_PC = 0x12,
    AT_LANGUAGE = 0x13,
    AT_COMP_DIR = 0x1b,
    AT_ABSTRACT_ORIGIN = 0x31,
    AT_DECL_COLUMN = 0x39,
    AT_DECL_LINE = 0x3b,
    AT_EXTERNAL = 0x3f,
    AT_SPECIFICATION = 0x47,
    AT_RANGES = 0x55,
    AT_CALL_COLUMN = 0x57,
    AT_CALL_FILE = 0x58,
    AT_CALL_LINE = 0x59,
    AT_LINKAGE_NAME = 0x6e,
    AT_STR_OFFSETS_BASE = 0x72,
    AT_ADDR_BASE = 0x73,
    AT_RNGLISTS_BASE = 0x74,
    AT_DWO_NAME = 0x76,
    AT_MIPS_LINKAGE_NAME = 0x2007,
    AT_GNU_DWO_NAME = 0x2130,
    AT_GNU_ADDR_BASE = 0x2133,

    FORM_ADDR = 0x01,
    FORM_BLOCK2 = 0x03,
    FORM_BLOCK4 = 0x04,
    FORM_DATA2 = 0x05,
    FORM_DATA4 = 0x06,
    FORM_DATA8 = 0x07,
    FORM_STRING = 0x08,
    FORM_BLOCK = 0x09,
    FORM_BLOCK1 = 0x0a,
    FORM_DATA1 = 0x0b,
    FORM_FLAG = 0x0c,
    FORM_SDATA = 0x0d,
    FORM_STRP = 0x0e,
    FORM_UDATA = 0x0f,
    FORM_REF_ADDR = 0x10,
    FORM_REF1 = 0x11,
    FORM_REF2 = 0x12,
    FORM_REF4 = 0x13,
    FORM_REF8 = 0x14,
    FORM_REF_UDATA = 0x15,
    FORM_INDIRECT = 0x16,
    FORM_SEC_OFFSET = 0x17,
    FORM_EXPRLOC = 0x18,
    FORM_FLAG_PRESENT = 0x19,
    FORM_STRX = 0x1a,
    FORM_ADDRX = 0x1b,
    FORM_REF_SUP4 = 0x1c,
    FORM_STRP_SUP = 0x1d,
    FORM_DATA16 = 0x1e,
    FORM_LINE_STRP = 0x1f,
    FORM_REF_SIG8 = 0x20,
    FORM_IMPLICIT_CONST = 0x21,
    FORM_LOCLISTX = 0x22,
    FORM_RNGLISTX = 0x23,
    FORM_REF_SUP8 = 0x24,
    FORM_STRX1 = 0x25,
    FORM_STRX2 = 0x26,
    FORM_STRX3 = 0x27,
    FORM_STRX4 = 0x28,
    FORM_ADDRX1 = 0x29,
    FORM_ADDRX2 = 0x2a,
    FORM_ADDRX3 = 0x2b,
    FORM_ADDRX4 = 0x2c,
    FORM_GNU_ADDR_INDEX = 0x1f01,
    FORM_GNU_STR_INDEX = 0x1f02,
    FORM_GNU_REF_ALT = 0x1f20,
    FORM_GNU_STRP_ALT = 0x1f21,
};

/* Fails the whole index, because an incomplete one would give addresses wrong names. Returns
 * false. */
static inline bool dwarf_no_memory(dwarf *d)
{
    d->b->failed = true;
    return err_memory(d->b->e);
}
