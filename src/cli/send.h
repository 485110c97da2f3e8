/* cli/send.h - the result of `kiln send` for each file, and how it is printed. */
#pragma once
#include "cli/cli.h"
#include "model/ledger.h"
#include "otlp/exporter.h"

typedef struct sent {
    const char *path; /* NULL: from the spool */
    bool settled;
    outcome outcome;
    size_t items, bytes;
    uint64_t accepted, rejected, duplicates; /* accepted does not include duplicates */
    unsigned attempts;
    char text[256];       /* message of the receiver or reason of the failure; or "" */
    const ledger *losses; /* losses of reading and converting; NULL: none */
} sent;

typedef struct sending {
    cli *c;
    arena arena;
    otlp_config config;
    exporter *exporter;
    uint64_t wait; /* --wait */
    sent *v;
    size_t n;        /* files */
    sent from_spool; /* sums over all spooled batches; `attempts` counts the batches */
    otlp_counts counts;
} sending;

/* ---- printing (send_out.c) ---- */
void send_print_text(const sending *s, const sent *t); /* prints one file and sets its exit code */
void send_print_spool(const sending *s);
void send_print_json(const sending *s);
exit_code send_exit_code(const sent *t);
