/*
 * The guest agent: process 1 of a sandbox. It never runs user code and keeps no descriptor that a child could inherit.
 * It is not dumpable, so code of the same uid can read neither its memory nor its descriptors, and it sets no signal
 * handler, so the kernel drops every signal from inside. It ends, and the kernel ends the sandbox with it, when its
 * stdin closes, its lifetime is over or its permission to live runs out (E4).
 */
#include "agent.h"
#include "clock.h"
#include "hello.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIFETIME_UNASSIGNED_MS 3600000
#define PERMISSION_FIRST_MS 15000
#define PULSE_EVERY_MS 2000
#define BYE_LIMIT_MS 200
#define KILL_POLL_MS 1
#define REAP_LIMIT_MS 5

static struct agent agent;

static bool read_arguments(int argc, char **argv, uint64_t *lifetime_ms) {
  *lifetime_ms = LIFETIME_UNASSIGNED_MS;
  if (argc == 1) return true;
  if (argc != 3 || strcmp(argv[1], "--lifetime-ms") != 0) return false;
  char *end;
  errno = 0;
  *lifetime_ms = strtoull(argv[2], &end, 10);
  return errno == 0 && argv[2][0] >= '1' && argv[2][0] <= '9' && *end == 0;
}

static void stop(const char *message) {
  if (write(2, message, strlen(message)) < 0) _exit(3);
  _exit(2);
}

/* Moves the link out of reach of children and leaves 0 to 3 pointing nowhere. */
static void hide_channel(struct channel *channel) {
  int in = fcntl(0, F_DUPFD_CLOEXEC, SPAWN_FD_MIN), out = fcntl(1, F_DUPFD_CLOEXEC, SPAWN_FD_MIN);
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (in < 0 || out < 0 || null < 0) stop("holdfast-agent: no usable descriptors\n");
  for (int fd = 0; fd < SPAWN_FD_MIN; fd++) {
    if (fd != null) dup3(null, fd, O_CLOEXEC);
  }
  if (null >= SPAWN_FD_MIN) close(null);
  fcntl(in, F_SETFL, fcntl(in, F_GETFL) | O_NONBLOCK);
  fcntl(out, F_SETFL, fcntl(out, F_GETFL) | O_NONBLOCK);
  channel_open(channel, in, out);
}

/* SIGCHLD is read from a descriptor: with no handler at all, no signal from inside runs or stops anything here. */
static void hold_signals(void) {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_SETMASK, &child, NULL);
  signal(SIGPIPE, SIG_IGN);
  agent.signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (agent.signals < 0) stop("holdfast-agent: no signal descriptor\n");
}

static void say_hello(struct hello *hello) {
  static char text[FRAME_PAYLOAD_MAX];
  struct json_out json = {text, 0, sizeof text, false};
  hello_gather(hello, CGROUP_ROOT);
  hello_write(&json, hello);
  channel_control(&agent.channel, FRAME_HELLO, 0, &json);
}

static void pulse(uint64_t now_ms) {
  if (now_ms < agent.next_pulse_ms) return;
  agent.next_pulse_ms = now_ms + PULSE_EVERY_MS;
  if (!channel_has_spare_control(&agent.channel)) return;
  char text[64];
  struct json_out json = {text, 0, sizeof text, false};
  reply_pulse(&json, now_ms);
  channel_control(&agent.channel, FRAME_PULSE, 0, &json);
}

/*
 * Reaps what is dead; true where no child is left at all. Code inside can die faster than it is reaped, so that each
 * turn gives it a few milliseconds only: time limits and the permission to live come first (E4).
 */
static bool reap(void *unused) {
  (void)unused;
  uint64_t until_ms = boot_ms() + REAP_LIMIT_MS;
  agent.reaps_on = true;
  do {
    int status;
    struct rusage usage;
    pid_t pid = wait4(-1, &status, WNOHANG, &usage);
    if (pid > 0) {
      commands_book(&agent.commands, pid, status, &usage);
    } else if (pid == 0 || errno != EINTR) {
      agent.reaps_on = false;
      return pid < 0;
    }
  } while (boot_ms() < until_ms);
  return false;
}

