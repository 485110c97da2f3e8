/* wire/frames.h - splits an input into payloads.  Pure.
 *
 *   nothing      the whole input is one protobuf message
 *   lengths      [u32 big endian][payload] ...   the Collector's file exporter; a payload may itself
 *                be compressed
 *   JSON         one document after another: a single one, JSON lines, or just concatenated
 *
 * Told apart by the first bytes.  A frame under 128 MiB begins with a byte under 8, which as a
 * protobuf tag would be field 0 and so begins no message; longer frames are believed when their
 * lengths tile the input exactly.  JSON begins with `{` (after blanks: and a quoted key).
 *
 * An empty frame is skipped: it holds nothing, and a file system that lost its data leaves zeros, which
 * would be a million of them.  An input that has only empty frames is refused.
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
    FRAMES_MAX_PAYLOAD =
        256 << 20, /* default of --max-payload: what one payload may need in memory */
    /* Every payload costs a decoder, however small.  No profile with a sample has fewer than
     * FRAMES_TINY bytes, so a stream of more than FRAMES_MAX_TINY such payloads is something else. */
    FRAMES_TINY = 48,
    FRAMES_MAX_TINY = 1 << 16,
};

typedef struct payload {
    str bytes;       /* without its frame and compression */
    uint64_t offset; /* where it begins in the (outermost, decompressed) input */
    uint64_t index;  /* 0, 1, 2 ... */
    payload_kind kind;
    bool packed; /* it was compressed inside its frame: places in it are not places of the input */
    bool cut;    /* JSON that ends before its last bracket */
} payload;

/* Looks at the first bytes; `whole` says that they are all there is. */
framing framing_detect(str head, bool whole);

typedef struct frames {
    framing framing;
    source *from;      /* NULL: the input is in memory */
    const char *p;     /* input[base..base+n) */
    size_t at, n, cap; /* at: the next unread byte; cap: of p when it is ours */
    uint64_t base;     /* input bytes before p */
    uint64_t index;    /* of the next payload */
    size_t max_payload;
    arena *a;          /* takes decompressed payloads */
    uint64_t unpacked; /* bytes that compressed frames became so far: all share one allowance */
    uint64_t empty;    /* empty frames */
    uint64_t zeros;    /* bytes of those behind the last payload */
    unsigned tiny;
    bool started, ended, failed;
    /* Set by the caller: behind a whole payload the rest of a frame that was cut off is the end, and `cut` says so.  Otherwise it is
     * an error. */
    bool salvage;
    bool cut;
    uint64_t cut_at; /* where the frame begins */
} frames;

/* Over memory, which is only viewed.  max_payload 0 means FRAMES_MAX_PAYLOAD; it bounds what a
 * compressed frame may become.  */
frames frames_of(str in, size_t max_payload, arena *a);

/* Over a source, in memory for one payload: p->bytes lives until the next call, decompressed frames
 * until the caller resets `a`. */
frames frames_from(source *from, size_t max_payload, arena *a);

/* The next payload; false at the end or on failure. */
NODISCARD bool frames_next(frames *f, payload *p, err *e);
/* Over memory: is there anything but blanks behind the payload just taken? */
bool frames_more(const frames *f);
static inline bool frames_ok(const frames *f) { return !f->failed; }
void frames_close(frames *f); /* the source stays the caller's */
