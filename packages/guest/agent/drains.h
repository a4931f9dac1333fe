#ifndef HOLDFAST_DRAINS_H
#define HOLDFAST_DRAINS_H

#include "poll_set.h"

#define DRAINS_MAX 32

/* Pipes that processes left behind still hold: what they write is read and dropped, so that it does not kill them. */
struct drains {
  int fds[DRAINS_MAX], slots[DRAINS_MAX];
  int count;
};

/* Takes over `fd`; where there are too many, the oldest is closed. */
void drains_add(struct drains *drains, int fd);
void drains_poll(struct drains *drains, struct poll_set *set);
void drains_pump(struct drains *drains, const struct poll_set *set);

#endif
