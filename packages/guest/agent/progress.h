#ifndef HOLDFAST_PROGRESS_H
#define HOLDFAST_PROGRESS_H

#include "outlet.h"

#define PROGRESS_LINE_MAX 1024
#define PROGRESS_LINES_PER_SECOND 10

/* The reading end of a command's descriptor 3: one line is one report; what is too long or too much is counted. */
struct progress {
  struct outlet pipe;
  char line[PROGRESS_LINE_MAX];
  size_t length;
  bool too_long;
  uint64_t second_ms; /* when the current second began */
  int in_second;
  uint64_t dropped;
};

void progress_poll(struct progress *progress, struct poll_set *set);
void progress_pump(struct progress *progress, struct channel *channel, uint32_t id, uint64_t now_ms);
/* Sends a last line that has no newline. */
void progress_finish(struct progress *progress, struct channel *channel, uint32_t id, uint64_t now_ms);

#endif
