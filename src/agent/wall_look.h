/* agent/wall_look.h - a round as its parts share it: wall_look.c takes the stacks of threads that wait and finds out
 * who has to be asked, wall.c asks and writes. */
#pragma once
#include "agent/blocked.h"
#include "agent/wall.h"

typedef enum seat_how {
    SEAT_EMPTY,   /* ended, ours, or left out */
    SEAT_AT_REST, /* its stack is known */
    SEAT_WALKED,  /* waits: its stack was taken without a signal */
    SEAT_BLOCKED, /* blocks the signal, and runs or cannot be read */
    SEAT_STUCK,   /* has not answered an earlier round, is stopped, or changes all the time */
    SEAT_ASK,
    SEAT_ASKED, /* its slot is armed */
    SEAT_ANSWERED,
} seat_how;

/* One thread in one round. */
typedef struct seat {
    thread_record *t;
    uint64_t time, cpu;
    uint32_t stack, link, attrs; /* of the book; stack is NO_THREAD: none */
    uint32_t slot;
    seat_how how;
    char state;
    char wchan[TASK_WCHAN];
} seat;

enum { WALL_LEFT = 32 };

struct wall {
    wall_opts o;
    batch *book;
    batch
        *left[WALL_LEFT]; /* books of forked parents; pointed to, or a sanitizer calls them leaks */
    unsigned n_left;
    uint32_t book_number;
    uint32_t round;
    uint64_t time; /* of the round */
    uint64_t tick; /* rounds that were due so far */
    memory self;   /* of this process, by the kernel: what is not there does not fault */
    void *copy;    /* of a stack, BLOCKED_COPY */
    raw_sample *raw;
    uint32_t *tids;
    seat *seats;
    size_t n;
    uint32_t next_slot, slots_used;
    uint32_t target; /* answers there will be in all, if everybody who was not given up answers */
};

/* Fills seats[]: who is there, in order of tid, and what is to be done about it.  false: /proc could not be
 * read. */
NODISCARD bool wall_look(wall *w, capture_counts *n);

/* Counts how a stack ended and puts it and its context into the book, for the seat and for later rounds.  There is no
 * stack when the book is full. */
void wall_enter(wall *w, const raw_sample *raw, seat *s, capture_counts *n);
