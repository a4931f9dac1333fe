#ifndef HOLDFAST_COMMAND_H
#define HOLDFAST_COMMAND_H

#include "cgroup.h"
#include "channel.h"
#include "drains.h"
#include "inlet.h"
#include "outlet.h"
#include "progress.h"
#include "requests.h"
#include "spawn.h"
#include "tree.h"

#include <sys/resource.h>

#define CGROUP_ROOT "/sys/fs/cgroup"
#define COMMANDS_MAX 8
#define STRINGS_BYTES_MAX 1572864

enum command_state {
  COMMAND_FREE,
  COMMAND_STARTING, /* forked; its report tells whether the program started */
  COMMAND_RUNNING,
  COMMAND_ENDING, /* its main process is gone; the tree may still be being killed */
  COMMAND_DRAINING,
};

enum command_kill { KILL_NONE, KILL_WANTED, KILL_DONE };

struct command {
  enum command_state state;
  uint32_t id;
  pid_t pid;
  bool reaped, status_known, keep, timed_out;
  int status;
  int report, report_slot;
  struct spawn_failure failure;
  /* As far as a message shows them. */
  char name[257], working_directory[257];
  struct outlet out, err;
  struct inlet in;
  struct progress progress;
  uint64_t credit, started_ms, ended_ms, deadline_ms, cpu_us;
  int64_t oom_kills_before;
  enum command_kill kill;
  struct tree_receipt receipt;
  const char *full_mounts[3];
  int full_mount_count;
};

/* argv and env of the next command, sent ahead of it as texts closed with NUL. */
struct strings {
  uint32_t id;
  uint8_t *bytes;
  size_t length;
  bool overflow;
};

struct commands {
  struct command list[COMMANDS_MAX];
  struct strings strings;
  struct drains drains;
  struct tree tree;
  int turn; /* who reads first, so that one flood does not starve the others */
};

void commands_open(struct commands *commands);
void commands_strings(struct commands *commands, uint32_t id, const uint8_t *bytes, size_t count);
/* 0, or an errno where the request cannot be taken at all. A program that cannot be started is an outcome. */
int commands_exec(struct commands *commands, uint32_t id, const struct exec_request *request);
struct command *commands_find(struct commands *commands, uint32_t id);
void command_signal(struct command *command, int number);

/* Books a dead process. `usage` holds what it and the children it waited for have used. */
void commands_book(struct commands *commands, pid_t pid, int status, const struct rusage *usage);
void commands_tree_done(struct commands *commands);
/* Everything that follows from time, deaths and finished kills. */
void commands_step(struct commands *commands, struct channel *channel, uint64_t now_ms);

void commands_poll(struct commands *commands, struct channel *channel, struct poll_set *set);
void commands_pump(struct commands *commands, struct channel *channel, const struct poll_set *set, uint64_t now_ms);
/* Boot time at which commands_step has something to do by itself. */
uint64_t commands_due(const struct commands *commands);

/* Parts of a command's end. */
void command_note_end(struct command *command, uint64_t now_ms);
bool command_send_exited(struct command *command, struct channel *channel);

#endif
