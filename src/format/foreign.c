/* Identifies files that Kiln does not read: binary kinds by magic bytes, text by its first words.
 * Only the first FOREIGN_BYTES bytes are read. */
#include "format/foreign.h"

#include "base/utf8.h"
#include "base/ban.h"

enum { FOREIGN_BYTES = 4096 };

/* Bytes that must be at a position. `also` must occur in the first FOREIGN_BYTES bytes as well. In
 * text, leading whitespace is skipped. */
typedef struct mark {
    const char *bytes;
    unsigned n, at;
    const char *also;
    bool text;
    unsigned at2, byte2; /* another byte that must match */
} mark;

#define AT(place, literal)                                                                         \
    {                                                                                              \
        .bytes = literal, .n = sizeof literal - 1, .at = place                                     \
    }
#define MAGIC(literal) AT(0, literal)
#define BOTH(literal, other)                                                                       \
    {                                                                                              \
        .bytes = literal, .n = sizeof literal - 1, .also = other                                   \
    }
#define TEXT(literal)                                                                              \
    {                                                                                              \
        .bytes = literal, .n = sizeof literal - 1, .text = true                                    \
    }
#define TEXT_WITH(literal, other)                                                                  \
    {                                                                                              \
        .bytes = literal, .n = sizeof literal - 1, .text = true, .also = other                     \
    }

#define SPEEDSCOPE "https://www.speedscope.app opens it and saves speedscope JSON (Ctrl+S)"
#define HEAP_ELSE "heaptrack records allocations that can be converted"
#define RECORD_ELSE "record with `perf record -g` or `kiln run` instead"
#define CORE "`gdb PROGRAM CORE` shows its stacks"

