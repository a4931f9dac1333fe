#include "replies.h"

void reply_pulse(struct json_out *out, uint64_t t0_ms) {
  json_raw(out, "{");
  json_field_number(out, "t0_ms", t0_ms);
  json_raw(out, "}");
}

void reply_started(struct json_out *out, uint64_t pid) {
  json_raw(out, "{");
  json_field_number(out, "pid", pid);
  json_raw(out, "}");
}

void reply_tree(struct json_out *out, const struct tree_receipt *tree) {
  json_raw(out, "{");
  json_field_number(out, "killed_processes", tree->killed_processes);
  json_field_number(out, "survivors", tree->survivors);
  json_field_number(out, "kill_ms", tree->kill_ms);
  json_raw(out, "}");
}

static void write_start_failure(struct json_out *out, const struct exit_report *report) {
  json_name(out, "start_failure");
  if (!report->failed_step) {
    json_raw(out, "null");
    return;
  }
  json_raw(out, "{");
  json_field_text(out, "step", report->failed_step);
  json_field_text(out, "errno", report->failed_errno);
  json_raw(out, "}");
}

static void write_full_mounts(struct json_out *out, const struct exit_report *report) {
  json_name(out, "full_mounts");
  json_raw(out, "[");
  for (int i = 0; i < report->full_mount_count; i++) {
    json_comma(out);
    json_raw(out, "\"");
    json_raw(out, report->full_mounts[i]);
    json_raw(out, "\"");
  }
  json_raw(out, "]");
}

void reply_exited(struct json_out *out, const struct exit_report *report) {
  json_raw(out, "{");
  json_field_maybe(out, "exit_code", report->exit_code);
  json_field_maybe(out, "signal", report->signal);
  json_field_bool(out, "timed_out", report->timed_out);
  write_start_failure(out, report);
  json_field_number(out, "wall_ms", report->wall_ms);
  json_field_number(out, "cpu_ms", report->cpu_ms);
  json_field_maybe(out, "memory_peak_bytes", report->memory_peak_bytes);
  json_field_maybe(out, "oom_kills", report->oom_kills);
  write_full_mounts(out, report);
  json_field_number(out, "stdout_bytes", report->stdout_bytes);
  json_field_number(out, "stderr_bytes", report->stderr_bytes);
  json_field_number(out, "progress_dropped", report->progress_dropped);
  json_name(out, "tree");
  if (report->tree) reply_tree(out, report->tree);
  else json_raw(out, "null");
  json_raw(out, "}");
}

void reply_failed(struct json_out *out, const char *errno_name, const char *detail) {
  json_raw(out, "{");
  json_field_text(out, "errno", errno_name);
  json_field_text(out, "detail", detail);
  json_raw(out, "}");
}

void reply_bye(struct json_out *out, const char *reason) {
  json_raw(out, "{");
  json_field_text(out, "reason", reason);
  json_raw(out, "}");
}

void reply_stdin_credit(struct json_out *out, uint64_t bytes) {
  json_raw(out, "{");
  json_field_number(out, "bytes", bytes);
  json_raw(out, "}");
}
