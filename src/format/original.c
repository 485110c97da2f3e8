/* `--to original`: writes the source file that a profile carries, bit for bit. */
#include "format/format.h"

#include "base/ban.h"

static bool write(const format *f, const model *m, const write_opts *o, buf *out, err *e)
{
    (void)f, (void)o;
    const profile *found = NULL;
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        if (!p->original_payload.n) continue;
        if (found && !str_eq(found->original_payload, p->original_payload)) {
            err_set(e, ERR_UNSUPPORTED,
                    "the profiles carry several original files; this format writes exactly one");
            return err_in(e, "profiles[%zu].original_payload", i);
        }
        found = p;
    }
    if (!found) {
        err_set(e, ERR_UNSUPPORTED, "no profile carries its original file");
        return err_hint(e, "convert --keep-original stores it");
    }
    buf_str(out, found->original_payload);
    return !out->failed || err_set(e, ERR_LIMIT, "the output exceeds its size limit");
}

const format format_original = {
    .name = "original",
    .what = "the source file stored by --keep-original, bit for bit",
    .carries = CARRIES(STACKS) | CARRIES(ORIGINAL),
    .write = write,
};