/* One line per mark. The first that matches wins, so specific marks come before general ones. */
#define FOREIGN(X)                                                                                 \
    X("a Go execution trace", "`go tool trace -pprof=sched FILE` converts its waits to pprof",     \
      BOTH("go 1.", " trace"))                                                                     \
    X("a Java heap dump (HPROF)",                                                                  \
      "a heap dump has no samples: record with `jcmd PID JFR.start` instead",                      \
      MAGIC("JAVA PROFILE 1."))                                                                    \
    X("a Callgrind profile", SPEEDSCOPE, TEXT("# callgrind format"))                               \
    X("a profile in Callgrind's format", SPEEDSCOPE, TEXT_WITH("version: 1", "\nevents:"))         \
    X("a Massif profile", "`ms_print` prints it; " HEAP_ELSE, TEXT_WITH("desc:", "\nsnapshot="))   \
    X("a Cachegrind profile",                                                                      \
      "`cg_annotate` prints it; it has no stacks: record some with `valgrind --tool=callgrind`",   \
      TEXT_WITH("desc:", "\nevents:"))                                                             \
    X("a DHAT profile", "Valgrind's dh_view.html shows it; " HEAP_ELSE,                            \
      TEXT_WITH("{", "\"dhatFileVersion\""))                                                       \
    X("a heaptrack recording", "`heaptrack_print -F out.folded -f FILE` writes folded stacks",     \
      TEXT_WITH("v ", "\nX "))                                                                     \
    X("a gprof recording (gmon.out)", "`gprof PROGRAM FILE` prints it; " RECORD_ELSE,              \
      MAGIC("gmon\x01\x00\x00\x00"))                                                               \
    X("a gprof report", RECORD_ELSE, TEXT("Flat profile:"))                                        \
    X("a cProfile recording (pstats)",                                                             \
      "`flameprof --format=log FILE` writes folded stacks; `py-spy record -f speedscope` records " \
      "more detail",                                                                               \
      MAGIC("\xfb\x29\x03"))                                                                       \
    X("a cProfile recording (pstats)",                                                             \
      "`flameprof --format=log FILE` writes folded stacks; `py-spy record -f speedscope` records " \
      "more detail",                                                                               \
      MAGIC("\xfb\xa9\x03"))                                                                       \
    X("a cProfile recording (pstats)",                                                             \
      "`flameprof --format=log FILE` writes folded stacks; `py-spy record -f speedscope` records " \
      "more detail",                                                                               \
      MAGIC("{\x28\x03\x00\x00\x00"))                                                              \
    X("a simpleperf report",                                                                       \
      "read the perf.data that it was made from, or the output of gecko_profile_generator.py",     \
      MAGIC("SIMPLEPERF"))                                                                         \
    X("a .NET trace (nettrace)", "`dotnet-trace convert --format Speedscope FILE` converts it",    \
      MAGIC("Nettrace"))                                                                           \
    X("a call tree copied from Instruments", SPEEDSCOPE, TEXT("Running Time\tSelf"))               \
    X("a call tree copied from Instruments", SPEEDSCOPE, TEXT("Bytes Used\tCount"))                \
    X("an xctrace export (Instruments)", "`inferno-collapse-xctrace FILE` writes folded stacks",   \
      TEXT_WITH("<?xml", "<trace-query-result"))                                                   \
    X("a macOS sample report", "`inferno-collapse-sample FILE` writes folded stacks",              \
      TEXT("Analysis of sampling"))                                                                \
    X("DTrace output", "`stackcollapse.pl FILE` (FlameGraph) writes folded stacks",                \
      TEXT_WITH("CPU ", "FUNCTION:NAME"))                                                          \
    X("DTrace output", "`stackcollapse.pl FILE` (FlameGraph) writes folded stacks",                \
      TEXT_WITH("dtrace:", "`"))                                                                   \
    X("bpftrace output", "`stackcollapse-bpftrace.pl FILE` (FlameGraph) writes folded stacks",     \
      TEXT_WITH("Attaching ", " probe"))                                                           \
    X("bpftrace output", "`stackcollapse-bpftrace.pl FILE` (FlameGraph) writes folded stacks",     \
      TEXT_WITH("Attached ", " probe"))                                                            \
    X("bpftrace output", "`stackcollapse-bpftrace.pl FILE` (FlameGraph) writes folded stacks",     \
      TEXT_WITH("@", "]: "))                                                                       \
    X("pmcstat output", "`stackcollapse-pmc.pl FILE` (FlameGraph) writes folded stacks",           \
      TEXT_WITH("@ ", " samples]"))                                                                \
    X("a Java thread dump", "`stackcollapse-jstack.pl FILE` (FlameGraph) writes folded stacks",    \
      TEXT_WITH("", "Full thread dump "))                                                          \
    X("a goroutine dump", "fetch the same page without debug=2 to get pprof",                      \
      TEXT_WITH("goroutine ", "]:\n"))                                                             \
    X("a V8 log (--prof)", "record with `node --cpu-prof` instead", TEXT("v8-version,"))           \
    X("a stackprof dump", "`stackprof --stackcollapse FILE` writes folded stacks",                 \
      MAGIC("\x04\x08{"))                                                                          \
    X("a stackprof dump in JSON", SPEEDSCOPE, TEXT_WITH("{", "\"gc_samples\""))                    \
    X("a GHC profile", SPEEDSCOPE, TEXT_WITH("{", "\"rts_arguments\""))                            \
    X("a Safari timeline", SPEEDSCOPE, TEXT_WITH("{", "\"recording\":{\"displayName\""))           \
    X("an Android method trace",                                                                   \
      "https://profiler.firefox.com opens it and saves JSON that Kiln reads", MAGIC("SLOW"))       \
    X("an Android method trace",                                                                   \
      "https://profiler.firefox.com opens it and saves JSON that Kiln reads", TEXT("*version\n"))  \
    X("a Perfetto trace", "`traceconv json FILE out.json` converts it to a Chrome trace",          \
      {.bytes = "\n", .n = 1, .also = "\x82\x47\x7a\x76\xb2\x8d\x42\xba\x81\xdc\x33\x32"})         \
    X("a memray recording", "record with `py-spy record -f speedscope` instead", MAGIC("memray"))  \
    X("an Austin recording (MOJO)", "`mojo2austin FILE out.folded` writes folded stacks",          \
      MAGIC("MOJ\x00"))                                                                            \
    X("an LLVM counter profile", "counters have no stacks: " RECORD_ELSE, MAGIC("\x81rforpl\xff")) \
    X("an LLVM counter profile", "counters have no stacks: " RECORD_ELSE, MAGIC("\xfflprofi\x81")) \
    X("a gcov data file", "counters have no stacks: " RECORD_ELSE, MAGIC("adcg"))                  \
    X("a core dump", CORE,                                                                         \
      {.bytes = "\x7f"                                                                             \
                "ELF",                                                                             \
       .n = 4,                                                                                     \
       .at2 = 16,                                                                                  \
       .byte2 = 4})                                                                                \
    X("an ELF program or library", "`kiln run` profiles a program",                                \
      MAGIC("\x7f"                                                                                 \
            "ELF"))                                                                                \
    X("a Mach-O program or library", NULL, MAGIC("\xcf\xfa\xed\xfe"))                              \
    X("a Java class file", NULL, MAGIC("\xca\xfe\xba\xbe"))                                        \
    X("a Windows program or library", NULL, BOTH("MZ", "PE"))                                      \
    X("a WebAssembly module", NULL,                                                                \
      AT(0, "\x00"                                                                                 \
            "asm\1\0\0\0"))                                                                        \
    X("a Windows minidump", "a dump has no samples", MAGIC("MDMP\x93\xa7"))                        \
    X("an xz archive", "`xz -d` unpacks it",                                                       \
      MAGIC("\xfd"                                                                                 \
            "7zXZ\x00"))                                                                           \
    X("a bzip2 archive", "`bzip2 -d` unpacks it", BOTH("BZh", "1AY&SY"))                           \
    X("an lz4 archive", "`lz4 -d` unpacks it", MAGIC("\x04\x22\x4d\x18"))                          \
    X("an lzip archive", "`lzip -d` unpacks it", MAGIC("LZIP\x01"))                                \
    X("a compress archive (.Z)", "`uncompress` unpacks it", MAGIC("\x1f\x9d"))                     \
    X("a Snappy stream", "unpack it first", MAGIC("\xff\x06\x00\x00sNaPpY"))                       \
    X("a zip archive", "`unzip` unpacks it", MAGIC("PK\x03\x04"))                                  \
    X("an empty zip archive", NULL, MAGIC("PK\x05\x06"))                                           \
    X("a 7-Zip archive", "`7z x` unpacks it", MAGIC("7z\xbc\xaf\x27\x1c"))                         \
    X("a tar archive", "`tar -xf` unpacks it", AT(257, "ustar"))                                   \
    X("an ar archive", "`ar x` unpacks it", MAGIC("!<arch>\n"))                                    \
    X("an RPM package", NULL, MAGIC("\xed\xab\xee\xdb"))                                           \
    X("an SQLite database", "to read a Kiln store, name its directory",                            \
      MAGIC("SQLite format 3\x00"))                                                                \
    X("a Parquet file", NULL, MAGIC("PAR1"))                                                       \
    X("a packet capture", NULL, MAGIC("\xd4\xc3\xb2\xa1"))                                         \
    X("a packet capture", NULL, MAGIC("\x0a\x0d\x0d\x0a"))                                         \
    X("a PNG picture", NULL, MAGIC("\x89PNG\r\n"))                                                 \
    X("a JPEG picture", NULL, MAGIC("\xff\xd8\xff"))                                               \
    X("a GIF picture", NULL, MAGIC("GIF8"))                                                        \
    X("a PDF document", NULL, MAGIC("%PDF-"))                                                      \
    X("an SVG picture", "Kiln reads the stacks that it was drawn from", TEXT("<svg"))              \
    X("an SVG picture", "Kiln reads the stacks that it was drawn from",                            \
      TEXT_WITH("<?xml", "<svg"))                                                                  \
    X("a web page", "only reports written by Kiln contain their profile", TEXT("<!DOCTYPE html"))  \
    X("a web page", "only reports written by Kiln contain their profile", TEXT("<!doctype html"))  \
    X("a web page", "only reports written by Kiln contain their profile", TEXT("<html"))           \
    X("an XML document", NULL, TEXT("<?xml"))

