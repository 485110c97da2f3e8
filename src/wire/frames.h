/* wire/frames.h - splits an input into payloads.  Pure.
 *
 *   none         the whole input is one protobuf message
 *   lengths      [u32 big endian][payload] ...   the Collector's file exporter; a payload may itself
 *                be compressed
 *   JSON         one document, JSON lines, or concatenated documents
 *
 * The first bytes decide.  A frame under 128 MiB starts with a byte under 8.  As a protobuf tag
 * this would be field 0, which no message has.  Longer frames are accepted when their lengths add
 * up to the input exactly.  JSON starts with `{`, or with spaces, `{` and a quoted key.
 *
 * Empty frames are skipped: a file system that lost data leaves zeros, which look like empty
 * frames.  An input with only empty frames is rejected.
 *
 *     for (payload p; frames_next(&f, &p, e);) ...
 *     frames_close(&f); return frames_ok(&f);
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/source.h"
#include "base/str.h"
#include "wire/compress.h"

typedef enum framing { FRAMING_NONE, FRAMING_LENGTHS, FRAMING_JSON } framing;
typedef enum payload_kind { PAYLOAD_PROTOBUF, PAYLOAD_JSON } payload_kind;

enum {
    FRAMES_MAX_PAYLOAD = 256 << 20, /* default of --max-payload: memory for one payload */
    /* Every payload runs a decoder.  A profile with a sample has at least FRAMES_TINY bytes, so a
     * stream with more than FRAMES_MAX_TINY smaller payloads is not a stream of profiles. */
    FRAMES_TINY = 48,
    FRAMES_MAX_TINY = 1 << 16,
};

typedef struct payload {
    str bytes;       /* without its frame and compression */
    uint64_t offset; /* of its first byte in the input, after the outermost decompression */
    uint64_t index;  /* 0, 1, 2 ... */
    payload_kind kind;
    bool packed; /* compressed inside its frame: offsets in `bytes` are not offsets of the input */
    bool cut;    /* JSON that ends before its last bracket */
} payload;

/* Detects the framing from the first bytes of the input; `whole`: they are all of it. */
framing framing_detect(str head, bool whole);

typedef struct frames {
    framing framing;
    source *from;      /* NULL: the input is in memory */
    const char *p;     /* input[base..base+n) */
    size_t at, n, cap; /* at: the next unread byte; cap: allocated size of p, if `from` is set */
    uint64_t base;     /* input bytes before p */
    uint64_t index;    /* index of the next payload */
    size_t max_payload;
    arena *a;          /* holds decompressed payloads */
    uint64_t unpacked; /* decompressed bytes of all frames so far; they share one limit */
    uint64_t empty;    /* empty frames */
    uint64_t zeros;    /* bytes of empty frames after the last payload */
    unsigned tiny;
    bool started, ended, failed;
    /* Set by the caller: a truncated frame after a complete payload ends the stream and sets `cut`.
     * Otherwise it is an error. */
    bool salvage;
    bool cut;
    uint64_t cut_at; /* where the frame begins */
} frames;

/* Reads from memory without a copy.  max_payload limits the decompressed size of a frame; 0 means
 * FRAMES_MAX_PAYLOAD. */
frames frames_of(str in, size_t max_payload, arena *a);

/* Reads from a source, one payload in memory at a time: p->bytes is valid until the next call,
 * decompressed frames until the caller resets `a`. */
frames frames_from(source *from, size_t max_payload, arena *a);

/* Reads the next payload.  Returns false at the end or on failure. */
NODISCARD bool frames_next(frames *f, payload *p, err *e);
/* For input in memory: returns whether bytes other than spaces follow the last payload. */
bool frames_more(const frames *f);
static inline bool frames_ok(const frames *f) { return !f->failed; }
void frames_close(frames *f); /* does not close the source */
