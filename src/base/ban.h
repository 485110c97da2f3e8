/* base/ban.h - forbids functions that ignore a size or an error. Include after system headers. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* They do not know the size of the target; use memcpy with a checked size, or snprintf. */
#pragma GCC poison strcpy strcat sprintf vsprintf gets stpcpy
/* It keeps hidden state between calls; use str views. */
#pragma GCC poison strtok
/* They cannot report an error; use strtoull with an end pointer, or str_to_u64. */
#pragma GCC poison atoi atol atoll atof
