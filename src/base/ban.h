/* base/ban.h - calls that lose a bound or an error.  Include last, after the system headers. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No length of the target: use memcpy with a checked size, or snprintf. */
#pragma GCC poison strcpy strcat sprintf vsprintf gets stpcpy
/* Hidden state between calls: use str views. */
#pragma GCC poison strtok
/* Cannot report an error: use strtoull with an end pointer, or str_to_u64. */
#pragma GCC poison atoi atol atoll atof
