/* server/forward.h - passes on what was received, as an intermediary would: the same bytes and the same signal, through the
 * exporter's queue and spool.  A receiver that is down or slow costs memory up to the queue's limit and nothing else: what does not
 * fit is dropped and counted, and senders are acknowledged as ever. */
#pragma once
#include "otlp/exporter.h"
#include "server/config.h"

typedef struct forward forward;

/* Would forward_open do?  Opens nothing. */
NODISCARD bool forward_check(const forward_config *c, err *e);

/* Starts its threads; a spool has a directory of its own for each signal.  The texts of *c must outlive it. */
NODISCARD forward *forward_open(const forward_config *c, logger *log, err *e);

/* Sends what it can within the time, puts the rest onto the spool. */
void forward_close(forward *f, uint64_t timeout_ns);

/* An Export...ServiceRequest; takes *bytes over and empties it. */
void forward_pass(forward *f, otlp_signal s, buf *bytes, size_t items);

otlp_counts forward_counted(const forward *f, otlp_signal s);