static const foreign list[] = {
#define X(what, way, ...) {what, way},
    FOREIGN(X)
#undef X
};

static const mark marks[] = {
#define X(what, way, ...) __VA_ARGS__,
    FOREIGN(X)
#undef X
};

static str skip_blanks(str s)
{
    if (str_starts(s, STR("\xef\xbb\xbf"))) s = (str){s.p + 3, s.n - 3};
    while (s.n && memchr(" \t\r\n\f\v", s.p[0], 6)) s = (str){s.p + 1, s.n - 1};
    return s;
}

static bool fits(const mark *m, str head, str text)
{
    str in = m->text ? text : head;
    if (m->text && !in.n) return false;
    if (in.n < m->at + m->n || memcmp(in.p + m->at, m->bytes, m->n) != 0) return false;
    if (m->at2 && (in.n <= m->at2 || (uint8_t)in.p[m->at2] != m->byte2)) return false;
    return !m->also || memmem(in.p, in.n, m->also, strlen(m->also)) != NULL;
}

const foreign *foreign_find(str bytes)
{
    str head = {bytes.p, bytes.n < FOREIGN_BYTES ? bytes.n : FOREIGN_BYTES};
    if (!head.n) return NULL;
    /* A protobuf message may also start with a line feed, and may contain any words. */
    str text = text_like(head.p, head.n) ? skip_blanks(head) : (str){0};
    for (size_t i = 0; i < ARRAY_LEN(marks); i++)
        if (fits(&marks[i], head, text)) return &list[i];
    return NULL;
}

const foreign *foreign_list(size_t *n)
{
    *n = ARRAY_LEN(list);
    return list;
}

static bool only_blanks(str s)
{
    while (s.n && memchr(" \t\r\n\f\v", s.p[0], 6)) s = (str){s.p + 1, s.n - 1};
    return s.n == 0;
}

bool foreign_reject(str bytes, err *e)
{
    const foreign *f = foreign_find(bytes);
    if (f && f->way) return err_set(e, ERR_UNSUPPORTED, "this is %s: %s", f->what, f->way);
    if (f) return err_set(e, ERR_UNSUPPORTED, "this is %s, not a profile", f->what);
    if (only_blanks(bytes))
        return err_set(e, ERR_UNSUPPORTED, "the input contains only whitespace");
    err_set(e, ERR_UNSUPPORTED, "unknown format");
    return err_hint(e, "`kiln formats` lists the formats; --from selects one");
}
