#ifndef HOLDFAST_AGENT_H
#define HOLDFAST_AGENT_H

#include "command.h"
#include "files.h"

#define WORKSPACE "/workspace"

/* Process 1 of a sandbox: one link, one assignment, a few commands, and the permission to live. */
struct agent {
  struct channel channel;
  struct commands commands;
  struct upload upload;
  int signals, signals_slot;
  bool assigned;
  bool reaps_on; /* there may be dead children that were not reaped yet */
  uint64_t lifetime_until_ms, permission_until_ms, next_pulse_ms;
  const char *end_reason; /* once set, the agent ends */
};

/* Reads what the worker sent and acts on it. */
void agent_receive(struct agent *agent);

#endif
