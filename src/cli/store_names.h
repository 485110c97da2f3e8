/* cli/store_names.h - `kiln store symbolize`. */
#pragma once
#include "cli/cli.h"
#include "store/store.h"

/* Looks up the addresses of what is selected and keeps what they are called.  A server may be writing the store. */
NODISCARD bool store_symbolize(cli *c, store *s, const store_selector *q, arena *a, err *e);
