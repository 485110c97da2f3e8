/* Can the agent get into this program?  What the loader will do is read from the file before it is run. */
#include "cli/run.h"

#include "objfile/elf.h"
#include "sys/program.h"
#include "base/ban.h"
#include <errno.h>

#if defined(__x86_64__)
enum { OUR_MACHINE = ELF_MACHINE_X86_64 };
#define OUR_NAME "x86-64"
#elif defined(__aarch64__)
enum { OUR_MACHINE = ELF_MACHINE_AARCH64 };
#define OUR_NAME "aarch64"
#endif

enum { SCRIPT_LINE = 256 }; /* of a #! line, as the kernel reads it */

#define FROM_OUTSIDE "; from outside: perf record -g, then kiln top perf.data"

static bool decline(err *e, const char *why)
{
    return err_set(e, ERR_UNSUPPORTED, "%s" FROM_OUTSIDE, why);
}

static const char *machine_name(const elf_file *f)
{
    switch (f->machine) {
    case ELF_MACHINE_386: return "i386";
    case ELF_MACHINE_ARM: return "32-bit ARM";
    case ELF_MACHINE_X86_64: return f->is64 ? "x86-64" : "x32";
    case ELF_MACHINE_AARCH64: return "aarch64";
    default: return "another machine";
    }
}

/* Sanitizers of gcc end the program unless they come first in the list of libraries. */
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
        ok = true; /* the kernel says what is wrong with it */
    } else if (f.machine != OUR_MACHINE || !f.is64) {
        ok = err_set(e, ERR_UNSUPPORTED,
                     "it is a program for %s and the agent is for %s" FROM_OUTSIDE,
                     machine_name(&f), OUR_NAME);
    } else if (!loader.n) {
        ok = decline(e, "it is statically linked: nothing can be preloaded into it");
    } else if (memmem(loader.p, loader.n, "ld-musl", 7)) {
        ok = decline(e, "it is built with musl, and the agent needs glibc");
    }
    if (read && ok) r->first = sanitizer_of(r, &f);
    arena_free(&a);
    return ok;
}

/* The interpreter of a script in `out`; "" when it is none. */
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
    case PROGRAM_GAINS_USER: return decline(e, "it is setuid: the loader then preloads nothing");
    case PROGRAM_GAINS_GROUP: return decline(e, "it is setgid: the loader then preloads nothing");
    case PROGRAM_GAINS_POWERS:
        return decline(e, "it has file capabilities: the loader then preloads nothing");
    }
    return true;
}

/* The file that the kernel starts in the end; scripts of scripts as deep as it goes. */
static bool fits(run *r, const char *path, unsigned depth, err *e)
{
    file_bytes f;
    err unread = {0};
    char next[SCRIPT_LINE];
    if (!file_read(path, 0, &f, &unread))
        return gains_nothing(path, e); /* --x--x--x: may still run */
    interpreter_of(f.bytes, next);
    bool ok = true;
    if (next[0] && depth < 5)
        ok = program_runnable(next, e) ? fits(r, next, depth + 1, e) : err_in(e, "#!%s", next);
    else if (str_starts(f.bytes, STR("\177ELF")))
        ok = gains_nothing(path, e) && fits_elf(r, f.bytes, e);
    file_release(&f);
    return ok; /* neither: the shell reads it */
}

bool run_target(run *r, const char *name, err *e)
{
    return program_find(name, &r->arena, &r->path, e) && fits(r, r->path, 0, e);
}
