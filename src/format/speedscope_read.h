/* format/speedscope_read.h - the speedscope reader: state and helpers shared by its source files.
 *
 *   read      the fields of the file, and its valid profiles
 *   frames    shared.frames, converted on first use
 *   section   the fields of one profile; its lists are read last
 *   sampled, evented   convert the lists to pieces
 *   put       builds a Profile of the model from pieces */
#pragma once
#include "format/json_read.h"
#include "format/nest.h"
#include "format/speedscope.h"

/* An entry of shared.frames. */
typedef struct speedscope_slot {
    json_slice text;
    uint32_t location; /* index + 1; 0: not created yet */
} speedscope_slot;

/* A stack (a node of the tree) and its cost. */
typedef struct speedscope_piece {
    uint32_t node;
    int64_t time, value;
} speedscope_piece;

/* One profile of the file; its lists are unparsed text. */
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
    bool rounded;  /* numbers of the current profile were rounded */
    bool timed;    /* the unit of the current profile is a time */
    int64_t until; /* pieces have been emitted up to here */
    uint64_t n_kept, n_refused, n_unclosed, n_pauses;
    json_slice shared, profiles;
    str exporter, name;
    int64_t active; /* -1: absent */
} speedscope_reader;

NODISCARD bool speedscope_text(json *j, speedscope_reader *r, str *out); /* "" for null */

NODISCARD bool speedscope_read_frames(speedscope_reader *r, err *e);
/* Sets *loc to the location of the frame whose index was read last. */
NODISCARD bool speedscope_frame(json *j, speedscope_reader *r, uint32_t *loc);

/* Fills r->pieces. */
NODISCARD bool speedscope_read_section(json *j, speedscope_reader *r, speedscope_section *p);
NODISCARD bool speedscope_read_sampled(speedscope_reader *r, const speedscope_section *p, err *e);
NODISCARD bool speedscope_read_evented(speedscope_reader *r, const speedscope_section *p, err *e);
void speedscope_on_piece(void *self, uint32_t node, uint32_t attr, int64_t at, int64_t length);

void speedscope_put_section(speedscope_reader *r, speedscope_section *p);
