#include "command.h"

#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_VARIABLE "HOLDFAST_PROGRESS_FD="

void commands_open(struct commands *commands) {
  memset(commands, 0, sizeof *commands);
}

struct command *commands_find(struct commands *commands, uint32_t id) {
  for (int i = 0; i < COMMANDS_MAX; i++) {
    struct command *command = &commands->list[i];
    if (command->state != COMMAND_FREE && command->id == id) return command;
  }
  return NULL;
}

static struct command *find_free(struct commands *commands) {
  for (int i = 0; i < COMMANDS_MAX; i++) {
    if (commands->list[i].state == COMMAND_FREE) return &commands->list[i];
  }
  return NULL;
}

void commands_strings(struct commands *commands, uint32_t id, const uint8_t *bytes, size_t count) {
  struct strings *strings = &commands->strings;
  if (strings->id != id) *strings = (struct strings){id, strings->bytes, 0, false};
  if (!strings->bytes) strings->bytes = malloc(STRINGS_BYTES_MAX);
  if (!strings->bytes || count > STRINGS_BYTES_MAX - strings->length) {
    strings->overflow = true;
    return;
  }
  memcpy(strings->bytes + strings->length, bytes, count);
  strings->length += count;
}

static void forget_strings(struct strings *strings) {
  free(strings->bytes);
  *strings = (struct strings){0, NULL, 0, false};
}

/* Texts of the request as two lists closed with NULL, in one block; NULL where they do not match what was announced. */
static char **split_strings(struct strings *strings, const struct exec_request *request, char ***envp) {
  size_t count = (size_t)(request->argc + request->env_count), found = 0, kept = 0;
  char **list = malloc((count + 3) * sizeof *list);
  if (!list) return NULL;
  char *at = (char *)strings->bytes, *end = at + strings->length;
  for (; at < end && found < count; found++) {
    char *close = memchr(at, 0, (size_t)(end - at));
    if (!close) break;
    bool ours = found >= request->argc && strncmp(at, PROGRESS_VARIABLE, sizeof PROGRESS_VARIABLE - 1) == 0;
    if (found == request->argc) list[kept++] = NULL;
    if (!ours) list[kept++] = at;
    at = close + 1;
  }
  if (found != count || at != end) {
    free(list);
    return NULL;
  }
  if (request->env_count == 0) list[kept++] = NULL;
  if (request->has_progress) list[kept++] = (char *)PROGRESS_VARIABLE "3";
  list[kept] = NULL;
  *envp = list + request->argc + 1;
  return list;
}

static int open_progress(struct command *command, const struct exec_request *request) {
  memset(&command->progress, 0, sizeof command->progress);
  command->progress.pipe.fd = -1;
  return request->has_progress ? outlet_open(&command->progress.pipe, FRAME_PROGRESS) : -1;
}

static int open_input(struct command *command, const struct exec_request *request) {
  command->in = (struct inlet){.fd = -1, .slot = -1};
  return request->has_stdin ? inlet_open(&command->in) : fcntl(0, F_DUPFD_CLOEXEC, SPAWN_FD_MIN);
}

static void close_end(int fd) {
  if (fd >= 0) close(fd);
}

static void close_ours(struct command *command) {
  inlet_close(&command->in);
  close_end(command->out.fd);
  close_end(command->err.fd);
  close_end(command->progress.pipe.fd);
  close_end(command->report);
  command->out.fd = command->err.fd = command->progress.pipe.fd = command->report = -1;
}

static void launch(struct command *command, struct spawn *spawn, const struct exec_request *request) {
  int report[2] = {-1, -1};
  spawn->out = outlet_open(&command->out, FRAME_STDOUT);
  spawn->err = outlet_open(&command->err, FRAME_STDERR);
  spawn->in = open_input(command, request);
  spawn->progress = open_progress(command, request);
  bool whole = spawn->out >= 0 && spawn->err >= 0 && spawn->in >= 0 && (!request->has_progress || spawn->progress >= 0);
  whole = whole && pipe2(report, O_CLOEXEC) == 0;
  int error = errno;
  command->report = report[0];
  spawn->report = report[1];
  if (whole) {
    fcntl(report[0], F_SETFL, O_NONBLOCK);
    command->pid = spawn_process(spawn);
    error = errno;
  }
  close_end(spawn->out);
  close_end(spawn->err);
  close_end(spawn->in);
  close_end(spawn->progress);
  close_end(spawn->report);
  if (whole && command->pid > 0) return;
  command->failure = (struct spawn_failure){whole ? SPAWN_FORK : SPAWN_PIPE, error};
  command->pid = 0;
  command->reaped = true;
  close_ours(command);
}

int commands_exec(struct commands *commands, uint32_t id, const struct exec_request *request) {
  struct command *command = find_free(commands);
  struct strings *strings = &commands->strings;
  char **envp = NULL, **argv = NULL;
  int error = 0;
  if (commands_find(commands, id)) error = EEXIST;
  else if (!command) error = EAGAIN;
  else if (strings->id == id && strings->overflow) error = E2BIG;
  else if (strings->id != id || !strings->bytes || !(argv = split_strings(strings, request, &envp))) error = EINVAL;
  if (error) {
    forget_strings(strings);
    return error;
  }
  struct cgroup before;
  cgroup_read_memory(CGROUP_ROOT, &before);
  memset(command, 0, sizeof *command);
  command->id = id;
  command->keep = request->keep;
  command->credit = request->window_bytes;
  command->oom_kills_before = before.oom_kills;
  command->started_ms = boot_ms();
  command->deadline_ms = command->started_ms + request->timeout_ms;
  command->report_slot = -1;
  command->state = COMMAND_STARTING;
  snprintf(command->name, sizeof command->name, "%s", argv[0]);
  snprintf(command->working_directory, sizeof command->working_directory, "%s", request->working_directory);
  struct spawn spawn = {.argv = argv, .envp = envp, .working_directory = request->working_directory};
  launch(command, &spawn, request);
  free(argv);
  forget_strings(strings);
  return 0;
}

void command_signal(struct command *command, int number) {
  if (!command->reaped) kill(command->pid, number);
}
