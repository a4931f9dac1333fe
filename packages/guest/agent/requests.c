#include "requests.h"

#include "json_read.h"

#include <string.h>

#define EXACT_MAX 9007199254740991
#define MS_MAX 31536000000
#define PATH_BYTES_MAX 4096
#define STRINGS_MAX 131072

#define FIELDS(...) \
  struct json_field fields[] = {__VA_ARGS__}; \
  enum json_status read = json_read((char *)frame->payload, frame->length, fields, sizeof fields / sizeof *fields)
#define NUMBER(name, min, max, to) {name, JSON_NUMBER, min, max, to, false}
#define TEXT(name, min, max, to) {name, JSON_TEXT, min, max, to, false}
#define BOOL(name, to) {name, JSON_BOOL, 0, 0, to, false}

static enum request_status status_of(enum json_status read) {
  return read == JSON_OK ? REQUEST_OK : read == JSON_BAD ? REQUEST_BAD_JSON : REQUEST_BAD_FIELD;
}

static enum request_status read_assign(const struct frame *frame, struct request *out) {
  FIELDS(NUMBER("lifetime_ms", 1, MS_MAX, &out->lifetime_ms));
  return status_of(read);
}

static enum request_status read_exec(const struct frame *frame, struct request *out) {
  struct exec_request *exec = &out->exec;
  const char *leftovers = "";
  FIELDS(NUMBER("argc", 1, STRINGS_MAX, &exec->argc), NUMBER("env_count", 0, STRINGS_MAX, &exec->env_count),
         TEXT("working_directory", 1, PATH_BYTES_MAX, &exec->working_directory),
         NUMBER("timeout_ms", 1, MS_MAX, &exec->timeout_ms), TEXT("leftovers", 4, 4, &leftovers),
         BOOL("stdin", &exec->has_stdin), BOOL("progress", &exec->has_progress),
         NUMBER("window_bytes", WINDOW_BYTES_MIN, WINDOW_BYTES_MAX, &exec->window_bytes));
  if (read != JSON_OK) return status_of(read);
  exec->keep = strcmp(leftovers, "keep") == 0;
  return exec->keep || strcmp(leftovers, "kill") == 0 ? REQUEST_OK : REQUEST_BAD_FIELD;
}

static enum request_status read_signal(const struct frame *frame, struct request *out) {
  FIELDS(NUMBER("signal", 1, 64, &out->signal));
  return status_of(read);
}

static enum request_status read_file_begin(const struct frame *frame, struct request *out) {
  FIELDS(TEXT("path", 1, PATH_BYTES_MAX, &out->file.path), NUMBER("mode", 0, 0777, &out->file.mode),
         NUMBER("size", 0, EXACT_MAX, &out->file.size));
  return status_of(read);
}

static enum request_status read_permit(const struct frame *frame, struct request *out) {
  FIELDS(NUMBER("t0_ms", 0, EXACT_MAX, &out->permit.t0_ms), NUMBER("live_ms", 0, MS_MAX, &out->permit.live_ms));
  return status_of(read);
}

static enum request_status read_credit(const struct frame *frame, struct request *out) {
  FIELDS(NUMBER("bytes", 1, WINDOW_BYTES_MAX, &out->credit));
  return status_of(read);
}

enum request_status request_read(const struct frame *frame, struct request *out) {
  *out = (struct request){.type = frame->type, .id = frame->id};
  switch (frame->type) {
    case FRAME_ASSIGN: return read_assign(frame, out);
    case FRAME_EXEC: return read_exec(frame, out);
    case FRAME_SIGNAL: return read_signal(frame, out);
    case FRAME_FILE_BEGIN: return read_file_begin(frame, out);
    case FRAME_PERMIT: return read_permit(frame, out);
    case FRAME_CREDIT: return read_credit(frame, out);
    case FRAME_STDIN:
    case FRAME_FILE_DATA:
    case FRAME_STRINGS:
      out->data.bytes = frame->payload;
      out->data.length = frame->length;
      return REQUEST_OK;
    case FRAME_STDIN_END:
    case FRAME_KILL_TREE:
    case FRAME_FILE_END:
    case FRAME_PING:
    case FRAME_END: return frame->length == 0 ? REQUEST_OK : REQUEST_BAD_FIELD;
    default: return REQUEST_UNKNOWN_TYPE;
  }
}

const char *request_status_name(enum request_status status) {
  static const char *const NAMES[] = {"ok", "unknown_type", "bad_json", "bad_field"};
  return NAMES[status];
}
