#ifndef HOLDFAST_REPLIES_H
#define HOLDFAST_REPLIES_H

#include "json_write.h"

/* JSON payloads of the agent's own frames. Negative numbers stand for what is not known and become null. */

struct tree_receipt {
  uint64_t killed_processes, survivors, kill_ms;
};

struct exit_report {
  int64_t exit_code, signal;
  bool timed_out;
  const char *failed_step; /* NULL where the command started */
  const char *failed_errno;
  uint64_t wall_ms, cpu_ms;
  int64_t memory_peak_bytes, oom_kills;
  const char *full_mounts[3];
  int full_mount_count;
  uint64_t stdout_bytes, stderr_bytes, progress_dropped;
  const struct tree_receipt *tree; /* NULL where nothing was killed */
};

void reply_pulse(struct json_out *out, uint64_t t0_ms);
void reply_started(struct json_out *out, uint64_t pid);
void reply_exited(struct json_out *out, const struct exit_report *report);
void reply_tree(struct json_out *out, const struct tree_receipt *tree);
void reply_failed(struct json_out *out, const char *errno_name, const char *detail);
void reply_bye(struct json_out *out, const char *reason);
void reply_stdin_credit(struct json_out *out, uint64_t bytes);

#endif
