/* record/space.h - one recorded process: its mappings, threads, unwind rules, and the samples that
 * are not delivered yet.
 *
 * Times are Unix time in ns. */
#pragma once
#include "agent/config.h"
#include "agent/images.h"
#include "agent/profiles.h"
#include "agent/resource.h"
#include "collect/published.h"
#include "collect/tables.h"
#include "ctx/tls.h"

enum { SPACE_NAME = 64, RULED_MAX = 64 };

/* space.begins of a process that has not called exec yet. */
#define SPACE_NOT_YET UINT64_MAX

typedef struct space_thread {
    agent_thread about;
    uint64_t owed; /* CPU time for its next sample to represent */
    uint64_t held; /* bpf_event.on_ns at its latest event with the span of its last CPU sample */
    bool holds;    /* its latest event had that span */
    size_t last;   /* index + 1 of its last CPU sample in the batch; 0: none */
    uint32_t last_stack; /* stack of its last wait in the batch + 1; 0: none */
    uint64_t ended_at;   /* 0: it runs */
    bool named;
    const uintptr_t *initial; /* frames at which it waited when the recording began; NULL: none */
    uint32_t n_initial;
    unwind_end initial_end;
} space_thread;

typedef struct space {
    uint32_t pid;
    uint32_t inner_pid; /* in its own pid namespace */
    uint32_t parent;    /* process that forked it; 0: not known */
    uint64_t seen_at;   /* time of its first record */
    uint64_t maps_at;   /* time of the last reading of /proc/PID/maps; 0: never */
    uint64_t mapped_at; /* time of its birth or exec: its first mappings hold since then */
    uint32_t changes;   /* of its mappings */
    uint64_t ended_at;  /* 0: it runs */
    uint64_t begins;    /* observations before this time are of kiln's own code, before its exec */
    bool leaving;       /* its first thread has ended */
    bool opened;        /* its resource was read */
    bool kernel_thread;
    bool active;           /* observed since the last reading of its mappings */
    uint64_t refreshed_at; /* time of the last check of its process context for new names */
    uint64_t put_at;       /* when they were published there */
    bool published_in_bpf; /* BPF programs have its current mappings */
    int root;              /* descriptor of its root directory; -1: the same as kiln's */
    arena mem;             /* holds the texts and the threads */
    images images;
    unwind_snapshot *rules; /* NULL: not built */
    struct space **ruled;   /* its entry in space_world.ruled; NULL: none */
    uint32_t rules_of;      /* `changes` when `rules` was built */
    VEC(space_thread) threads;
    hash_index by_tid;
    uint64_t thread_ended_at; /* the latest end of a thread */
    uint32_t next_index;
    batch *batch;
    uint64_t start; /* of the batch */
    published published;
    tls_variables variables; /* of the thread context */
    resource_facts facts;
    agent_config config; /* service_name and resource of its environment */
} space;

/* State that all processes share. */
typedef struct space_world {
    table_files *files;
    resource_facts facts;       /* of the machine */
    const agent_config *config; /* defaults for programs without a name of their own */
    uint64_t now;               /* Unix ns */
    /* The processes that have rules, in a ring: rules take 100 KiB each, and a busy machine starts
     * thousands of processes. */
    space *ruled[RULED_MAX];
    size_t next_ruled;
    uint64_t mappings_lost; /* forgotten while samples may refer to them, or never stored */
} space_world;

NODISCARD space *space_open(uint32_t pid, uint64_t time);
void space_close(space *s);

/* Reads the resource of the process from /proc, once: program, environment, container, root. */
void space_describe(space *s, space_world *w);

/* Reads /proc/PID/maps, unless that was done within a short time.  Returns whether mappings
 * changed. */
bool space_read_maps(space *s, space_world *w);
/* Copies the mappings of the process that forked this one. */
void space_inherit(space *s, const space *parent);
/* Adds a mapping that the kernel reported.  Returns false when the list is full. */
NODISCARD bool space_map(space *s, const image *m);
/* Forgets the mappings that ended before this time, and returns their number. */
size_t space_forget_maps(space *s, uint64_t time);
/* Called when the process runs another program. */
void space_exec(space *s, uint64_t time);

/* Returns the thread, added if necessary; NULL when out of memory.  Adding one invalidates pointers
 * to others. */
space_thread *space_thread_of(space *s, uint32_t tid);
void space_name_thread(space *s, uint32_t tid, str name);
/* Notes that the thread has ended; samples of it may follow. */
void space_mark_thread(space *s, uint32_t tid, uint64_t time);
void space_end_thread(space *s, uint32_t tid, uint64_t time);

/* Writes the path of its root directory, which stays valid after its end if it is a container's. */
const char *space_root(const space *s, char out[64]);

/* Returns the unwind rules of its current mappings; NULL when out of memory. */
unwind_snapshot *space_rules(space *s, space_world *w);

/* Walks a copied stack from the registers in `from`.  Reads mappings and files when needed. */
unwind_result space_walk(space *s, space_world *w, uint64_t time, const unwind_regs *from,
                         unsigned known, const stack_copy *copy, uintptr_t *pcs, size_t max);

/* Returns the batch, opened if necessary; NULL when out of memory. */
batch *space_batch(space *s, uint64_t time);

/* Builds the profiles of the batch as a model in `a`, and starts the next batch.  Sets *found to
 * whether there were samples. `in` has the fields that do not depend on the process. */
NODISCARD bool space_profiles(space *s, space_world *w, profiles_in *in, arena *a, model *out,
                              bool *found, err *e);
/* Empties the batch. */
void space_flushed(space *s, uint64_t time);
/* Frees the unwind rules; the next walk builds them again. */
void space_drop_rules(space *s);

typedef enum space_look { SPACE_NOT_DUE, SPACE_NOTHING, SPACE_FOUND } space_look;

/* Looks for a process context that the program has published meanwhile: soon after its exec, then
 * at growing intervals up to a limit, and only if it was observed since the last time. */
space_look space_follow(space *s, space_world *w);
/* Reads the process context again if one of the attributes (entries {u8 key, u8 length, text}) has
 * no name. */
void space_need_names(space *s, space_world *w, const uint8_t *attrs, size_t n);
