/* cli/info.h - the facts that `kiln info` prints as text and JSON. */
#pragma once
#include "cli/input.h"
#include "query/facts.h"
#include "wire/share.h"

typedef struct info {
    const input *in;
    const profile_facts *facts; /* one per profile */
    shares shares;              /* of the protobuf payloads; empty for other formats */
    size_t gzip_bytes, zstd_bytes;
} info;

struct json_out;
void info_json(struct json_out *o, const info *f); /* one element of "files" */
void info_text(cli *c, const info *f);             /* 80 columns */

/* Returns the layout verdict of the input, which is that of its first payload. */
static inline const layout_verdict *info_verdict(const info *f)
{
    static const layout_verdict none;
    return f->in->doc.parts.n ? &f->in->doc.parts.v[0].verdict : &none;
}
