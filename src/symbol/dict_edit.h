/* symbol/dict_edit.h - adds to the dictionary of a model that is already there.
 *
 * The tables move into the arena first (a decoded table may lie elsewhere) and then grow; what is
 * there keeps its index, what is added is kept once. */
#pragma once
#include "base/hash.h"
#include "model/model.h"

typedef struct dict_edit {
    dict *d;
    arena *a;
    hash_index strings, functions, attributes;
    bool failed; /* the budget was reached */
} dict_edit;

NODISCARD bool dict_edit_begin(dict_edit *x, dict *d, arena *a);

/* Positions; 0 for the zero value and when out of memory.  A string that is new is copied; what is
 * no UTF-8 becomes U+FFFD, since OTLP has only text. */
uint32_t dict_edit_string(dict_edit *x, str s);
uint32_t dict_edit_function(dict_edit *x, const function *f);
uint32_t dict_edit_attribute_str(dict_edit *x, str key, str value);
uint32_t dict_edit_attribute_bool(dict_edit *x, str key, bool value);

/* Replaces the lines of a location, the attributes of a mapping. */
void dict_edit_lines(dict_edit *x, uint32_t at, const line *v, size_t n);
void dict_edit_mapping_attrs(dict_edit *x, uint32_t at, const uint32_t *v, size_t n);
/* Takes the attribute of this key from a location. */
void dict_edit_location_without(dict_edit *x, uint32_t at, str key);
