/*
 * Makes `sleepers` children of process 1 that sleep, so that each of its waits is long, then `makers` processes that
 * leave it one dead child after another, for ever. Prints "storm" once it has begun.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void sleep_on(void) {
  for (;;) pause();
}

static void leave_sleeper(void) {
  pid_t parent = fork();
  if (parent == 0) {
    if (fork() == 0) sleep_on();
    _exit(0);
  }
  if (parent > 0) waitpid(parent, NULL, 0);
}

static void leave_dead(void) {
  pid_t parent = vfork();
  if (parent == 0) {
    vfork();
    _exit(0);
  }
  if (parent > 0) waitpid(parent, NULL, 0);
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  for (int i = 0; i < atoi(argv[1]); i++) leave_sleeper();
  for (int i = 0; i < atoi(argv[2]); i++) {
    if (fork() == 0) {
      for (;;) leave_dead();
    }
  }
  if (write(1, "storm\n", 6) != 6) return 3;
  sleep_on();
}
