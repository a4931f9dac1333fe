/*
 * Runs the agent's pure parts on lines from stdin, one answer a line. Linked with every file of the agent but main.c;
 * it exists for tests only.
 *
 *   decode PREAMBLE STEP HEX     frames of what a worker sends, in pieces of STEP bytes
 *   encode TYPE ID [KEY=VALUE]…  hex of a frame of the agent
 *   cgroup ROOT                  facts read beneath ROOT
 *   sha256 PATH
 */
#include "../cgroup.h"
#include "../hello.h"
#include "../replies.h"
#include "../requests.h"
#include "../sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 1200000

static char text[1048576];
static struct json_out json = {text, 0, sizeof text, false};

static const char *const NAMES[] = {"",       "assign",     "exec",      "stdin",    "stdin_end", "signal", "kill_tree",
                                    "file_begin", "file_data", "file_end", "ping",     "permit",    "credit", "end",
                                    "strings"};

static void put_hex(const char *name, const uint8_t *bytes, size_t count) {
  json_name(&json, name);
  json_raw(&json, "\"");
  for (size_t i = 0; i < count; i++) {
    char pair[3];
    snprintf(pair, sizeof pair, "%02x", bytes[i]);
    json_raw(&json, pair);
  }
  json_raw(&json, "\"");
}

static void put_exec(const struct exec_request *exec) {
  json_field_number(&json, "argc", exec->argc);
  json_field_number(&json, "env_count", exec->env_count);
  json_field_text(&json, "working_directory", exec->working_directory);
  json_field_number(&json, "timeout_ms", exec->timeout_ms);
  json_field_text(&json, "leftovers", exec->keep ? "keep" : "kill");
  json_field_bool(&json, "stdin", exec->has_stdin);
  json_field_bool(&json, "progress", exec->has_progress);
  json_field_number(&json, "window_bytes", exec->window_bytes);
}

static bool put_body(const struct request *request) {
  bool has_body = true;
  json_name(&json, "body");
  json_raw(&json, "{");
  switch (request->type) {
    case FRAME_ASSIGN: json_field_number(&json, "lifetime_ms", request->lifetime_ms); break;
    case FRAME_EXEC: put_exec(&request->exec); break;
    case FRAME_SIGNAL: json_field_number(&json, "signal", request->signal); break;
    case FRAME_CREDIT: json_field_number(&json, "bytes", request->credit); break;
    case FRAME_FILE_BEGIN:
      json_field_text(&json, "path", request->file.path);
      json_field_number(&json, "mode", request->file.mode);
      json_field_number(&json, "size", request->file.size);
      break;
    case FRAME_PERMIT:
      json_field_number(&json, "t0_ms", request->permit.t0_ms);
      json_field_number(&json, "live_ms", request->permit.live_ms);
      break;
    default: has_body = false;
  }
  json_raw(&json, "}");
  return has_body;
}

static void put_request(const struct request *request) {
  json_comma(&json);
  json_raw(&json, "{");
  json_field_text(&json, "type", NAMES[request->type]);
  json_field_number(&json, "id", request->id);
  size_t before = json.length;
  if (!put_body(request)) {
    json.length = before;
    put_hex("data", request->data.bytes, request->data.length);
  }
  json_raw(&json, "}");
}

static size_t read_hex(const char *hex, uint8_t *bytes) {
  size_t count = 0;
  unsigned value;
  for (; sscanf(hex, "%2x", &value) == 1; hex += 2) bytes[count++] = (uint8_t)value;
  return count;
}

static const char *decode_part(struct frame_reader *reader, const uint8_t *bytes, size_t count) {
  while (count > 0) {
    struct frame frame;
    struct request request;
    enum frame_status status;
    size_t taken = frame_read(reader, bytes, count, &frame, &status);
    bytes += taken;
    count -= taken;
    if (status == FRAME_TOO_LONG) return "frame_too_long";
    if (status == FRAME_MORE) continue;
    enum request_status read = request_read(&frame, &request);
    if (read != REQUEST_OK) return request_status_name(read);
    put_request(&request);
  }
  return NULL;
}

