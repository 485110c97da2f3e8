/* Reads GNU and Go build ids from ELF notes, and computes OpenTelemetry's htlhash from the file
 * itself, so that every binary has one. Notes are found by sections or, in stripped files, by
 * segments. */
#include "objfile/build_id.h"

#include "base/sha256.h"
#include "objfile/rd.h"
#include "base/ban.h"

enum { NOTE_GNU_BUILD_ID = 3, NOTE_GO_BUILD_ID = 4, HTL_PART = 4096 };

static uint64_t pad4(uint64_t n) { return (4 - n % 4) % 4; }

static void take_note(build_ids *out, str name, uint32_t type, str desc)
{
    if (!desc.n) return;
    if (type == NOTE_GNU_BUILD_ID && str_eq(name, STR("GNU\0")) && !out->gnu.n &&
        desc.n <= BUILD_ID_BYTES_MAX)
        out->gnu = desc;
    if (type == NOTE_GO_BUILD_ID && str_eq(name, STR("Go\0\0")) && !out->go.n) out->go = desc;
}

static void take_notes(build_ids *out, str notes, bool big)
{
    rd r = rd_of(notes, big);
    while (rd_left(&r) >= 12) {
        uint32_t n_name = rd_u32(&r), n_desc = rd_u32(&r), type = rd_u32(&r);
        const uint8_t *name = rd_take(&r, n_name);
        rd_skip(&r, pad4(n_name));
        const uint8_t *desc = rd_take(&r, n_desc);
        if (r.failed) return;
        take_note(out, (str){(const char *)name, n_name}, type, (str){(const char *)desc, n_desc});
        rd_skip(&r, pad4(n_desc));
    }
}

static str view(const elf_file *f, uint64_t offset, uint64_t size)
{
    if (offset > f->bytes.n || size > f->bytes.n - offset) return (str){"", 0};
    return (str){f->bytes.p + offset, (size_t)size};
}

build_ids notes_build_ids(str notes, bool big)
{
    build_ids out = {0};
    take_notes(&out, notes, big);
    return out;
}

build_ids elf_build_ids(const elf_file *f)
{
    build_ids out = {0};
    for (size_t i = 0; i < f->sections.n; i++) {
        const elf_section *s = &f->sections.v[i];
        if (s->type == ELF_NOTE) take_notes(&out, view(f, s->offset, s->size), f->big);
    }
    if (out.gnu.n || out.go.n) return out;
    for (size_t i = 0; i < f->segments.n; i++) {
        const elf_segment *s = &f->segments.v[i];
        if (s->type == ELF_SEGMENT_NOTE) take_notes(&out, view(f, s->offset, s->file_size), f->big);
    }
    return out;
}

void htlhash(str file, uint8_t out[HTLHASH_BYTES])
{
    size_t part = file.n < HTL_PART ? file.n : HTL_PART;
    uint8_t length[8], digest[SHA256_BYTES];
    for (unsigned i = 0; i < 8; i++) length[i] = (uint8_t)((uint64_t)file.n >> (56 - 8 * i));
    sha256 s;
    sha256_init(&s);
    sha256_put(&s, file.p, part);
    sha256_put(&s, file.p + (file.n - part), part);
    sha256_put(&s, length, sizeof length);
    sha256_end(&s, digest);
    memcpy(out, digest, HTLHASH_BYTES);
}
