/* Checks whether the probe can be preloaded into a program, by reading the file as the loader
 * will. */
#include "cli/run.h"

#include "arch/machine.h"
#include "objfile/elf.h"
#include "sys/program.h"
#include "base/ban.h"
#include <errno.h>

enum { SCRIPT_LINE = 256 }; /* maximum length of a #! line in the kernel */

static bool decline(err *e, const char *why) { return err_set(e, ERR_UNSUPPORTED, "%s", why); }

static const char *machine_name(const elf_file *f)
{
    switch (f->machine) {
    case ELF_MACHINE_386: return "i386";
    case ELF_MACHINE_ARM: return "32-bit ARM";
    case ELF_MACHINE_X86_64: return f->is64 ? "x86-64" : "x32";
    case ELF_MACHINE_AARCH64: return "aarch64";
    default: return "another architecture";
    }
}

/* Returns gcc's sanitizer library that the program needs, or NULL. It aborts the program unless it
 * is preloaded first. */
static const char *sanitizer_of(run *r, const elf_file *f)
{
    static const char *const names[] = {"libasan.so", "libtsan.so", "libhwasan.so"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        str s = elf_needed(f, str_of(names[i]));
        char *z = s.n ? arena_zero(&r->arena, s.n + 1) : NULL;
        if (z) return memcpy(z, s.p, s.n);
    }
    return NULL;
}

static bool fits_elf(run *r, str bytes, err *e)
{
    arena a = {.budget = 64 << 20};
    elf_file f;
    bool read = elf_read(bytes, &a, &f, NULL), ok = true;
    str loader = read ? elf_interpreter(&f) : (str){0};
    if (!read) {
        ok = true; /* the kernel will report the error */
    } else if (f.machine != ARCH_MACHINE || !f.is64) {
        ok = err_set(e, ERR_MISMATCH, "the program is built for %s and the agent for %s",
                     machine_name(&f), ARCH_NAME);
    } else if (!loader.n) {
        ok = decline(e, "the program is statically linked: the loader cannot preload the probe");
    } else if (memmem(loader.p, loader.n, "ld-musl", 7)) {
        ok = decline(e, "the program is linked with musl, and the agent requires glibc");
    }
    if (read && ok) r->first = sanitizer_of(r, &f);
    arena_free(&a);
    return ok;
}

/* Stores the interpreter of a script in `out`; "" for other files. */
static void interpreter_of(str bytes, char out[SCRIPT_LINE])
{
    size_t at = 2, n = 0;
    out[0] = '\0';
    if (!str_starts(bytes, STR("#!"))) return;
    while (at < bytes.n && (bytes.p[at] == ' ' || bytes.p[at] == '\t')) at++;
    for (; at < bytes.n && n < SCRIPT_LINE - 1 && !strchr(" \t\r\n", bytes.p[at]); at++)
        out[n++] = bytes.p[at];
    out[n] = '\0';
}

static bool gains_nothing(const char *path, err *e)
{
    switch (program_gains(path)) {
    case PROGRAM_GAINS_NOTHING: return true;
    case PROGRAM_GAINS_USER:
        return decline(e, "the program is setuid: the loader ignores LD_PRELOAD");
    case PROGRAM_GAINS_GROUP:
        return decline(e, "the program is setgid: the loader ignores LD_PRELOAD");
    case PROGRAM_GAINS_POWERS:
        return decline(e, "the program has file capabilities: the loader ignores LD_PRELOAD");
    }
    return true;
}

/* Returns whether the probe can be preloaded. Follows scripts to the file that the kernel starts,
 * as deep as the kernel does. */
static bool fits(run *r, const char *path, unsigned depth, err *e)
{
    file_bytes f;
    err unread = {0};
    char next[SCRIPT_LINE];
    if (!file_read(path, 0, &f, &unread))
        return gains_nothing(path, e); /* --x--x--x: may still be executable */
    interpreter_of(f.bytes, next);
    bool ok = true;
    if (next[0] && depth < 5)
        ok = program_runnable(next, e) ? fits(r, next, depth + 1, e) : err_in(e, "#!%s", next);
    else if (str_starts(f.bytes, STR("\177ELF")))
        ok = gains_nothing(path, e) && fits_elf(r, f.bytes, e);
    file_release(&f);
    return ok; /* neither ELF nor script: the shell reads it */
}

bool run_target(run *r, const char *name, err *e)
{
    return program_find(name, &r->arena, &r->path, e) && fits(r, r->path, 0, e);
}
