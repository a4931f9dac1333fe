#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define CANDIDATE_MAX 8192
#define REPORT_FD SPAWN_FD_MIN
#define NAME_SHOWN_MAX 256

/*
 * When memory runs out the first to be killed is a command, not the agent: a child is born with the score that the
 * agent has at that moment. So no child ever has to be dumpable before it is the user's program, which would let code
 * that runs already into it and its descriptors.
 */
#define OOM_SCORE_OF_COMMANDS "1000"
static int oom_score = -1;
static char own_oom_score[16];

void spawn_prepare(void) {
  /* The file belongs to root for a process that is not dumpable; nobody else runs in the sandbox yet. */
  prctl(PR_SET_DUMPABLE, 1);
  oom_score = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
  prctl(PR_SET_DUMPABLE, 0);
  ssize_t length = oom_score < 0 ? 0 : pread(oom_score, own_oom_score, sizeof own_oom_score - 1, 0);
  own_oom_score[length < 0 ? 0 : length] = 0;
}

static void set_oom_score(const char *text) {
  size_t length = strlen(text);
  if (length > 0 && pwrite(oom_score, text, length, 0) < 0) errno = 0;
}

static _Noreturn void give_up(int step, int error) {
  struct spawn_failure failure = {step, error};
  ssize_t written = write(REPORT_FD, &failure, sizeof failure);
  _exit(written == sizeof failure ? 127 : 125);
}

static void place_descriptors(const struct spawn *spawn) {
  dup2(spawn->in, 0);
  dup2(spawn->out, 1);
  dup2(spawn->err, 2);
  if (spawn->progress >= 0) dup2(spawn->progress, 3);
  else close(3);
  if (spawn->report != REPORT_FD) dup3(spawn->report, REPORT_FD, O_CLOEXEC);
  if (syscall(SYS_close_range, REPORT_FD + 1, ~0u, 0) < 0) {
    for (int fd = REPORT_FD + 1; fd < 1024; fd++) close(fd);
  }
}

static void reset_signals(void) {
  for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Tells why execve of an existing path failed. */
static struct spawn_failure judge(const char *path, int error) {
  struct stat facts;
  bool exists = stat(path, &facts) == 0;
  if (error == ENOENT || error == ENOTDIR) {
    return (struct spawn_failure){exists && error == ENOENT ? SPAWN_INTERPRETER : SPAWN_PATH, error};
  }
  if (error == EACCES && exists && S_ISDIR(facts.st_mode)) error = EISDIR;
  return (struct spawn_failure){SPAWN_EXEC, error};
}

static const char *path_of(char **envp) {
  for (; *envp; envp++) {
    if (strncmp(*envp, "PATH=", 5) == 0) return *envp + 5;
  }
  return PATH_DEFAULT;
}

/* As a shell searches: the first that can be executed; else one that exists but cannot be; else none. */
static struct spawn_failure exec_along_path(char **argv, char **envp) {
  struct spawn_failure best = {SPAWN_PATH, ENOENT};
  const char *element = path_of(envp);
  for (;;) {
    char candidate[CANDIDATE_MAX];
    size_t length = strcspn(element, ":");
    int written = snprintf(candidate, sizeof candidate, "%.*s%s%s", (int)length, element, length ? "/" : "", argv[0]);
    if (written > 0 && (size_t)written < sizeof candidate) {
      execve(candidate, argv, envp);
      struct spawn_failure failure = judge(candidate, errno);
      if (failure.step == SPAWN_INTERPRETER) return failure;
      if (failure.step == SPAWN_EXEC && failure.error != EACCES && failure.error != EISDIR) return failure;
      if (failure.step == SPAWN_EXEC) best = failure;
    }
    if (element[length] == 0) return best;
    element += length + 1;
  }
}

static _Noreturn void become(const struct spawn *spawn) {
  setsid();
  place_descriptors(spawn);
  reset_signals();
  umask(022);
  if (chdir(spawn->working_directory) < 0) give_up(SPAWN_CHDIR, errno);
  struct spawn_failure failure;
  if (strchr(spawn->argv[0], '/')) {
    execve(spawn->argv[0], spawn->argv, spawn->envp);
    failure = judge(spawn->argv[0], errno);
  } else if (spawn->argv[0][0] == 0) {
    failure = (struct spawn_failure){SPAWN_PATH, ENOENT};
  } else {
    failure = exec_along_path(spawn->argv, spawn->envp);
  }
  give_up(failure.step, failure.error);
}

pid_t spawn_process(const struct spawn *spawn) {
  set_oom_score(OOM_SCORE_OF_COMMANDS);
  pid_t pid = fork();
  int error = errno;
  if (pid == 0) become(spawn);
  set_oom_score(own_oom_score);
  errno = error;
  return pid;
}

bool spawn_failure_is_sound(struct spawn_failure failure) {
  bool known = failure.step >= SPAWN_CHDIR && failure.step <= SPAWN_EXEC;
  return known && failure.error > 0 && strerrorname_np(failure.error);
}

const char *spawn_step_name(enum spawn_step step) {
  static const char *const NAMES[] = {NULL, "pipe", "fork", "chdir", "path", "interpreter", "exec"};
  return NAMES[step];
}

int spawn_exit_code(enum spawn_step step) {
  if (step == SPAWN_PATH || step == SPAWN_INTERPRETER) return 127;
  return step == SPAWN_EXEC || step == SPAWN_FORK ? 126 : -1;
}

static const char *reason_of(struct spawn_failure failure) {
  if (failure.step == SPAWN_PATH) return "not found";
  if (failure.step == SPAWN_INTERPRETER) return "its interpreter or loader was not found";
  if (failure.step == SPAWN_CHDIR) return "cannot be the working directory";
  if (failure.step == SPAWN_EXEC && failure.error == EISDIR) return "not executable: is a directory";
  if (failure.step == SPAWN_EXEC && failure.error == EACCES) return "not executable: permission denied";
  if (failure.step == SPAWN_EXEC && failure.error == ENOEXEC) return "not executable: neither program nor #! script";
  return failure.step == SPAWN_EXEC ? "not executable" : "no process can be started";
}

size_t spawn_message(char *line, size_t capacity, struct spawn_failure failure, const char *name,
                     const char *working_directory) {
  const char *thing = failure.step == SPAWN_CHDIR ? working_directory : name;
  const char *error = strerrorname_np(failure.error);
  int written = snprintf(line, capacity, "holdfast: %.*s: %s (%s)\n", NAME_SHOWN_MAX, thing, reason_of(failure),
                         error ? error : "unknown");
  return written < 0 ? 0 : (size_t)written < capacity ? (size_t)written : capacity - 1;
}
