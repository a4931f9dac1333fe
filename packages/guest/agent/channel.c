#include "channel.h"

#include "clock.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A hello may fill a whole frame; the rest is for some hundred small frames. */
#define CONTROL_CAPACITY (FRAME_PAYLOAD_MAX + 65536)
#define CONTROL_SPARE 32768
#define DATA_ROOM_MIN (DATA_CAPACITY / 4)

static uint8_t control_bytes[CONTROL_CAPACITY];
static uint8_t data_bytes[DATA_CAPACITY];

void channel_open(struct channel *channel, int in, int out) {
  channel->in = in;
  channel->out = out;
  channel->control = (struct frame_queue){.bytes = control_bytes, .capacity = CONTROL_CAPACITY};
  channel->data = (struct frame_queue){.bytes = data_bytes, .capacity = DATA_CAPACITY};
  memcpy(control_bytes, PREAMBLE, sizeof PREAMBLE - 1);
  channel->control.end = channel->control.left = sizeof PREAMBLE - 1;
}

static size_t used(const struct frame_queue *queue) {
  return queue->end - queue->start;
}

static void compact(struct frame_queue *queue) {
  memmove(queue->bytes, queue->bytes + queue->start, used(queue));
  queue->end -= queue->start;
  queue->start = 0;
}

static bool append(struct frame_queue *queue, uint8_t type, uint32_t id, const void *bytes, size_t count) {
  size_t need = FRAME_HEADER + count;
  if (queue->capacity - used(queue) < need) return false;
  if (queue->capacity - queue->end < need) compact(queue);
  frame_put_header(queue->bytes + queue->end, type, id, (uint32_t)count);
  if (count > 0) memcpy(queue->bytes + queue->end + FRAME_HEADER, bytes, count);
  queue->end += need;
  return true;
}

bool channel_control(struct channel *channel, uint8_t type, uint32_t id, const struct json_out *json) {
  if (json && json->full) return false;
  return append(&channel->control, type, id, json ? json->bytes : NULL, json ? json->length : 0);
}

bool channel_control_bytes(struct channel *channel, uint8_t type, uint32_t id, const void *bytes, size_t count) {
  return append(&channel->control, type, id, bytes, count);
}

bool channel_takes_requests(const struct channel *channel) {
  return channel->control.capacity - used(&channel->control) > CONTROL_SPARE;
}

bool channel_has_spare_control(const struct channel *channel) {
  return channel->control.capacity - used(&channel->control) > 2 * CONTROL_SPARE;
}

uint8_t *channel_data_room(struct channel *channel, size_t *room) {
  struct frame_queue *queue = &channel->data;
  if (queue->capacity - queue->end < DATA_CAPACITY / 2 && queue->start > 0) compact(queue);
  /* Less than this is not worth a frame: a queue that is nearly full would be filled by ever smaller reads. */
  size_t tail = queue->capacity - queue->end;
  *room = tail >= DATA_ROOM_MIN ? tail - FRAME_HEADER - DATA_RESERVE : 0;
  return queue->bytes + queue->end + FRAME_HEADER;
}

void channel_data_commit(struct channel *channel, uint8_t type, uint32_t id, size_t count) {
  struct frame_queue *queue = &channel->data;
  frame_put_header(queue->bytes + queue->end, type, id, (uint32_t)count);
  queue->end += FRAME_HEADER + count;
}

bool channel_data(struct channel *channel, uint8_t type, uint32_t id, const void *bytes, size_t count) {
  return append(&channel->data, type, id, bytes, count);
}

void channel_poll(struct channel *channel, struct poll_set *set) {
  bool pending = used(&channel->control) + used(&channel->data) > 0;
  channel->in_slot = channel_takes_requests(channel) ? poll_add(set, channel->in, POLLIN) : -1;
  channel->out_slot = pending ? poll_add(set, channel->out, POLLOUT) : -1;
}

static void advance(struct frame_queue *queue, size_t count) {
  while (count > 0) {
    if (queue->left == 0) queue->left = FRAME_HEADER + frame_payload_length(queue->bytes + queue->start);
    size_t step = queue->left < count ? queue->left : count;
    queue->start += step;
    queue->left -= step;
    count -= step;
  }
  if (queue->start == queue->end) queue->start = queue->end = 0;
}

/* False where the other side takes no more now, or is gone. */
static bool write_some(struct channel *channel, struct frame_queue *queue, size_t count) {
  ssize_t written = write(channel->out, queue->bytes + queue->start, count);
  if (written < 0) {
    if (errno != EAGAIN && errno != EINTR) channel->closed = true;
    return false;
  }
  advance(queue, (size_t)written);
  return true;
}

static bool flush_control_once(struct channel *channel) {
  if (channel->data.left > 0) return write_some(channel, &channel->data, channel->data.left);
  return write_some(channel, &channel->control, used(&channel->control));
}

void channel_flush(struct channel *channel) {
  while (!channel->closed) {
    if (used(&channel->control) > 0) {
      if (!flush_control_once(channel)) return;
    } else if (used(&channel->data) > 0) {
      if (!write_some(channel, &channel->data, used(&channel->data))) return;
    } else {
      return;
    }
  }
}

void channel_flush_control(struct channel *channel, uint64_t limit_ms) {
  uint64_t until = boot_ms() + limit_ms;
  while (!channel->closed && used(&channel->control) > 0) {
    if (flush_control_once(channel)) continue;
    uint64_t now = boot_ms();
    if (now >= until) return;
    struct pollfd wait = {channel->out, POLLOUT, 0};
    poll(&wait, 1, (int)(until - now));
  }
}