static void decode(char *arguments) {
  static struct frame_reader reader;
  static uint8_t bytes[LINE_MAX_BYTES / 2];
  int preamble, offset;
  size_t step;
  memset(&reader, 0, sizeof reader);
  if (sscanf(arguments, "%d %zu %n", &preamble, &step, &offset) < 2 || step == 0) exit(2);
  size_t count = read_hex(arguments + offset, bytes);
  if (!preamble) reader.preamble = sizeof PREAMBLE - 1;
  const char *error = NULL;
  json_raw(&json, "{");
  json_name(&json, "frames");
  json_raw(&json, "[");
  for (size_t at = 0; at < count && !error; at += step) {
    error = decode_part(&reader, bytes + at, count - at < step ? count - at : step);
  }
  json_raw(&json, "]");
  if (error) json_field_text(&json, "error", error);
  json_raw(&json, "}");
}

/* Value of KEY=VALUE in a line of such pairs, each closed with a tab; NULL where it is not there or `null`. */
static char *value_of(const char *pairs, const char *key) {
  size_t length = strlen(key);
  for (const char *at = pairs; at && *at; at = strchr(at, '\t'), at = at ? at + 1 : NULL) {
    if (strncmp(at, key, length) != 0 || at[length] != '=') continue;
    char *value = strndup(at + length + 1, strcspn(at + length + 1, "\t\n"));
    return strcmp(value, "null") == 0 ? NULL : value;
  }
  return NULL;
}

static int64_t number_of(const char *pairs, const char *key) {
  char *value = value_of(pairs, key);
  return value ? strtoll(value, NULL, 10) : -1;
}

/* A text is given in hex, so that it may hold anything. */
static char *text_of(const char *pairs, const char *key) {
  char *hex = value_of(pairs, key);
  if (!hex) return NULL;
  char *bytes = calloc(1, strlen(hex) / 2 + 1);
  read_hex(hex, (uint8_t *)bytes);
  return bytes;
}

static struct tree_receipt tree_of(const char *pairs, const char *prefix) {
  char killed[64], survivors[64], ms[64];
  snprintf(killed, sizeof killed, "%skilled_processes", prefix);
  snprintf(survivors, sizeof survivors, "%ssurvivors", prefix);
  snprintf(ms, sizeof ms, "%skill_ms", prefix);
  return (struct tree_receipt){(uint64_t)number_of(pairs, killed), (uint64_t)number_of(pairs, survivors),
                               (uint64_t)number_of(pairs, ms)};
}

static void encode_exited(const char *pairs) {
  struct tree_receipt tree = tree_of(pairs, "tree.");
  char *timed_out = value_of(pairs, "timed_out");
  struct exit_report report = {.exit_code = number_of(pairs, "exit_code"),
                               .signal = number_of(pairs, "signal"),
                               .timed_out = timed_out && strcmp(timed_out, "true") == 0,
                               .failed_step = text_of(pairs, "start_failure.step"),
                               .failed_errno = text_of(pairs, "start_failure.errno"),
                               .wall_ms = (uint64_t)number_of(pairs, "wall_ms"),
                               .cpu_ms = (uint64_t)number_of(pairs, "cpu_ms"),
                               .memory_peak_bytes = number_of(pairs, "memory_peak_bytes"),
                               .oom_kills = number_of(pairs, "oom_kills"),
                               .stdout_bytes = (uint64_t)number_of(pairs, "stdout_bytes"),
                               .stderr_bytes = (uint64_t)number_of(pairs, "stderr_bytes"),
                               .progress_dropped = (uint64_t)number_of(pairs, "progress_dropped"),
                               .tree = value_of(pairs, "tree.survivors") ? &tree : NULL};
  static const char *const KEYS[] = {"full_mounts.0", "full_mounts.1", "full_mounts.2"};
  for (int i = 0; i < 3; i++) {
    char *mount = text_of(pairs, KEYS[i]);
    if (mount) report.full_mounts[report.full_mount_count++] = mount;
  }
  reply_exited(&json, &report);
}

