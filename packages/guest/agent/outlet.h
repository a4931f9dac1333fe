#ifndef HOLDFAST_OUTLET_H
#define HOLDFAST_OUTLET_H

#include "channel.h"

/* The reading end of a command's stdout or stderr. */
struct outlet {
  int fd, slot;
  uint8_t type;
  uint64_t bytes;
  /* What may still be read: without limit while the command runs. */
  uint64_t left;
};

/* Makes the pipe; the command's end is returned, or -1 with errno. */
int outlet_open(struct outlet *outlet, uint8_t type);
void outlet_poll(struct outlet *outlet, struct channel *channel, uint64_t credit, struct poll_set *set);
/* Reads once into the channel, `*credit` at most. */
void outlet_pump(struct outlet *outlet, struct channel *channel, uint32_t id, uint64_t *credit);
/* From now on only what lies in the pipe at this moment is read. */
void outlet_limit(struct outlet *outlet);
bool outlet_done(const struct outlet *outlet);

#endif
