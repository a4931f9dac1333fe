#include "command.h"

#include "clock.h"

#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

static bool is_full(const char *path) {
  struct statvfs facts;
  if (statvfs(path, &facts) < 0 || facts.f_flag & ST_RDONLY) return false;
  /* A file system without limit reports a total of 0. */
  return (facts.f_blocks > 0 && facts.f_bavail == 0) || (facts.f_files > 0 && facts.f_favail == 0);
}

/* Taken when the main process is gone and before the others are killed: evidence must not depend on the clean-up. */
void command_note_end(struct command *command, uint64_t now_ms) {
  static const char *const MOUNTS[] = {"/workspace", "/tmp", "/dev/shm"};
  command->ended_ms = now_ms;
  for (int i = 0; i < 3; i++) {
    if (is_full(MOUNTS[i])) command->full_mounts[command->full_mount_count++] = MOUNTS[i];
  }
}

static void report_status(const struct command *command, struct exit_report *report) {
  report->exit_code = report->signal = -1;
  if (command->failure.step != SPAWN_OK) {
    report->failed_step = spawn_step_name(command->failure.step);
    report->failed_errno = strerrorname_np(command->failure.error);
    if (!report->failed_errno) report->failed_errno = "EUNKNOWN";
    report->exit_code = spawn_exit_code(command->failure.step);
  } else if (command->status_known && WIFSIGNALED(command->status)) {
    report->signal = WTERMSIG(command->status);
    report->exit_code = 128 + report->signal;
  } else if (command->status_known) {
    report->exit_code = WEXITSTATUS(command->status);
  }
  /* It was still running at its limit, but may have ended by itself before the kill reached it. */
  report->timed_out = command->timed_out && (!command->status_known || report->signal >= 0);
}

bool command_send_exited(struct command *command, struct channel *channel) {
  struct cgroup now;
  cgroup_read_memory(CGROUP_ROOT, &now);
  struct exit_report report = {.wall_ms = command->ended_ms - command->started_ms,
                               .cpu_ms = command->cpu_us / 1000,
                               .memory_peak_bytes = now.memory_peak_bytes,
                               .oom_kills = -1,
                               .full_mount_count = command->full_mount_count,
                               .stdout_bytes = command->out.bytes,
                               .stderr_bytes = command->err.bytes,
                               .progress_dropped = command->progress.dropped,
                               .tree = command->kill == KILL_DONE ? &command->receipt : NULL};
  report_status(command, &report);
  memcpy(report.full_mounts, command->full_mounts, sizeof report.full_mounts);
  if (now.oom_kills >= 0 && command->oom_kills_before >= 0) {
    int64_t kills = now.oom_kills - command->oom_kills_before;
    report.oom_kills = kills < 0 ? 0 : kills;
  }
  char text[1024];
  struct json_out json = {text, 0, sizeof text, false};
  reply_exited(&json, &report);
  return channel_data(channel, FRAME_EXITED, command->id, json.bytes, json.length);
}
