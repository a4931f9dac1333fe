#ifndef HOLDFAST_REQUESTS_H
#define HOLDFAST_REQUESTS_H

#include "frames.h"

#define WINDOW_BYTES_MIN 4096
#define WINDOW_BYTES_MAX 16777216

struct exec_request {
  uint64_t argc, env_count, timeout_ms, window_bytes;
  const char *working_directory;
  bool keep, has_stdin, has_progress;
};

/* A worker's frame, understood. Texts and bytes point into the frame. */
struct request {
  uint8_t type;
  uint32_t id;
  union {
    uint64_t lifetime_ms;
    struct exec_request exec;
    uint64_t signal;
    struct {
      const char *path;
      uint64_t mode, size;
    } file;
    struct {
      uint64_t t0_ms, live_ms;
    } permit;
    uint64_t credit;
    struct {
      const uint8_t *bytes;
      uint32_t length;
    } data;
  };
};

enum request_status { REQUEST_OK, REQUEST_UNKNOWN_TYPE, REQUEST_BAD_JSON, REQUEST_BAD_FIELD };

enum request_status request_read(const struct frame *frame, struct request *out);
const char *request_status_name(enum request_status status);

#endif