/* The sandbox that the vector of hello describes. */
static void encode_hello(void) {
  struct hello hello = {
      .pid = 1, .uid = 1048577, .gid = 1048577, .group_count = 1, .groups = {1048577}, .descriptor_count = 3,
      .descriptors = {0, 1, 2}, .namespace_count = 2, .namespace_names = {"pid", "net"},
      .namespaces = {"pid:[4026532201]", "net:[4026532203]"}, .nofile = 1024, .core = 0, .boottime_ms = 987654,
      .status = "Name:\tx\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
                "CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n",
      .mountinfo = "30 20 0:40 / / ro,relatime master:1 - overlay overlay rw,lowerdir=/l\n"
                   "31 30 0:41 / /work\\040space rw,nosuid - tmpfs tmpfs rw,size=65536k\n",
      .net_dev = "Inter-|   Receive  |  Transmit\n face |bytes    |bytes\n    lo:       0       0\n",
      .cgroup = {1, 268435456, 268435456, 130, 100000, 100000, -1, -1}};
  for (int i = 0; i < 32; i++) memcpy(hello.agent_sha256 + 2 * i, "ab", 2);
  hello_write(&json, &hello);
}

static void encode_body(uint8_t type, const char *pairs) {
  struct tree_receipt tree;
  switch (type) {
    case FRAME_HELLO: encode_hello(); break;
    case FRAME_PULSE: reply_pulse(&json, (uint64_t)number_of(pairs, "t0_ms")); break;
    case FRAME_STARTED: reply_started(&json, (uint64_t)number_of(pairs, "pid")); break;
    case FRAME_EXITED: encode_exited(pairs); break;
    case FRAME_TREE:
      tree = tree_of(pairs, "");
      reply_tree(&json, &tree);
      break;
    case FRAME_FAILED: reply_failed(&json, text_of(pairs, "errno"), text_of(pairs, "detail")); break;
    case FRAME_BYE: reply_bye(&json, text_of(pairs, "reason")); break;
    case FRAME_STDIN_CREDIT: reply_stdin_credit(&json, (uint64_t)number_of(pairs, "bytes")); break;
    default: break;
  }
}

static void encode(char *arguments) {
  unsigned type, id;
  int offset = 0;
  if (sscanf(arguments, "%u %u %n", &type, &id, &offset) < 2) exit(2);
  const char *pairs = arguments + offset;
  char *data = value_of(pairs, "data");
  if (data) json.length = read_hex(data, (uint8_t *)text);
  else encode_body((uint8_t)type, pairs);
  uint8_t header[FRAME_HEADER];
  frame_put_header(header, (uint8_t)type, id, (uint32_t)json.length);
  for (int i = 0; i < FRAME_HEADER; i++) printf("%02x", header[i]);
  for (size_t i = 0; i < json.length; i++) printf("%02x", (uint8_t)text[i]);
  json.length = 0;
}

static void show_cgroup(const char *root) {
  struct cgroup facts;
  cgroup_read(root, &facts);
  json_raw(&json, "{");
  json_field_maybe(&json, "version", facts.version);
  json_field_maybe(&json, "memory_bytes", facts.memory_bytes);
  json_field_maybe(&json, "memory_swap_bytes", facts.memory_swap_bytes);
  json_field_maybe(&json, "pids_max", facts.pids_max);
  json_field_maybe(&json, "cpu_quota_us", facts.cpu_quota_us);
  json_field_maybe(&json, "cpu_period_us", facts.cpu_period_us);
  json_field_maybe(&json, "oom_kills", facts.oom_kills);
  json_field_maybe(&json, "memory_peak_bytes", facts.memory_peak_bytes);
  json_raw(&json, "}");
}

int main(void) {
  static char line[LINE_MAX_BYTES];
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = 0;
    char hex[65];
    json.length = 0;
    if (strncmp(line, "decode ", 7) == 0) decode(line + 7);
    else if (strncmp(line, "encode ", 7) == 0) encode(line + 7);
    else if (strncmp(line, "cgroup ", 7) == 0) show_cgroup(line + 7);
    else if (strncmp(line, "sha256 ", 7) == 0 && sha256_file(line + 7, hex)) json_raw(&json, hex);
    printf("%.*s\n", (int)json.length, text);
  }
  return 0;
}
