#include "inlet.h"

#include "replies.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int inlet_open(struct inlet *inlet) {
  int ends[2];
  *inlet = (struct inlet){.fd = -1, .slot = -1};
  inlet->bytes = malloc(STDIN_WINDOW);
  if (!inlet->bytes) return -1;
  if (pipe2(ends, O_CLOEXEC) < 0) return -1;
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  inlet->fd = ends[1];
  return ends[0];
}

static void shut(struct inlet *inlet) {
  if (inlet->fd >= 0) close(inlet->fd);
  inlet->fd = -1;
  inlet->owed += inlet->end - inlet->start;
  inlet->start = inlet->end = 0;
}

void inlet_close(struct inlet *inlet) {
  shut(inlet);
  free(inlet->bytes);
  inlet->bytes = NULL;
}

/* What comes after the command closed its stdin is dropped: an early close is no failure. */
bool inlet_take(struct inlet *inlet, const uint8_t *bytes, size_t count) {
  if (inlet->fd < 0) {
    inlet->owed += count;
    return true;
  }
  size_t waiting = inlet->end - inlet->start;
  if (inlet->ended || count > STDIN_WINDOW - waiting) return false;
  if (count > STDIN_WINDOW - inlet->end) {
    memmove(inlet->bytes, inlet->bytes + inlet->start, waiting);
    inlet->start = 0;
    inlet->end = waiting;
  }
  memcpy(inlet->bytes + inlet->end, bytes, count);
  inlet->end += count;
  inlet_pump(inlet);
  return true;
}

void inlet_end(struct inlet *inlet) {
  inlet->ended = true;
  if (inlet->start == inlet->end) shut(inlet);
}

void inlet_poll(struct inlet *inlet, struct poll_set *set) {
  inlet->slot = inlet->start < inlet->end ? poll_add(set, inlet->fd, POLLOUT) : -1;
}

void inlet_pump(struct inlet *inlet) {
  while (inlet->fd >= 0 && inlet->start < inlet->end) {
    ssize_t count = write(inlet->fd, inlet->bytes + inlet->start, inlet->end - inlet->start);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count < 0) {
      shut(inlet);
      return;
    }
    inlet->start += (size_t)count;
    inlet->owed += (size_t)count;
  }
  inlet->start = inlet->end = 0;
  if (inlet->ended) shut(inlet);
}

void inlet_pay(struct inlet *inlet, struct channel *channel, uint32_t id) {
  if (inlet->owed < STDIN_WINDOW / 4 || !channel_has_spare_control(channel)) return;
  char text[64];
  struct json_out json = {text, 0, sizeof text, false};
  reply_stdin_credit(&json, inlet->owed);
  if (channel_control(channel, FRAME_STDIN_CREDIT, id, &json)) inlet->owed = 0;
}
