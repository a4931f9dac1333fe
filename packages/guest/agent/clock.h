#ifndef HOLDFAST_CLOCK_H
#define HOLDFAST_CLOCK_H

#include <stdint.h>

/* Milliseconds of boot time: it runs on while the host is suspended, so no deadline is stretched by that. */
uint64_t boot_ms(void);

#endif
