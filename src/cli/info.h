/* cli/info.h - what `kiln info` found, and its two printed forms. */
#pragma once
#include "cli/input.h"
#include "query/facts.h"
#include "wire/share.h"

typedef struct info {
    const input *in;
    const profile_facts *facts; /* one a profile */
    shares shares;              /* of the protobuf payloads; empty for other formats */
    size_t gzip_bytes, zstd_bytes;
} info;

struct json_out;
void info_json(struct json_out *o, const info *f); /* one element of "files" */
void info_text(cli *c, const info *f);             /* 80 columns */

/* The layout verdict that stands for the whole input: the first payload's. */
static inline const layout_verdict *info_verdict(const info *f)
{
    static const layout_verdict none;
    return f->in->doc.parts.n ? &f->in->doc.parts.v[0].verdict : &none;
}
