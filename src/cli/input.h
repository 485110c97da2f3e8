/* cli/input.h - opens an input of the command line as a model: a file, or profiles of a store or a
 * server. */
#pragma once
#include "cli/cli.h"
#include "cli/stored.h"
#include "format/format.h"
#include "sys/file.h"

typedef struct input {
    const char *path;
    bool stored;                 /* from a store or a server (cli/stored.h): OTLP in `made` */
    char main_type[STORED_TYPE]; /* default type of a store or server */
    file_bytes file;
    buf made;
    arena arena; /* memory of everything below */
    ledger ledger;
    document doc;
} input;

/* Returns the options of format_read from --from, --layout and the limits.  Losses are recorded in
 * the ledger of `in`. */
read_opts input_read_opts(const cli *c, input *in);

/* Returns --max-memory; by default 4 GiB, or half of the machine's memory if that is less. */
size_t input_budget(const cli *c);

/* Reads only the bytes.  Like all functions below, returns false after reporting a failure. */
bool input_load(cli *c, const char *path, input *in);
/* Reads and decompresses the bytes into in->doc.bytes.  On failure there is nothing to close. */
bool input_unpack(cli *c, const char *path, input *in);
/* Returns the format of bytes that are clearly not OTLP, or NULL if they may be OTLP or --from or
 * --layout is given. */
const format *input_other_format(const cli *c, const input *in);
/* For commands that work on the bytes of messages.  Returns false, and closes `in`, if no reader
 * recognises the bytes and neither --from nor --layout is given. */
bool input_is_known(cli *c, input *in);
/* For `check`.  Returns false, and closes `in`, if the bytes are clearly not OTLP and neither
 * --from nor --layout is given. */
bool input_holds_otlp(cli *c, input *in);
/* Reads and decodes the input.  `need` applies to stores and servers.  On failure there is nothing
 * to close. */
bool input_open_for(cli *c, const char *path, stored_need need, input *in);
/* Like input_open_for, for commands that use only the model.  A store is then read without encoding
 * and decoding, and in->doc contains only the model. */
bool input_open_model(cli *c, const char *path, stored_need need, input *in);
/* Calls input_open_for with STORED_ALL. */
bool input_open(cli *c, const char *path, input *in);
/* Decodes *bytes and takes ownership of them; `name` is for messages. */
bool input_open_bytes(cli *c, const char *name, buf *bytes, input *in);
/* Decodes payload by payload, with memory for one payload (format_read_each), and calls `each` for
 * every one.  During the call, in->ledger has the losses of that payload.  Closes `in` before it
 * returns.  Also reports errors of `each`. */
bool input_each(cli *c, const char *path, input *in, format_each *each, void *ctx);
void input_close(input *in);

/* Returns the path for messages: "standard input" for "-". */
const char *input_name(const char *path);

/* Returns the title of a picture: the last part of the path. */
str input_title(const char *path);

/* Writes a path as a JSON string; bytes that are not UTF-8 become U+FFFD. */
struct json_out;
void input_path_json(struct json_out *o, const char *path);

/* ---- the loss ledger (ledger_out.c) ---- */
void ledger_json(struct json_out *o, const ledger *l);
/* Prints one line per entry; nothing if the ledger is empty. */
void ledger_text(buf *b, const ledger *l, bool color);
