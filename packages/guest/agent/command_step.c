#include "command.h"

#include "clock.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t microseconds(const struct timeval *time) {
  return (uint64_t)time->tv_sec * 1000000 + (uint64_t)time->tv_usec;
}

static struct command *owner_of(struct commands *commands, pid_t pid) {
  struct command *first = NULL;
  for (int i = 0; i < COMMANDS_MAX; i++) {
    struct command *command = &commands->list[i];
    if (command->state == COMMAND_FREE) continue;
    if (!command->reaped && command->pid == pid) return command;
    if (!first) first = command;
  }
  return first;
}

/* A process whose parent died is booked on the command that runs; where several run, on the first. */
void commands_book(struct commands *commands, pid_t pid, int status, const struct rusage *usage) {
  if (commands->tree.active && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
    commands->tree.receipt.killed_processes++;
  }
  struct command *command = owner_of(commands, pid);
  if (!command) return;
  command->cpu_us += microseconds(&usage->ru_utime) + microseconds(&usage->ru_stime);
  if (command->reaped || command->pid != pid) return;
  command->reaped = true;
  command->status_known = true;
  command->status = status;
}

void commands_tree_done(struct commands *commands) {
  for (int i = 0; i < COMMANDS_MAX; i++) {
    struct command *command = &commands->list[i];
    if (command->state == COMMAND_FREE || command->kill != KILL_WANTED) continue;
    command->kill = KILL_DONE;
    command->receipt = commands->tree.receipt;
    /* What cannot be killed cannot be waited for: its status stays unknown. */
    command->reaped = true;
  }
}

static void want_kill(struct commands *commands, struct command *command, uint64_t now_ms) {
  if (command->kill != KILL_NONE) return;
  command->kill = KILL_WANTED;
  tree_begin(&commands->tree, now_ms);
}

static void say_failure(struct command *command, struct channel *channel) {
  char line[768];
  size_t length = spawn_message(line, sizeof line, command->failure, command->name, command->working_directory);
  if (!channel_data(channel, FRAME_STDERR, command->id, line, length)) return;
  command->err.bytes += length;
  command->credit -= length < command->credit ? length : command->credit;
}

/* Reads how the start went. The report ends by itself when the program replaces the child. */
static void read_report(struct command *command, struct channel *channel) {
  struct spawn_failure failure;
  ssize_t count = read(command->report, &failure, sizeof failure);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  close(command->report);
  command->report = -1;
  command->state = COMMAND_RUNNING;
  if (count == sizeof failure && spawn_failure_is_sound(failure)) {
    command->failure = failure;
    return;
  }
  char text[64];
  struct json_out json = {text, 0, sizeof text, false};
  reply_started(&json, (uint64_t)command->pid);
  channel_data(channel, FRAME_STARTED, command->id, json.bytes, json.length);
}

static void limit_output(struct command *command) {
  outlet_limit(&command->out);
  outlet_limit(&command->err);
  outlet_limit(&command->progress.pipe);
}

static void begin_end(struct commands *commands, struct command *command, struct channel *channel, uint64_t now_ms) {
  if (command->report >= 0) read_report(command, channel);
  if (command->failure.step != SPAWN_OK) say_failure(command, channel);
  command_note_end(command, now_ms);
  inlet_close(&command->in);
  command->state = COMMAND_ENDING;
  if (!command->keep) want_kill(commands, command, now_ms);
  if (command->kill == KILL_NONE) limit_output(command);
}

static void release_pipe(struct commands *commands, struct outlet *outlet, bool keep) {
  if (outlet->fd < 0) return;
  if (keep) drains_add(&commands->drains, outlet->fd);
  else close(outlet->fd);
  outlet->fd = -1;
}

static void finish(struct commands *commands, struct command *command, struct channel *channel, uint64_t now_ms) {
  bool drained = outlet_done(&command->out) && outlet_done(&command->err) && outlet_done(&command->progress.pipe);
  if (!drained) return;
  progress_finish(&command->progress, channel, command->id, now_ms);
  if (!command_send_exited(command, channel)) return;
  bool keep = command->kill == KILL_NONE;
  release_pipe(commands, &command->out, keep);
  release_pipe(commands, &command->err, keep);
  release_pipe(commands, &command->progress.pipe, keep);
  if (command->report >= 0) close(command->report);
  command->state = COMMAND_FREE;
}

static void step(struct commands *commands, struct command *command, struct channel *channel, uint64_t now_ms) {
  bool before_end = command->state == COMMAND_STARTING || command->state == COMMAND_RUNNING;
  if (before_end && !command->reaped && now_ms >= command->deadline_ms) {
    command->timed_out = true;
    want_kill(commands, command, now_ms);
  }
  if (before_end && command->reaped) begin_end(commands, command, channel, now_ms);
  if (command->state == COMMAND_ENDING && command->kill != KILL_WANTED) {
    if (command->receipt.survivors > 0) limit_output(command);
    command->state = COMMAND_DRAINING;
  }
  if (command->state == COMMAND_DRAINING) finish(commands, command, channel, now_ms);
}

void commands_step(struct commands *commands, struct channel *channel, uint64_t now_ms) {
  for (int i = 0; i < COMMANDS_MAX; i++) {
    if (commands->list[i].state != COMMAND_FREE) step(commands, &commands->list[i], channel, now_ms);
  }
}

uint64_t commands_due(const struct commands *commands) {
  uint64_t due = UINT64_MAX;
  for (int i = 0; i < COMMANDS_MAX; i++) {
    const struct command *command = &commands->list[i];
    bool runs = command->state == COMMAND_STARTING || command->state == COMMAND_RUNNING;
    if (runs && !command->timed_out && command->deadline_ms < due) due = command->deadline_ms;
  }
  return due;
}

void commands_poll(struct commands *commands, struct channel *channel, struct poll_set *set) {
  for (int i = 0; i < COMMANDS_MAX; i++) {
    struct command *command = &commands->list[i];
    if (command->state == COMMAND_FREE) continue;
    command->report_slot = poll_add(set, command->report, POLLIN);
    bool started = command->state != COMMAND_STARTING;
    outlet_poll(&command->out, channel, started ? command->credit : 0, set);
    outlet_poll(&command->err, channel, started ? command->credit : 0, set);
    progress_poll(&command->progress, set);
    inlet_poll(&command->in, set);
  }
  drains_poll(&commands->drains, set);
}

static void pump_output(struct command *command, struct channel *channel, const struct poll_set *set, bool err_first) {
  struct outlet *outlets[] = {&command->out, &command->err};
  for (int i = 0; i < 2; i++) {
    struct outlet *outlet = outlets[i ^ (err_first ? 1 : 0)];
    if (poll_ready(set, outlet->slot)) outlet_pump(outlet, channel, command->id, &command->credit);
  }
}

void commands_pump(struct commands *commands, struct channel *channel, const struct poll_set *set, uint64_t now_ms) {
  commands->turn++;
  for (int i = 0; i < COMMANDS_MAX; i++) {
    struct command *command = &commands->list[(i + commands->turn) % COMMANDS_MAX];
    if (command->state == COMMAND_FREE) continue;
    if (poll_ready(set, command->report_slot)) read_report(command, channel);
    pump_output(command, channel, set, commands->turn & 8);
    if (poll_ready(set, command->progress.pipe.slot)) progress_pump(&command->progress, channel, command->id, now_ms);
    if (poll_ready(set, command->in.slot)) inlet_pump(&command->in);
    inlet_pay(&command->in, channel, command->id);
  }
  drains_pump(&commands->drains, set);
}
