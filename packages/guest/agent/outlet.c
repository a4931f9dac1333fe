#include "outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define READ_MAX 131072
/* Fewer switches between command and agent under a flood; refused silently where the user's share is used up. */
#define PIPE_BYTES 262144

int outlet_open(struct outlet *outlet, uint8_t type) {
  int ends[2];
  *outlet = (struct outlet){.fd = -1, .slot = -1, .type = type, .left = UINT64_MAX};
  if (pipe2(ends, O_CLOEXEC) < 0) return -1;
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
  outlet->fd = ends[0];
  return ends[1];
}

void outlet_poll(struct outlet *outlet, struct channel *channel, uint64_t credit, struct poll_set *set) {
  size_t room;
  channel_data_room(channel, &room);
  bool wanted = room > 0 && credit > 0 && outlet->left > 0;
  outlet->slot = wanted ? poll_add(set, outlet->fd, POLLIN) : -1;
}

static void shut(struct outlet *outlet) {
  close(outlet->fd);
  outlet->fd = -1;
}

void outlet_pump(struct outlet *outlet, struct channel *channel, uint32_t id, uint64_t *credit) {
  size_t want;
  uint8_t *to = channel_data_room(channel, &want);
  if (want > READ_MAX) want = READ_MAX;
  if (want > *credit) want = *credit;
  if (want > outlet->left) want = outlet->left;
  if (want == 0) return;
  ssize_t count = read(outlet->fd, to, want);
  if (count > 0) {
    channel_data_commit(channel, outlet->type, id, (size_t)count);
    outlet->bytes += (uint64_t)count;
    *credit -= (uint64_t)count;
    if (outlet->left != UINT64_MAX) outlet->left -= (uint64_t)count;
  } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
    shut(outlet);
  } else if (outlet->left != UINT64_MAX) {
    outlet->left = 0;
  }
}

void outlet_limit(struct outlet *outlet) {
  int lying = 0;
  if (outlet->fd < 0) return;
  if (ioctl(outlet->fd, FIONREAD, &lying) < 0) lying = 0;
  outlet->left = (uint64_t)lying;
}

bool outlet_done(const struct outlet *outlet) {
  return outlet->fd < 0 || outlet->left == 0;
}
