/* cli/send.h - what `kiln send` found out about each file, and how it is printed. */
#pragma once
#include "cli/cli.h"
#include "model/ledger.h"
#include "otlp/exporter.h"

typedef struct sent {
    const char *path; /* NULL: from the spool */
    bool settled;
    outcome outcome;
    size_t items, bytes;
    uint64_t accepted, rejected, duplicates; /* duplicates: not among the accepted ones */
    unsigned attempts;
    char text[256];       /* why, or "" */
    const ledger *losses; /* of reading and converting it; NULL: none */
} sent;

typedef struct sending {
    cli *c;
    arena arena;
    otlp_config config;
    exporter *exporter;
    uint64_t wait; /* --wait */
    sent *v;
    size_t n;        /* files */
    sent from_spool; /* all of them: items, rejected; attempts counts the batches */
    otlp_counts counts;
} sending;

/* send_out.c */
void send_tell_text(const sending *s, const sent *t); /* one file, and its exit code */
void send_tell_spool(const sending *s);
void send_tell_json(const sending *s);
exit_code send_exit_code(const sent *t);
