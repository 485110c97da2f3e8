/* json_tool.c - runs the transcoders for tests/e2e/json_oracle.py, from standard input to standard output.
 *
 *   json_tool to-pb|to-json|to-yaml|to-text LAYOUT        LAYOUT may be "unknown" for to-pb
 *   json_tool layout */
#include "wire/dump.h"
#include "wire/otlp_json.h"

#include <stdio.h>
#include <stdlib.h>

static bool read_all(buf *in)
{
    do {
        if (!buf_reserve(in, 65536)) return false;
        in->n += fread(in->p + in->n, 1, in->cap - in->n, stdin);
    } while (!feof(stdin) && !ferror(stdin));
    return !ferror(stdin);
}

static bool convert(str how, layout l, const buf *in, buf *out, err *e)
{
    if (str_eq(how, STR("to-pb"))) return otlp_json_to_pb(in->p, in->n, l, out, NULL, e);
    if (str_eq(how, STR("to-json"))) return otlp_pb_to_json(in->p, in->n, l, NULL, out, e);
    if (str_eq(how, STR("layout")))
        return buf_z(out, layout_name(otlp_json_layout(in->p, in->n))), true;
    bool yaml = str_eq(how, STR("to-yaml"));
    return dump_pb(in->p, in->n, l, &(dump_opts){.format = yaml ? DUMP_YAML : DUMP_TEXT}, out, e);
}

int main(int argc, char **argv)
{
    buf in = {0}, out = {0};
    err e = {0};
    char text[512];
    if (argc < 2 || !read_all(&in)) return 2;
    layout l = argc > 2 ? layout_from_name(str_of(argv[2])) : LAYOUT_UNKNOWN;
    bool ok = convert(str_of(argv[1]), l, &in, &out, &e);
    if (!ok) fprintf(stderr, "%s\n", err_text(&e, text, sizeof text));
    if (ok) fwrite(out.p, 1, out.n, stdout);
    buf_free(&in);
    buf_free(&out);
    return ok ? 0 : 1;
}
