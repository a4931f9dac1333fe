#ifndef HOLDFAST_FRAMES_H
#define HOLDFAST_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PREAMBLE "HOLDFAST1\n"
#define FRAME_HEADER 9
#define FRAME_PAYLOAD_MAX 262144

enum frame_type {
  FRAME_ASSIGN = 0x01,
  FRAME_EXEC,
  FRAME_STDIN,
  FRAME_STDIN_END,
  FRAME_SIGNAL,
  FRAME_KILL_TREE,
  FRAME_FILE_BEGIN,
  FRAME_FILE_DATA,
  FRAME_FILE_END,
  FRAME_PING,
  FRAME_PERMIT,
  FRAME_CREDIT,
  FRAME_END,
  FRAME_STRINGS,

  FRAME_HELLO = 0x81,
  FRAME_PULSE,
  FRAME_ASSIGNED,
  FRAME_STARTED,
  FRAME_STDOUT,
  FRAME_STDERR,
  FRAME_PROGRESS,
  FRAME_EXITED,
  FRAME_TREE,
  FRAME_FILE_DONE,
  FRAME_PONG,
  FRAME_FAILED,
  FRAME_BYE,
  FRAME_STDIN_CREDIT,
};

struct frame {
  uint8_t type;
  uint32_t id;
  uint8_t *payload; /* closed with a NUL that is not counted */
  uint32_t length;
};

struct frame_reader {
  size_t preamble; /* bytes of the preamble matched so far */
  uint8_t header[FRAME_HEADER];
  size_t header_length;
  size_t payload_length;
  uint8_t payload[FRAME_PAYLOAD_MAX + 1];
};

enum frame_status { FRAME_MORE, FRAME_READY, FRAME_TOO_LONG };

/*
 * Takes bytes up to the end of the next frame and returns how many. FRAME_READY: `out` is valid until the next call.
 * FRAME_MORE: all bytes were taken. Everything before the preamble is dropped.
 */
size_t frame_read(struct frame_reader *reader, const uint8_t *bytes, size_t count, struct frame *out,
                  enum frame_status *status);

void frame_put_header(uint8_t *to, uint8_t type, uint32_t id, uint32_t length);
uint32_t frame_payload_length(const uint8_t *header);

#endif
