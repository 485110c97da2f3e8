/* symbol/dict_edit.h - adds entries to the dictionary of an existing model.
 *
 * The tables move into the arena first (a decoded table may be elsewhere) and then grow. Existing
 * entries keep their index; equal new entries are stored once. */
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

/* Return positions; 0 for the zero value and when memory runs out. A new string is copied; bytes
 * that are not UTF-8 become U+FFFD, since OTLP strings must be UTF-8. */
uint32_t dict_edit_string(dict_edit *x, str s);
uint32_t dict_edit_function(dict_edit *x, const function *f);
uint32_t dict_edit_attribute_str(dict_edit *x, str key, str value);
uint32_t dict_edit_attribute_bool(dict_edit *x, str key, bool value);

/* Replace the lines of a location, or the attributes of a mapping. */
void dict_edit_lines(dict_edit *x, uint32_t at, const line *v, size_t n);
void dict_edit_mapping_attrs(dict_edit *x, uint32_t at, const uint32_t *v, size_t n);
/* Removes the attribute of this key from a location. */
void dict_edit_location_without(dict_edit *x, uint32_t at, str key);
