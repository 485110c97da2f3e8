/* `kiln check`: runs the rules of check/check.h over each payload of each file. Also implements
 * --fix and --profcheck. Only the first few payloads with findings are printed in full, so that the
 * output for a stream of broken messages stays readable. */
#include "cli/cli.h"

#include "cli/check_out.h"
#include "cli/input.h"
#include "model/merge.h"
#include "wire/json.h"
#include "base/ban.h"
#include <inttypes.h>

/* ---- one payload ---- */

static check_opts rules_of(const cli *c)
{
    return (check_opts){.only = c->o.only.v,
                        .n_only = c->o.only.n,
                        .ignore = c->o.ignore.v,
                        .n_ignore = c->o.ignore.n};
}

static bool judge(const cli *c, input *in, payload *p, arena *a, check_report *r, err *e)
{
    check_opts o = rules_of(c);
    read_opts ro = input_read_opts(c, in);
    return check_payload(p, format_force(&ro, p), &o, &in->ledger, a, r, e);
}

/* ---- one file ---- */

enum { SHOWN = 3 }; /* payloads per file whose findings are printed in full */

/* Findings of one file so far. */
typedef struct review {
    const char *path;
    json_out *json; /* NULL: text */
    check_report sum;
    uint64_t payloads, with_findings;
} review;

static void add_up(review *w, const check_report *r)
{
    w->payloads++;
    w->with_findings += r->errors || r->warnings;
    w->sum.errors += r->errors;
    w->sum.warnings += r->warnings;
    w->sum.infos += r->infos;
}

static void show_json(const review *w, const payload *p, const check_report *r)
{
    json_put_object(w->json);
    json_put_key(w->json, STR("path"));
    input_path_json(w->json, w->path);
    json_put_key(w->json, STR("payload"));
    json_put_u64(w->json, p->index);
    check_json(w->json, r);
    json_put_object_end(w->json);
}

/* Shows a payload: a single one always, of several only those with findings. */
static void show(cli *c, review *w, const payload *p, bool several, const check_report *r)
{
    if (r->errors && c->worst < EXIT_BAD_INPUT) c->worst = EXIT_BAD_INPUT;
    add_up(w, r);
    if (w->json) {
        show_json(w, p, r);
    } else if (!several) {
        if (!c->o.quiet || r->errors) check_text(c, input_name(w->path), r);
    } else if ((r->errors || (r->warnings && !c->o.quiet)) && w->with_findings <= SHOWN) {
        char name[300];
        snprintf(name, sizeof name, "%.200s payload[%" PRIu64 "]", input_name(w->path), p->index);
        check_text(c, name, r);
        buf_putc(&c->out, '\n');
    }
}

/* Returns the format if it is not OTLP and has its own rules, otherwise NULL. */
static const format *with_rules(const cli *c, const input *in)
{
    if (c->o.layout) return NULL;
    const format *f = c->o.from ? format_named(str_of(c->o.from))
                                : format_detect_named(in->doc.bytes, str_of(in->path));
    return f && check_has_rules(f, in->doc.bytes) ? f : NULL;
}

static void check_whole(cli *c, const format *f, input *in, json_out *o)
{
    err e = {0};
    check_report r = {0};
    check_opts rules = rules_of(c);
    review w = {.path = in->path, .json = o};
    payload p = {.bytes = in->doc.bytes};
    if (check_format(f, in->doc.bytes, &rules, &in->arena, &r, &e))
        show(c, &w, &p, false, &r);
    else
        cli_fail_err(c, in->path, &e);
    input_close(in);
    cli_flush(c);
}

static void check_file(cli *c, const char *path, json_out *o)
{
    input in;
    if (!input_unpack(c, path, &in)) return;
    const format *other = with_rules(c, &in);
    if (other) {
        check_whole(c, other, &in, o);
        return;
    }
    if (!input_holds_otlp(c, &in)) return;
    err e = {0};
    arena a = arena_beside(&in.arena); /* memory of one payload */
    frames f = frames_of(in.doc.bytes, c->o.max_payload, &a);
    review w = {.path = path, .json = o};
    bool ok = true, several = false;
    for (payload p; ok && frames_next(&f, &p, &e); arena_reset(&a)) {
        check_report r = {0};
        several = f.framing == FRAMING_LENGTHS || p.index || frames_more(&f);
        ok = judge(c, &in, &p, &a, &r, &e);
        if (ok) show(c, &w, &p, several, &r);
        if (!ok && e.offset != NO_OFFSET && !p.packed) e.offset += p.offset;
        if (!ok && several) err_in(&e, "payload[%" PRIu64 "]", p.index);
    }
    if (e.code) cli_fail_err(c, path, &e);
    if (several && !o && (!c->o.quiet || w.sum.errors))
        check_summary(c, input_name(path), w.payloads, &w.sum);
    arena_free(&a);
    input_close(&in);
    cli_flush(c);
}

/* ---- profcheck ---- */

