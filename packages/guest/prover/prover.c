/*
 * Runs against one limit of the sandbox it is started in and says how far it came: one line of "word number" pairs.
 * It decides nothing. What a limit is worth is judged outside, by this line and by what process 1 saw.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "prover.h"

#define MIB (1024 * 1024)
#define PAGE 4096

static void tell(const char *word, long number, int error) {
  printf("%s %ld errno %d\n", word, number, error);
  fflush(stdout);
}

/* Touches memory page by page: within a limit, the kernel ends this process before the last one. */
static int prove_memory(long megabytes) {
  for (long done = 0; done < megabytes; done++) {
    char *piece = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (piece == MAP_FAILED) {
      tell("touched_mb", done, errno);
      return 1;
    }
    for (long at = 0; at < MIB; at += PAGE) piece[at] = (char)(at / PAGE + 1);
  }
  tell("touched_mb", megabytes, 0);
  return 0;
}

static int prove_pids(long count) {
  long made = 0;
  int error = 0;
  pid_t *children = calloc((size_t)count, sizeof *children);
  if (children == NULL) return 1;
  while (made < count) {
    pid_t pid = fork();
    if (pid == 0) {
      for (;;) pause();
    }
    if (pid < 0) {
      error = errno;
      break;
    }
    children[made++] = pid;
  }
  for (long i = 0; i < made; i++) kill(children[i], SIGKILL);
  for (long i = 0; i < made; i++) waitpid(children[i], NULL, 0);
  tell("forked", made, error);
  return 0;
}

static int prove_disk(long megabytes) {
  static char block[65536];
  memset(block, 'x', sizeof block);
  long written = 0;
  int error = 0;
  int file = open("full", O_CREAT | O_WRONLY | O_TRUNC, 0600);
  if (file < 0) return 1;
  while (written < megabytes * MIB) {
    ssize_t some = write(file, block, sizeof block);
    if (some < 0) {
      error = errno;
      break;
    }
    written += some;
  }
  close(file);
  unlink("full");
  tell("wrote_bytes", written, error);
  return 0;
}

static int prove_inodes(long count) {
  char name[32];
  long made = 0;
  int error = 0;
  if (mkdir("many", 0700) != 0) return 1;
  while (made < count) {
    snprintf(name, sizeof name, "many/%ld", made);
    int file = open(name, O_CREAT | O_WRONLY | O_EXCL, 0600);
    if (file < 0) {
      error = errno;
      break;
    }
    close(file);
    made++;
  }
  for (long i = 0; i < made; i++) {
    snprintf(name, sizeof name, "many/%ld", i);
    unlink(name);
  }
  rmdir("many");
  tell("made_files", made, error);
  return 0;
}

static long monotonic_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000L + now.tv_nsec / 1000000L;
}

/* Asks for two cores; process 1 counts what was given. */
static int prove_cpu(long wall_ms) {
  long began = monotonic_ms();
  pid_t other = fork();
  volatile unsigned long work = 0;
  while (monotonic_ms() - began < wall_ms) {
    for (int i = 0; i < 10000; i++) work++;
  }
  if (other == 0) _exit(0);
  if (other > 0) waitpid(other, NULL, 0);
  tell("wall_ms", monotonic_ms() - began, 0);
  return 0;
}

static int prove_time(long unused) {
  (void)unused;
  for (int number = 1; number < 32; number++) signal(number, SIG_IGN);
  while (pause() < 0) continue;
  return 1;
}

/* Leaves a grandchild behind in a session of its own, deaf to every signal that can be ignored. */
static int prove_orphan(long unused) {
  (void)unused;
  int lives[2];
  if (pipe(lives) != 0) return 1;
  pid_t child = fork();
  if (child == 0) {
    setsid();
    pid_t grandchild = fork();
    if (grandchild != 0) _exit(grandchild < 0 ? 1 : 0);
    for (int number = 1; number < 32; number++) signal(number, SIG_IGN);
    if (write(lives[1], "x", 1) != 1) _exit(1);
    close(1);
    close(2);
    for (;;) pause();
  }
  char byte;
  close(lives[1]);
  waitpid(child, NULL, 0);
  tell("orphans", read(lives[0], &byte, 1) == 1 ? 1 : 0, 0);
  return 0;
}

struct proof {
  const char *name;
  int (*run)(long amount);
};

static const struct proof PROOFS[] = {
    {"memory", prove_memory}, {"pids", prove_pids},       {"disk", prove_disk},     {"inodes", prove_inodes},
    {"cpu", prove_cpu},       {"time", prove_time},       {"orphan", prove_orphan}, {"network", prove_network},
    {"syscalls", prove_syscalls},
};

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  for (size_t i = 0; i < sizeof PROOFS / sizeof *PROOFS; i++) {
    if (strcmp(argv[1], PROOFS[i].name) == 0) return PROOFS[i].run(atol(argv[2]));
  }
  return 2;
}
