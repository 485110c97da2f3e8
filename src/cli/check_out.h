/* cli/check_out.h - prints the findings of `kiln check`. */
#pragma once
#include "check/check.h"
#include "cli/cli.h"

struct json_out;

/* Prints one line for all payloads of a file. */
void check_summary(cli *c, const char *path, uint64_t payloads, const check_report *sum);
void check_text(cli *c, const char *path, const check_report *r);
void check_json(struct json_out *o, const check_report *r); /* adds keys to an open object */
void check_rules_text(cli *c);
void check_rules_json(cli *c);
void fix_text(cli *c, const char *path, const fix_report *r);
void fix_json(struct json_out *o, const fix_report *r); /* adds a key to an open object */