static void kill_trees(void) {
  if (!tree_step(&agent.commands.tree, reap, NULL)) return;
  commands_tree_done(&agent.commands);
  tree_answer(&agent.commands.tree, &agent.channel);
}

static void judge_time(uint64_t now_ms) {
  if (agent.channel.closed) agent.end_reason = "stdin_closed";
  else if (now_ms >= agent.lifetime_until_ms) agent.end_reason = "lifetime";
  else if (now_ms >= agent.permission_until_ms) agent.end_reason = "permission";
}

static int wait_ms(uint64_t now_ms) {
  if (agent.reaps_on) return 0;
  if (agent.commands.tree.active) return KILL_POLL_MS;
  uint64_t due = commands_due(&agent.commands);
  if (agent.next_pulse_ms < due) due = agent.next_pulse_ms;
  if (agent.lifetime_until_ms < due) due = agent.lifetime_until_ms;
  if (agent.permission_until_ms < due) due = agent.permission_until_ms;
  return due <= now_ms ? 0 : (int)(due - now_ms);
}

/* Once: one that comes meanwhile wakes the next turn. A loop would last as long as somebody inside sends them. */
static void clear_signals(void) {
  struct signalfd_siginfo facts[8];
  if (read(agent.signals, facts, sizeof facts) < 0) return;
}

static void turn(void) {
  struct poll_set set = {.count = 0};
  agent.signals_slot = poll_add(&set, agent.signals, POLLIN);
  channel_poll(&agent.channel, &set);
  commands_poll(&agent.commands, &agent.channel, &set);
  poll(set.fds, (nfds_t)set.count, wait_ms(boot_ms()));

  uint64_t now_ms = boot_ms();
  judge_time(now_ms);
  if (agent.end_reason) return;
  pulse(now_ms);
  bool signalled = poll_ready(&set, agent.signals_slot);
  if (signalled) clear_signals();
  if (signalled || agent.reaps_on) reap(NULL);
  if (poll_ready(&set, agent.channel.in_slot)) agent_receive(&agent);
  commands_pump(&agent.commands, &agent.channel, &set, now_ms);
  kill_trees();
  commands_step(&agent.commands, &agent.channel, boot_ms());
  if (agent.commands.tree.active) {
    /* Where nothing was left behind, the kill is proven at once and costs no further turn. */
    kill_trees();
    commands_step(&agent.commands, &agent.channel, boot_ms());
  }
  channel_flush(&agent.channel);
}

static _Noreturn void end(void) {
  kill(-1, SIGKILL);
  char text[64];
  struct json_out json = {text, 0, sizeof text, false};
  reply_bye(&json, agent.end_reason);
  channel_control(&agent.channel, FRAME_BYE, 0, &json);
  channel_flush_control(&agent.channel, BYE_LIMIT_MS);
  _exit(0);
}

int main(int argc, char **argv) {
  static struct hello hello;
  prctl(PR_SET_DUMPABLE, 0);
  uint64_t lifetime_ms;
  if (!read_arguments(argc, argv, &lifetime_ms)) stop("usage: holdfast-agent [--lifetime-ms N]\n");
  /* Anywhere else its kill of everything would reach the host. */
  if (getpid() != 1) stop("holdfast-agent: must be process 1 of a sandbox\n");
  uint64_t now_ms = boot_ms();
  agent.lifetime_until_ms = now_ms + lifetime_ms;
  agent.permission_until_ms = now_ms + PERMISSION_FIRST_MS;
  agent.next_pulse_ms = now_ms;

  hello_gather_descriptors(&hello);
  syscall(SYS_close_range, 3, ~0u, 0);
  hide_channel(&agent.channel);
  spawn_prepare();
  /* Not 0: the one limit at which the kernel also starts no program for a crash. */
  setrlimit(RLIMIT_CORE, &(struct rlimit){1, 1});
  umask(022);
  if (chdir("/") < 0) stop("holdfast-agent: no root directory\n");
  hold_signals();
  commands_open(&agent.commands);
  say_hello(&hello);
  while (!agent.end_reason) turn();
  end();
}
