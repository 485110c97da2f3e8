/* pyroscope/push.h - decodes push.v1.PushRequest, the message of PusherService/Push. Pure.
 *
 *   PushRequest       1 series*
 *   RawProfileSeries  1 labels LabelPair{1 name, 2 value}*, 2 samples*
 *   RawSample         1 raw_profile (pprof, compressed or not), 2 ID (UUID, may be empty)
 *
 * The answer, PushResponse, is an empty message. */
#pragma once
#include "base/err.h"
#include "model/ledger.h"
#include "model/model.h"

typedef struct push_request {
    str message;      /* without framing and compression */
    uint64_t now;     /* Unix ns, for profiles without a time */
    size_t max_bytes; /* of all profiles after decompression */
} push_request;

enum { PUSH_MAX_PROFILES = 4096 };

/* Decodes a request into one model in `a`, whose strings may view the message. Errors have the path
 * "series[1].samples[0].raw_profile". */
NODISCARD bool push_request_read(const push_request *in, ledger *l, arena *a, model *out, err *e);
