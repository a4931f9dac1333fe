#ifndef HOLDFAST_POLL_SET_H
#define HOLDFAST_POLL_SET_H

#include <poll.h>
#include <stdbool.h>

/* Signals, the channel's two ends, five descriptors for each command, and drains. */
#define POLL_MAX 96

struct poll_set {
  struct pollfd fds[POLL_MAX];
  int count;
};

/* Returns the slot to ask after the poll, or -1 where `fd` is not open. */
static inline int poll_add(struct poll_set *set, int fd, short events) {
  if (fd < 0 || set->count == POLL_MAX) return -1;
  set->fds[set->count] = (struct pollfd){fd, events, 0};
  return set->count++;
}

static inline bool poll_ready(const struct poll_set *set, int slot) {
  return slot >= 0 && set->fds[slot].revents != 0;
}

#endif
