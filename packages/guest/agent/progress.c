#include "progress.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void progress_poll(struct progress *progress, struct poll_set *set) {
  progress->pipe.slot = progress->pipe.left > 0 ? poll_add(set, progress->pipe.fd, POLLIN) : -1;
}

static bool within_rate(struct progress *progress, uint64_t now_ms) {
  if (now_ms - progress->second_ms >= 1000) {
    progress->second_ms = now_ms;
    progress->in_second = 0;
  }
  return progress->in_second++ < PROGRESS_LINES_PER_SECOND;
}

static void send_line(struct progress *progress, struct channel *channel, uint32_t id, uint64_t now_ms) {
  size_t length = progress->length;
  bool empty = length == 0 && !progress->too_long;
  bool sent = !empty && !progress->too_long && within_rate(progress, now_ms) && channel_has_spare_control(channel) &&
              channel_control_bytes(channel, FRAME_PROGRESS, id, progress->line, length);
  if (!sent && !empty) progress->dropped++;
  progress->length = 0;
  progress->too_long = false;
}

static void take(struct progress *progress, const char *bytes, size_t count) {
  if (progress->too_long || count > PROGRESS_LINE_MAX - progress->length) {
    progress->too_long = true;
    return;
  }
  memcpy(progress->line + progress->length, bytes, count);
  progress->length += count;
}

void progress_pump(struct progress *progress, struct channel *channel, uint32_t id, uint64_t now_ms) {
  char bytes[16384];
  struct outlet *pipe = &progress->pipe;
  size_t want = pipe->left < sizeof bytes ? (size_t)pipe->left : sizeof bytes;
  ssize_t count = read(pipe->fd, bytes, want);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
    if (pipe->left != UINT64_MAX) pipe->left = 0;
    return;
  }
  if (count <= 0) {
    close(pipe->fd);
    pipe->fd = -1;
    return;
  }
  if (pipe->left != UINT64_MAX) pipe->left -= (uint64_t)count;
  for (const char *at = bytes, *end = bytes + count; at < end;) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    take(progress, at, (size_t)((newline ? newline : end) - at));
    if (!newline) return;
    send_line(progress, channel, id, now_ms);
    at = newline + 1;
  }
}

void progress_finish(struct progress *progress, struct channel *channel, uint32_t id, uint64_t now_ms) {
  send_line(progress, channel, id, now_ms);
}
