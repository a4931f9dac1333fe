#ifndef HOLDFAST_CHANNEL_H
#define HOLDFAST_CHANNEL_H

#include "frames.h"
#include "json_write.h"
#include "poll_set.h"

#define DATA_CAPACITY 262144
/* Kept free by readers of output for the few frames that keep their place in it. */
#define DATA_RESERVE 16384

/* Frames waiting to be written. `left` is what remains of the frame whose first bytes are already out. */
struct frame_queue {
  uint8_t *bytes;
  size_t start, end, capacity, left;
};

/*
 * The agent's end of the link. Control frames go ahead of data at each frame boundary, so neither a pulse nor an answer
 * waits for output. Both queues are bounded; who finds no room tries again later.
 */
struct channel {
  int in, out;
  int in_slot, out_slot;
  bool closed;
  struct frame_reader reader;
  struct frame_queue control, data;
};

void channel_open(struct channel *channel, int in, int out);
/* Queues the JSON that `write` left in `json`, or an empty payload where it is NULL. False where there is no room. */
bool channel_control(struct channel *channel, uint8_t type, uint32_t id, const struct json_out *json);
bool channel_control_bytes(struct channel *channel, uint8_t type, uint32_t id, const void *bytes, size_t count);
/* True while answers to further requests are certain to find room. */
bool channel_takes_requests(const struct channel *channel);
bool channel_has_spare_control(const struct channel *channel);

/* Room for a payload of up to `*room` bytes at the returned place; channel_data_commit sends what was put there. */
uint8_t *channel_data_room(struct channel *channel, size_t *room);
void channel_data_commit(struct channel *channel, uint8_t type, uint32_t id, size_t count);
bool channel_data(struct channel *channel, uint8_t type, uint32_t id, const void *bytes, size_t count);

void channel_poll(struct channel *channel, struct poll_set *set);
/* Writes what the other side takes now. */
void channel_flush(struct channel *channel);
/* Writes what is left of a frame under way and all control frames, for `limit_ms` at most. */
void channel_flush_control(struct channel *channel, uint64_t limit_ms);

#endif
