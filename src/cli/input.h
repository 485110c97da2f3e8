/* cli/input.h - what is named on the command line, read into a model: a file, or what a store or a server keeps. */
#pragma once
#include "cli/cli.h"
#include "cli/kept.h"
#include "format/format.h"
#include "sys/file.h"

typedef struct input {
    const char *path;
    bool kept;                 /* by a store or a server (cli/kept.h): OTLP in `made` */
    char main_type[KEPT_TYPE]; /* of what is kept */
    file_bytes file;
    buf made;
    arena arena; /* everything below lives here */
    ledger ledger;
    document doc;
} input;

/* --from, --layout and the limits as options of format_read.  `in` gives the ledger. */
read_opts input_read_opts(const cli *c, input *in);

/* --max-memory, or 4 GiB; on a machine with less than 8 GiB half of its memory. */
size_t input_budget(const cli *c);

/* The bytes only.  false: reported. */
bool input_load(cli *c, const char *path, input *in);
/* The bytes without compression in in->doc.bytes.  false: reported, nothing to close. */
bool input_unpack(cli *c, const char *path, input *in);
/* The format of bytes that are clearly not OTLP, and neither --from nor --layout says otherwise; NULL: they may be OTLP. */
const format *input_other_format(const cli *c, const input *in);
/* For commands that look at the bytes of messages: false when no reader knows them, and neither --from nor --layout says what they
 * are.  Reported, in is closed. */
bool input_is_known(cli *c, input *in);
/* For `check`, after formats with rules of their own: false when the bytes are clearly not OTLP, and neither
 * --from nor --layout says otherwise.  Reported, in is closed. */
bool input_holds_otlp(cli *c, input *in);
/* The bytes and the model.  false: reported, nothing to close. */
bool input_open_for(cli *c, const char *path, kept_need need, input *in);
/* The same, of all that there is. */
bool input_open(cli *c, const char *path, input *in);
/* The same of bytes that are there already, which it takes over; `name` is for messages. */
bool input_open_bytes(cli *c, const char *name, buf *bytes, input *in);
/* The same payload by payload, in memory for one of them (format_read_each): *in is there for `each`, its ledger holds the losses
 * of this payload, and everything is closed on return.  Errors of `each` are reported, too. */
bool input_each(cli *c, const char *path, input *in, format_each *each, void *who);
void input_close(input *in);

/* "standard input" for "-". */
const char *input_name(const char *path);

/* What a picture of it is called: the last part of the path. */
str input_title(const char *path);

/* A path as a JSON string: what is no UTF-8 becomes U+FFFD. */
struct json_out;
void input_path_json(struct json_out *o, const char *path);

/* ---- the loss ledger, for machines and people (ledger_out.c) ---- */
void ledger_json(struct json_out *o, const ledger *l);
/* A line an entry; nothing when the ledger is empty. */
void ledger_text(buf *b, const ledger *l, bool color);