static void profcheck_file(cli *c, const char *path, json_out *o)
{
    input in;
    if (!input_load(c, path, &in)) return;
    err e = {0};
    profcheck_opts p = {
        .check_dupes = c->o.check_dupes,
        .check_sample_shapes = !c->o.no_check_shapes,
        .check_orphans = c->o.check_orphans,
    };
    profcheck_result r;
    if (!profcheck_verdict(in.file.bytes.p, in.file.bytes.n, &p, &in.arena, &r, &e)) {
        cli_fail_err(c, path, &e);
    } else if (o) {
        json_put_object(o);
        json_put_key(o, STR("path"));
        input_path_json(o, path);
        json_put_key(o, STR("profcheck"));
        json_put_str(o, str_of(profcheck_status_name(r.status)));
        json_put_key(o, STR("errors"));
        json_put_u64(o, r.n_errors);
        json_put_key(o, STR("first"));
        json_put_str(o, str_of(r.first));
        json_put_object_end(o);
    } else if (!c->o.quiet || r.status != PROFCHECK_PASS) {
        buf_printf(&c->out, "%s: profcheck: %s\n", input_name(path),
                   profcheck_status_name(r.status));
        if (r.first[0]) buf_printf(&c->out, "  %s\n", r.first);
        if (r.n_errors > 1) buf_printf(&c->out, "  ... and %" PRIu64 " more\n", r.n_errors - 1);
    }
    if (!e.code && r.status != PROFCHECK_PASS && c->worst < EXIT_BAD_INPUT)
        c->worst = EXIT_BAD_INPUT;
    input_close(&in);
    cli_flush(c);
}

/* ---- repair ---- */

static void add_actions(fix_report *total, const fix_report *r)
{
    for (size_t i = 0; i < r->n; i++) {
        size_t k = 0;
        while (k < total->n && total->v[k].action != r->v[i].action) k++;
        if (k < total->n)
            total->v[k].count += r->v[i].count;
        else if (k < ARRAY_LEN(total->v))
            total->v[total->n++] = r->v[i];
    }
}

/* Repairs every payload and joins the results into one model. */
static bool repair(cli *c, input *in, fix_report *total, model *out, err *e)
{
    frames f = frames_of(in->doc.bytes, c->o.max_payload, &in->arena);
    read_opts ro = input_read_opts(c, in);
    VEC(model) fixed = {0};
    for (payload p; frames_next(&f, &p, e);) {
        model broken, *m = vec_push(&in->arena, &fixed);
        if (!m) return err_memory(e);
        fix_report r = {0};
        layout l = format_force(&ro, &p);
        if (!check_payload_read(&p, l, &in->ledger, &in->arena, &broken, e)) return false;
        if (!check_fix(&broken, &in->arena, m, &r, e)) return false;
        add_actions(total, &r);
    }
    if (e->code) return false;
    if (fixed.n == 1) {
        *out = fixed.v[0];
        return true;
    }
    const model **list = arena_new(&in->arena, const model *, fixed.n);
    if (!list) return err_memory(e);
    for (size_t i = 0; i < fixed.n; i++) list[i] = &fixed.v[i];
    return model_merge(list, fixed.n, &(merge_opts){0}, &in->arena, out, e);
}

static bool write_fixed(cli *c, const model *m, err *e)
{
    const format *to = format_for_path(str_of(c->o.output));
    if (!to) to = &format_otlp;
    buf plain = {0}, packed = {0};
    bool ok = to->write(to, m, &(write_opts){0}, &plain, e) &&
              pack(codec_of_suffix(str_of(c->o.output)), buf_view(&plain), &packed, e) &&
              file_write(c->o.output, buf_view(&packed), e);
    buf_free(&plain);
    buf_free(&packed);
    return ok;
}

static void show_fixes(cli *c, const char *path, const fix_report *r, json_out *o)
{
    if (o) {
        json_put_object(o);
        json_put_key(o, STR("path"));
        input_path_json(o, path);
        fix_json(o, r);
        json_put_object_end(o);
    } else if (!c->o.quiet && strcmp(c->o.output, "-") != 0) {
        fix_text(c, input_name(path), r);
    }
}

static void fix_file(cli *c, const char *path, json_out *o)
{
    input in;
    if (!input_unpack(c, path, &in) || !input_holds_otlp(c, &in)) return;
    err e = {0};
    fix_report r = {0};
    model m;
    if (!repair(c, &in, &r, &m, &e))
        cli_fail_err(c, path, &e);
    else if (!write_fixed(c, &m, &e))
        cli_fail_err(c, c->o.output, &e);
    else
        show_fixes(c, path, &r, o);
    input_close(&in);
}

/* ---- the command ---- */

static bool usage(cli *c)
{
    const char *wrong = NULL;
    if (!c->n_args) wrong = "check needs FILE...; for example: kiln check app.otlp";
    if (c->o.fix && c->n_args != 1) wrong = "--fix repairs one file at a time";
    if (c->o.fix && !c->o.output) wrong = "--fix requires --output=FILE for the result";
    if (!c->o.fix && c->o.output) wrong = "--output requires --fix";
    if (c->o.fix && c->o.json && c->o.output && !strcmp(c->o.output, "-"))
        wrong =
            "--json prints the repairs to standard output, so --output cannot be standard output";
    if (c->o.fix && c->o.profcheck) wrong = "--fix and --profcheck cannot be combined";
    if (wrong) cli_fail(c, EXIT_USAGE, "%s", wrong);
    return !wrong;
}

exit_code cmd_check(cli *c)
{
    if (c->o.rules) {
        if (c->o.json)
            check_rules_json(c);
        else
            check_rules_text(c);
        return EXIT_FINE;
    }
    if (!usage(c)) return c->worst;
    json_out o = {.b = &c->out, .pretty = true};
    if (c->o.json) cli_open_files(&o);
    void (*one)(cli *, const char *, json_out *) = c->o.fix         ? fix_file
                                                   : c->o.profcheck ? profcheck_file
                                                                    : check_file;
    for (size_t i = 0; i < c->n_args; i++) one(c, c->args[i], c->o.json ? &o : NULL);
    if (c->o.json) {
        json_put_array_end(&o);
        json_put_object_end(&o);
        buf_putc(&c->out, '\n');
    }
    return c->worst;
}
