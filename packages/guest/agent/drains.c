#include "drains.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void drop(struct drains *drains, int index) {
  close(drains->fds[index]);
  drains->count--;
  size_t behind = (size_t)(drains->count - index);
  memmove(drains->fds + index, drains->fds + index + 1, behind * sizeof *drains->fds);
  memmove(drains->slots + index, drains->slots + index + 1, behind * sizeof *drains->slots);
}

void drains_add(struct drains *drains, int fd) {
  if (fd < 0) return;
  if (drains->count == DRAINS_MAX) drop(drains, 0);
  drains->slots[drains->count] = -1;
  drains->fds[drains->count++] = fd;
}

void drains_poll(struct drains *drains, struct poll_set *set) {
  for (int i = 0; i < drains->count; i++) drains->slots[i] = poll_add(set, drains->fds[i], POLLIN);
}

void drains_pump(struct drains *drains, const struct poll_set *set) {
  char bytes[16384];
  for (int i = drains->count - 1; i >= 0; i--) {
    if (!poll_ready(set, drains->slots[i])) continue;
    ssize_t count = read(drains->fds[i], bytes, sizeof bytes);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) drop(drains, i);
  }
}
