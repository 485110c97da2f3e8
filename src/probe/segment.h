/* probe/segment.h - the memory that `kiln run` shares with the processes that it profiles.
 *
 *   head | process slots: one per process | rings of samples: slot i uses ring i % SEGMENT_RINGS
 *
 * `kiln run` creates the file (segment_create).  The probe in each process maps it
 * (segment_attach), takes a process slot and writes its samples to the ring of the slot.  A
 * collector in `kiln run` reads them.  A process needs no thread and no file of its own, and its
 * samples survive when it exits, execs, changes its root directory or is killed.
 *
 *     process slot   FREE ─ proc_slot_take ─► TAKEN ─ proc_slot_leave ─► LEFT ─ the collector has read it ─► FREE
 *                                               └ the process has ended ─────────────────────────────────┘
 *
 * A faulty or hostile process may write anything here, so the collector checks every length and
 * index. */
#pragma once
#include "agent/signal/handler.h"
#include "base/err.h"
#include "base/str.h"

enum {
    SEGMENT_VERSION = 1,
    SEGMENT_PROC_SLOTS = 1024,
    SEGMENT_RINGS = 16,
    SEGMENT_FRAMES_MAX = 1024,
    PROC_SLOT_BYTES = 16 << 10,
    PROC_SLOT_MESSAGES = 4,
    PROC_SLOT_MESSAGE_BYTES = 240,
    RING_CELLS = 512,
};

#define SEGMENT_VARIABLE "KILN_SEGMENT"

typedef enum proc_slot_state { PROC_SLOT_FREE, PROC_SLOT_TAKEN, PROC_SLOT_LEFT } proc_slot_state;

/* An executable mapping of a file, followed by its path and its build id. */
typedef struct map_record {
    uint64_t start, end, offset;
    uint16_t n_path, n_id;
    uint32_t pad;
} map_record;

typedef struct proc_slot {
    _Atomic uint64_t word;        /* state, generation, process: see proc_slot_word */
    _Atomic uint32_t ready;       /* generation for which the fields below are complete */
    uint32_t parent;              /* process that forked this one; 0: started by exec */
    uint64_t pid_namespace;       /* inode of its pid namespace; the ids in it differ from kiln's */
    uint64_t time;                /* Unix ns of its start */
    uint64_t cpu_begin;           /* CPU time of the process when the probe began */
    uint64_t thread_begin;        /* CPU time of its first thread when the probe began */
    _Atomic uint64_t cpu_end;     /* CPU time of the process in its exit notice; 0: not sent */
    _Atomic uint64_t period;      /* ns between CPU samples */
    _Atomic uint64_t unsampled;   /* CPU time of threads that ended without a sample */
    _Atomic uint32_t n_unsampled; /* number of these threads */
    _Atomic uint32_t events;      /* CPU samples come from perf events */
    _Atomic uint64_t threads_lost, maps_lost, heap_lost;
    _Atomic uint64_t heap_samples, heap_stacks_lost, heap_live_lost, heap_interval;
    own_calls own;   /* address range of the probe's interposed functions */
    span_place span; /* location of the span contexts of its threads */
    handler_counts counts;
    _Atomic uint32_t n_messages; /* number of messages; the last one may be incomplete */
    _Atomic uint32_t message_ready[PROC_SLOT_MESSAGES];
    char messages[PROC_SLOT_MESSAGES][PROC_SLOT_MESSAGE_BYTES];
    char program[512];       /* path of the executable, terminated */
    _Atomic uint32_t n_maps; /* bytes of map_records in `maps`, each aligned to 8 */
    _Alignas(8) char maps[];
} proc_slot;

enum { PROC_SLOT_MAPS = PROC_SLOT_BYTES - sizeof(proc_slot) };

typedef struct segment_head {
    uint32_t version, bytes;
    /* the user's settings */
    uint32_t cpu_hz, max_frames;
    uint32_t source;            /* cpu_source */
    uint32_t heap, follow_fork; /* bool */
    uint64_t heap_bytes;
    char filters[32];   /* kiln's own seccomp filters, in the format of seccomp_open */
    uint32_t collector; /* process of the collector, which may read the memory of the others */
    char exclude[256];
    _Alignas(64) _Atomic uint32_t wake; /* futex: wakes the collector at a half-full ring */
    _Atomic uint32_t stopped;           /* the collector has ended: the rings have no reader */
    _Atomic uint64_t no_slot;           /* processes that found no free slot */
    _Atomic uint32_t arrivals;          /* number of slots taken so far */
    _Alignas(64) ring_ends ends[SEGMENT_RINGS];
} segment_head;

typedef struct segment {
    segment_head *head; /* start of the mapping; NULL: not mapped */
    char *proc_slots, *rings;
    size_t bytes, cell_bytes;
} segment;

static inline proc_slot *segment_proc_slot(const segment *s, uint32_t i)
{
    return (proc_slot *)(void *)(s->proc_slots + (size_t)i * PROC_SLOT_BYTES);
}

static inline ring segment_ring(const segment *s, uint32_t i)
{
    return (ring){.cells = s->rings + (size_t)i * RING_CELLS * s->cell_bytes,
                  .cell_bytes = s->cell_bytes,
                  .n = RING_CELLS,
                  .ends = &s->head->ends[i]};
}

static inline uint64_t proc_slot_word(proc_slot_state s, uint32_t generation, uint32_t pid)
{
    return (uint64_t)s << 62 | (uint64_t)(generation & 0x3fffffff) << 32 | pid;
}
static inline proc_slot_state proc_slot_state_of(uint64_t word)
{
    return (proc_slot_state)(word >> 62);
}
static inline uint32_t proc_slot_generation(uint64_t word)
{
    return (uint32_t)(word >> 32) & 0x3fffffff;
}
static inline uint32_t proc_slot_pid(uint64_t word) { return (uint32_t)word; }

/* Turns an empty file into a mapped segment with the settings in `head`. */
NODISCARD bool segment_create(segment *s, int fd, const segment_head *head, err *e);
/* Maps an existing segment.  Returns false when it does not exist or has another version. */
NODISCARD bool segment_attach(segment *s, const char *path, err *e);
void segment_close(segment *s);

/* Takes a process slot for process `pid`, with zeroed fields.  Returns its number; UINT32_MAX when
 * none is free (counted).  Async-signal-safe. */
uint32_t proc_slot_take(const segment *s, uint32_t pid);
/* Called when the process has written its last record.  It may take the slot again after a failed
 * exec (proc_slot_return).  Does nothing when another process already owns the slot. */
void proc_slot_leave(proc_slot *d, uint64_t word);
/* Returns false when the collector has already freed the slot. */
NODISCARD bool proc_slot_return(proc_slot *d, uint64_t word);
/* Collector: frees the slot. */
void proc_slot_free(const segment *s, uint32_t i);

/* Appends a record.  Returns false when there is no space (counted). */
bool proc_slot_put_map(proc_slot *d, const map_record *m, const char *path, const uint8_t *id);
/* Reads the record at *at and advances *at.  Returns false at the end and for invalid data. */
bool proc_slot_next_map(const proc_slot *d, uint32_t *at, map_record *m, str *path, str *id);

void proc_slot_warn(proc_slot *d, const char *text);
