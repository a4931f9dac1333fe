/*
 * Waits for the next process to appear and tries, for as long as it has not become its program, to write a report of
 * its own making into its descriptor 4. Prints "watching" once it has begun and "reached" for each success.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say(const char *line) {
  if (write(1, line, strlen(line)) < 0) _exit(1);
}

/* The newest pid is the last word of /proc/loadavg. */
static int newest_pid(void) {
  char text[128];
  int fd = open("/proc/loadavg", O_RDONLY);
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  text[length < 0 ? 0 : length] = 0;
  char *word = strrchr(text, ' ');
  return word ? atoi(word + 1) : 0;
}

static void try_at(int pid) {
  static const int forged[2] = {0x40000000, 2};
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/4", pid);
  int fd = open(path, O_WRONLY | O_NONBLOCK);
  if (fd < 0) return;
  if (write(fd, forged, sizeof forged) == sizeof forged) say("reached\n");
  close(fd);
}

int main(void) {
  int next = getpid() + 1;
  say("watching\n");
  for (unsigned long turn = 1;; turn++) {
    for (int i = 0; i < 3; i++) try_at(next + i);
    if (turn % 64 > 0) continue;
    int newest = newest_pid();
    if (newest >= next) next = newest + 1;
  }
}
