/* objfile/elf.h - an ELF file as tables: sections, segments, addresses. Pure.
 *
 * Supports 32 and 64 bits and both byte orders. Everything is a view into `bytes`. A section
 * outside the file reads as empty, because truncated files still have usable parts. */
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

/* Reads the headers. ERR_MALFORMED when the bytes are not an ELF file, or headers are outside of
 * it. */
NODISCARD bool elf_read(str bytes, arena *a, elf_file *out, err *e);

/* Returns NULL if there is no section of that name. */
const elf_section *elf_section_named(const elf_file *f, str name);

/* Sets *out to the bytes of a section, decompressed into the arena if needed (SHF_COMPRESSED and
 * .zdebug_*: zlib, zstd); empty for NOBITS. ERR_LIMIT when the budget is used up, ERR_MALFORMED
 * when the section does not decompress. */
NODISCARD bool elf_section_bytes(const elf_file *f, const elf_section *s, arena *a, str *out,
                                 err *e);

/* Returns whether the file has a section of that name that is not empty. */
bool elf_has(const elf_file *f, str name);

/* Sets *address to the virtual address of a byte of the file, by the program headers. Returns false
 * if no segment contains it. */
NODISCARD bool elf_address_of_offset(const elf_file *f, uint64_t offset, uint64_t *address);

/* Returns the lowest virtual address of the image, page-aligned; 0 without segments. */
uint64_t elf_base(const elf_file *f);

/* Returns the loader of a program (PT_INTERP); empty if statically linked or not a program. */
str elf_interpreter(const elf_file *f);

/* Returns the first library in DT_NEEDED whose name begins with `prefix`; empty if there is
 * none. */
str elf_needed(const elf_file *f, str prefix);

/* References to separate debug files: .gnu_debuglink (name and CRC-32) and .gnu_debugaltlink (name
 * and build id of the file that dwz created). An empty name means that there is none. */
typedef struct elf_link {
    str name, build_id; /* build_id: bytes */
    uint32_t crc;
} elf_link;
elf_link elf_debug_link(const elf_file *f);
elf_link elf_alt_link(const elf_file *f);

/* Returns the CRC-32 that .gnu_debuglink uses. */
uint32_t elf_crc(str bytes);

/* Unpacks the ELF file inside .gnu_debugdata (MiniDebugInfo) into the arena; at most max_bytes.
 * Empty if there is none. */
NODISCARD bool elf_debug_data(const elf_file *f, size_t max_bytes, arena *a, str *out, err *e);
