/* objfile/elf.h - an ELF file as tables: sections, segments, addresses.  Pure.
 *
 * 32 and 64 bits, both byte orders.  Everything is a view into `bytes`; a section whose place is
 * outside the file reads as empty, because files cut short or stripped by odd tools still have
 * parts worth reading. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

enum {
    ELF_SYMTAB = 2,
    ELF_NOTE = 7,
    ELF_NOBITS = 8,
    ELF_DYNSYM = 11,
    ELF_FLAG_ALLOC = 2,
    ELF_FLAG_EXEC = 4,
    ELF_FLAG_COMPRESSED = 0x800,
    ELF_LOAD = 1,
    ELF_SEGMENT_INTERP = 3,
    ELF_DYNAMIC_NEEDED = 1,
    ELF_SEGMENT_NOTE = 4,
    ELF_SEGMENT_EXEC = 1,
    ELF_MACHINE_386 = 3,
    ELF_MACHINE_ARM = 40,
    ELF_MACHINE_X86_64 = 62,
    ELF_MACHINE_AARCH64 = 183,
    ELF_TYPE_REL = 1,
};

typedef struct elf_section {
    str name;
    uint32_t type, link;
    uint64_t flags, addr, offset, size, entry_size;
} elf_section;

typedef struct elf_segment {
    uint32_t type, flags;
    uint64_t offset, vaddr, file_size, memory_size, align;
} elf_segment;

typedef struct elf_file {
    str bytes;
    bool big, is64;
    uint16_t type, machine;
    VEC(elf_section) sections;
    VEC(elf_segment) segments;
} elf_file;

/* ERR_MALFORMED: not ELF, or headers that lie outside the file. */
NODISCARD bool elf_read(str bytes, arena *a, elf_file *out, err *e);

/* NULL: none of that name. */
const elf_section *elf_section_named(const elf_file *f, str name);

/* Bytes of a section, decompressed (SHF_COMPRESSED and .zdebug_*: zlib, zstd) into the arena if need
 * be.  Empty for NOBITS.  ERR_LIMIT at the budget, ERR_MALFORMED when it does not decompress. */
NODISCARD bool elf_section_bytes(const elf_file *f, const elf_section *s, arena *a, str *out,
                                 err *e);

/* Has it a section that holds something? */
bool elf_has(const elf_file *f, str name);

/* Virtual address of a byte of the file, by the program headers; false when no segment holds it. */
NODISCARD bool elf_address_of_offset(const elf_file *f, uint64_t offset, uint64_t *address);

/* Lowest virtual address of the image, page-aligned; 0 without segments. */
uint64_t elf_base(const elf_file *f);

/* The loader that a program asks for (PT_INTERP); empty: it is statically linked, or no program. */
str elf_interpreter(const elf_file *f);

/* The first library it was linked with (DT_NEEDED) whose name begins so; empty: none. */
str elf_needed(const elf_file *f, str prefix);

/* Where the debug information of a stripped file is: .gnu_debuglink (name and CRC-32),
 * .gnu_debugaltlink (name and build id of what dwz moved out).  Empty name: there is none. */
typedef struct elf_link {
    str name, build_id; /* build_id: bytes */
    uint32_t crc;
} elf_link;
elf_link elf_debug_link(const elf_file *f);
elf_link elf_alt_link(const elf_file *f);

/* CRC-32 as .gnu_debuglink wants it. */
uint32_t elf_crc(str bytes);

/* The ELF file inside .gnu_debugdata (MiniDebugInfo), unpacked into the arena; empty when there is
 * none.  At most max_bytes. */
NODISCARD bool elf_debug_data(const elf_file *f, size_t max_bytes, arena *a, str *out, err *e);
