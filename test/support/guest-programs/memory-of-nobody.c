/* Fills memory with pages that count for no process, while it is itself no better a victim than process 1. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void) {
  static char page[65536];
  int score = open("/proc/self/oom_score_adj", O_WRONLY);
  if (write(score, "500", 3) != 3) return 2;
  memset(page, 1, sizeof page);
  int file = memfd_create("nobody", 0);
  while (write(file, page, sizeof page) > 0) continue;
  return 3;
}
