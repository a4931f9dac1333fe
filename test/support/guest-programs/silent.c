/* A process 1 that never says a word. */
#include <unistd.h>

int main(void) {
  for (;;) pause();
}
