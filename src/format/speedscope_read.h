/* format/speedscope_read.h - the parts of the reader of speedscope's JSON.
 *
 *   read      the file: its fields, and which of its profiles stay
 *   frames    shared.frames, made when somebody asks for them
 *   section   one profile's fields, until its lists can be read
 *   sampled, evented   those lists become pieces
 *   put       pieces become a Profile of the model */
#pragma once
#include "format/json_read.h"
#include "format/nest.h"
#include "format/speedscope.h"

/* One of shared.frames. */
typedef struct speedscope_slot {
    json_slice text;
    uint32_t location; /* + 1; 0: nobody asked yet */
} speedscope_slot;

/* A stack (a node of the tree) and what it cost. */
typedef struct speedscope_piece {
    uint32_t node;
    int64_t time, value;
} speedscope_piece;

/* One profile of the file, its lists still text. */
typedef struct speedscope_section {
    json_slice samples, weights, events;
    const speedscope_unit *unit;
    bool evented, typed;
    int scale; /* values are multiplied by 10^scale */
    str name;
    int64_t start, end;
} speedscope_section;

typedef struct speedscope_reader {
    builder b;
    arena *work;
    nest_tree tree;
    nest open;
    VEC(speedscope_slot) frames;
    VEC(speedscope_piece) pieces;
    const read_opts *o;
    ledger *l;
    bool rounded;  /* in the profile at hand ... */
    bool timed;    /* ... whose unit is one of time */
    int64_t until; /* pieces are out up to here */
    uint64_t n_kept, n_refused, n_unclosed, n_pauses;
    json_slice shared, profiles;
    str exporter, name;
    int64_t active; /* -1: not said */
} speedscope_reader;

bool speedscope_spent(err *e);                                           /* always false */
NODISCARD bool speedscope_text(json *j, speedscope_reader *r, str *out); /* null: "" */

NODISCARD bool speedscope_read_frames(speedscope_reader *r, err *e);
/* The number that was just taken is the index of a frame. */
NODISCARD bool speedscope_frame(json *j, speedscope_reader *r, uint32_t *loc);

/* Fills r->pieces. */
NODISCARD bool speedscope_read_section(json *j, speedscope_reader *r, speedscope_section *p);
NODISCARD bool speedscope_read_sampled(speedscope_reader *r, const speedscope_section *p, err *e);
NODISCARD bool speedscope_read_evented(speedscope_reader *r, const speedscope_section *p, err *e);
void speedscope_on_piece(void *self, uint32_t node, uint32_t attr, int64_t at, int64_t length);

void speedscope_put_section(speedscope_reader *r, speedscope_section *p);
