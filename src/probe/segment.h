/* probe/segment.h - the memory that `kiln run` shares with the processes it profiles.
 *
 *   head | desks: one for each process | rings: samples; a ring serves the desks of the same number modulo SEGMENT_RINGS
 *
 * `kiln run` makes the file (segment_create).  The probe in each process maps it (segment_attach), takes a desk and writes
 * its samples to the ring of that desk; a collector in `kiln run` reads them.  So a process needs no thread and no file
 * of its own, and what it wrote is there whether it exits, execs, changes its root or is killed.
 *
 *     desk   FREE ─ desk_take (process) ─► TAKEN ─ desk_leave ─► LEFT ─ the collector has read it ─► FREE
 *                                            └ the process is gone ────────────────────────────────┘
 *
 * Everything here may be written by a process that is broken or hostile: the collector believes no length and no index. */
#pragma once
#include "agent/signal/handler.h"
#include "base/err.h"
#include "base/str.h"

enum {
    SEGMENT_VERSION = 1,
    SEGMENT_DESKS = 1024,
    SEGMENT_RINGS = 16,
    SEGMENT_FRAMES_MAX = 1024,
    DESK_BYTES = 16 << 10,
    DESK_SENTENCES = 4,
    DESK_SENTENCE = 240,
    RING_CELLS = 512,
};

#define SEGMENT_VARIABLE "KILN_SEGMENT"

typedef enum desk_state { DESK_FREE, DESK_TAKEN, DESK_LEFT } desk_state;

/* An executable mapping of a file; its path and its build id follow. */
typedef struct map_record {
    uint64_t start, end, offset;
    uint16_t n_path, n_id;
    uint32_t pad;
} map_record;

typedef struct desk {
    _Atomic uint64_t word;  /* state, generation, process: see desk_word */
    _Atomic uint32_t ready; /* the generation whose fields below are whole */
    uint32_t parent;        /* process that forked this one; 0: it came by an exec */
    uint64_t
        numbers;   /* inode of its pid namespace: another one than kiln's has numbers of its own */
    uint64_t time; /* Unix ns of its start */
    uint64_t cpu_begin;           /* CPU time of the process when the probe began */
    uint64_t thread_begin;        /* CPU time of its first thread then */
    _Atomic uint64_t cpu_end;     /* CPU time of the process when it left; 0: it has not said so */
    _Atomic uint64_t period;      /* ns between CPU samples */
    _Atomic uint64_t unsampled;   /* CPU time of threads that ended without a sample */
    _Atomic uint32_t n_unsampled; /* threads */
    _Atomic uint32_t events;      /* CPU samples come from perf events */
    _Atomic uint64_t threads_lost, maps_lost, heap_lost;
    _Atomic uint64_t heap_samples, heap_stacks_lost, heap_live_lost, heap_interval;
    own_calls own;   /* functions of the probe's that stand in front of libc's */
    span_place span; /* where its threads have their span context */
    handler_counts counts;
    _Atomic uint32_t n_said; /* sentences taken, the last of which may be unfinished */
    _Atomic uint32_t is_said[DESK_SENTENCES];
    char said[DESK_SENTENCES][DESK_SENTENCE];
    char program[512];       /* path of the executable, terminated */
    _Atomic uint32_t n_maps; /* bytes of map_records in `maps`, each aligned to 8 */
    _Alignas(8) char maps[];
} desk;

enum { DESK_MAPS = DESK_BYTES - sizeof(desk) };

typedef struct segment_head {
    uint32_t version, bytes;
    /* What the user asked for. */
    uint32_t cpu_hz, max_frames;
    uint32_t source;            /* cpu_source */
    uint32_t heap, follow_fork; /* bool */
    uint64_t heap_bytes;
    char filters[32];   /* kiln's own filters of system calls, as agent/filters.h takes them */
    uint32_t collector; /* process, which may read the memory of the others */
    char exclude[256];
    _Alignas(64) _Atomic uint32_t wake; /* a ring is half full: a futex of the collector's */
    _Atomic uint32_t stopped;           /* the collector is gone: nobody reads any more */
    _Atomic uint64_t no_desk;           /* processes that found no desk */
    _Atomic uint32_t arrivals;          /* processes that have sat down */
    _Alignas(64) ring_ends ends[SEGMENT_RINGS];
} segment_head;

typedef struct segment {
    segment_head *head; /* first page on; NULL: not mapped */
    char *desks, *rings;
    size_t bytes, cell_bytes;
} segment;

static inline desk *segment_desk(const segment *s, uint32_t i)
{
    return (desk *)(void *)(s->desks + (size_t)i * DESK_BYTES);
}

static inline ring segment_ring(const segment *s, uint32_t i)
{
    return (ring){.cells = s->rings + (size_t)i * RING_CELLS * s->cell_bytes,
                  .cell_bytes = s->cell_bytes,
                  .n = RING_CELLS,
                  .ends = &s->head->ends[i]};
}

static inline uint64_t desk_word(desk_state s, uint32_t generation, uint32_t pid)
{
    return (uint64_t)s << 62 | (uint64_t)(generation & 0x3fffffff) << 32 | pid;
}
static inline desk_state desk_state_of(uint64_t word) { return (desk_state)(word >> 62); }
static inline uint32_t desk_generation(uint64_t word)
{
    return (uint32_t)(word >> 32) & 0x3fffffff;
}
static inline uint32_t desk_pid(uint64_t word) { return (uint32_t)word; }

/* Makes a segment of an empty file, mapped.  `head` has the wishes; the rest of it is filled in. */
NODISCARD bool segment_create(segment *s, int fd, const segment_head *head, err *e);
/* Maps a segment that somebody made.  false: it is not there, or of another version. */
NODISCARD bool segment_attach(segment *s, const char *path, err *e);
void segment_close(segment *s);

/* A desk for process `pid`, its fields zero; UINT32_MAX: all are taken (counted).  Async-signal-safe. */
uint32_t desk_take(const segment *s, uint32_t pid);
/* The process has written its last record; it may return when an exec fails.  Does nothing when another process has the desk by now. */
void desk_leave(desk *d, uint64_t word);
/* false: the collector has taken it away. */
NODISCARD bool desk_return(desk *d, uint64_t word);
/* Collector: nothing of it is needed any more. */
void desk_free(const segment *s, uint32_t i);

/* Appends a record; false: there is no room (counted). */
bool desk_put_map(desk *d, const map_record *m, const char *path, const uint8_t *id);
/* The record at *at, which moves on; false: the end, or nonsense. */
bool desk_next_map(const desk *d, uint32_t *at, map_record *m, str *path, str *id);

void desk_say(desk *d, const char *sentence);
