#include "frames.h"

#include <string.h>

void frame_put_header(uint8_t *to, uint8_t type, uint32_t id, uint32_t length) {
  for (int i = 0; i < 4; i++) {
    to[i] = (uint8_t)(length >> (24 - 8 * i));
    to[5 + i] = (uint8_t)(id >> (24 - 8 * i));
  }
  to[4] = type;
}

static uint32_t read_u32(const uint8_t *from) {
  return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

uint32_t frame_payload_length(const uint8_t *header) {
  return read_u32(header);
}

/* The preamble's first letter occurs once in it, so after a mismatch a match can only begin at that very byte. */
static size_t skip_to_preamble(struct frame_reader *reader, const uint8_t *bytes, size_t count) {
  size_t taken = 0;
  while (taken < count && reader->preamble < sizeof PREAMBLE - 1) {
    uint8_t byte = bytes[taken++];
    if (byte == (uint8_t)PREAMBLE[reader->preamble]) reader->preamble++;
    else reader->preamble = byte == (uint8_t)PREAMBLE[0] ? 1 : 0;
  }
  return taken;
}

static size_t copy_part(uint8_t *to, size_t *have, size_t want, const uint8_t *bytes, size_t count) {
  size_t step = want - *have < count ? want - *have : count;
  memcpy(to + *have, bytes, step);
  *have += step;
  return step;
}

size_t frame_read(struct frame_reader *reader, const uint8_t *bytes, size_t count, struct frame *out,
                  enum frame_status *status) {
  *status = FRAME_MORE;
  size_t taken = skip_to_preamble(reader, bytes, count);
  if (reader->preamble < sizeof PREAMBLE - 1) return taken;
  taken += copy_part(reader->header, &reader->header_length, FRAME_HEADER, bytes + taken, count - taken);
  if (reader->header_length < FRAME_HEADER) return taken;

  uint32_t length = frame_payload_length(reader->header);
  if (length > FRAME_PAYLOAD_MAX) {
    *status = FRAME_TOO_LONG;
    return taken;
  }
  taken += copy_part(reader->payload, &reader->payload_length, length, bytes + taken, count - taken);
  if (reader->payload_length < length) return taken;

  reader->payload[length] = 0;
  *out = (struct frame){reader->header[4], read_u32(reader->header + 5), reader->payload, length};
  reader->header_length = 0;
  reader->payload_length = 0;
  *status = FRAME_READY;
  return taken;
}
