#ifndef HOLDFAST_INLET_H
#define HOLDFAST_INLET_H

#include "channel.h"

/* Bytes of stdin that the worker may have under way; the agent gives credit back as the command takes them. */
#define STDIN_WINDOW 262144

/* The writing end of a command's stdin with what it has not yet taken. */
struct inlet {
  int fd, slot;
  uint8_t *bytes;
  size_t start, end;
  uint64_t owed; /* credit not yet given back */
  bool ended;
};

/* Makes pipe and buffer; the command's end is returned, or -1 with errno. */
int inlet_open(struct inlet *inlet);
/* False where the worker sent more than it was allowed. */
bool inlet_take(struct inlet *inlet, const uint8_t *bytes, size_t count);
void inlet_end(struct inlet *inlet);
void inlet_poll(struct inlet *inlet, struct poll_set *set);
void inlet_pump(struct inlet *inlet);
/* Gives back credit once it is worth a frame. */
void inlet_pay(struct inlet *inlet, struct channel *channel, uint32_t id);
void inlet_close(struct inlet *inlet);

#endif
