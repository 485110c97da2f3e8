/* Finds the files and segments that the manifest lists and a reader does not have. Shared by reads,
 * which report them as damage, `verify` and `backup`. */
#include "store/reader.h"

#include "store/journal_file.h"
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>
#include "base/ban.h"

static bool has_day(const reader *r, day_name name)
{
    for (size_t i = 0; i < r->n_days; i++)
        if (day_name_cmp(r->days[i]->name, name) == 0) return true;
    return false;
}

static bool has_segment(const reader *r, uint32_t number)
{
    char path[JOURNAL_PATH];
    for (size_t i = 0; i < r->hold.n; i++)
        if (r->hold.v[i].number == number) return true;
    segment_path(r->o.dir, number, path); /* a segment may be newer than the locked ones */
    return access(path, F_OK) == 0;
}

static void missing_files(reader *r, reader_missing_visit *visit, void *ctx)
{
    for (size_t i = 0; i < r->listed.n_files; i++) {
        const manifest_file *f = &r->listed.files[i];
        char why[96], name[DAY_NAME];
        if (!f->lost && has_day(r, f->name)) continue;
        day_name_text(f->name, name);
        snprintf(why, sizeof why, "%s is %s: %" PRIu64 " samples are missing", name,
                 f->lost ? "lost" : "damaged or missing", f->samples);
        visit(ctx, f, 0, why);
    }
}

static void missing_segments(reader *r, reader_missing_visit *visit, void *ctx)
{
    const manifest *m = &r->listed;
    for (size_t i = 0; i < m->n_segments; i++) {
        uint64_t first = m->segments[i].first_seq,
                 end = i + 1 < m->n_segments ? m->segments[i + 1].first_seq : first + 1;
        char why[96];
        if (first <= r->compacted) first = r->compacted + 1;
        if (end <= first || has_segment(r, m->segments[i].number)) continue;
        snprintf(why, sizeof why, "raw-%08u.log is missing: %s%" PRIu64 " items are missing",
                 m->segments[i].number, i + 1 < m->n_segments ? "" : "at least ", end - first);
        visit(ctx, NULL, end - first, why);
    }
}

void reader_missing(reader *r, reader_missing_visit *visit, void *ctx)
{
    /* Retention and compaction remove the line before the file. So files that they removed since
     * have no line now. */
    if (!manifest_load(&r->listed, r->o.dir, NULL)) return;
    missing_files(r, visit, ctx);
    missing_segments(r, visit, ctx);
}
