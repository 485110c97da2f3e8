/* cli/store_names.h - `kiln store symbolize`. */
#pragma once
#include "cli/cli.h"
#include "store/store.h"

/* Looks up the addresses of the selected samples and stores their names.  Works while a server uses
 * the store. */
NODISCARD bool store_symbolize(cli *c, store_reader *r, const store_selector *q, arena *a, err *e);
