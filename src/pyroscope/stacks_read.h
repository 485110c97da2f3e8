/* pyroscope/stacks_read.h - the bodies of POST /ingest that contain stacks and counts and that no
 * other tool writes. Pure.
 *
 *   lines   frame;frame;frame                        one observation for each line
 *   trie    node: length, bytes, value, children     the bytes from the root to a node are a stack
 *   tree    node: length, frame, self, children      nodes are frames; the root has no name
 *
 * Numbers of trie and tree are varints, nodes are in pre-order. */
#pragma once
#include "base/err.h"
#include "model/ledger.h"
#include "model/model.h"

typedef enum stacks_form { STACKS_LINES, STACKS_TRIE, STACKS_TREE } stacks_form;

/* Bytes of stacks that one body may expand to, because a few bytes of a trie can repeat a long
 * stack. */
#define STACKS_MAX_WORK ((uint64_t)512 << 20)

/* Reads a body into one profile of this type in `a`. Errors have the offset in `bytes`. */
NODISCARD bool stacks_read(stacks_form form, str bytes, str type, str unit, ledger *l, arena *a,
                           model *out, err *e);
