#ifndef HOLDFAST_SPAWN_H
#define HOLDFAST_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

/* What kept a command from starting. `path` and `interpreter` mean that there is no such program. */
enum spawn_step { SPAWN_OK, SPAWN_PIPE, SPAWN_FORK, SPAWN_CHDIR, SPAWN_PATH, SPAWN_INTERPRETER, SPAWN_EXEC };

struct spawn_failure {
  int step;
  int error;
};

/* Descriptors are the child's own ends, none below SPAWN_FD_MIN; -1 where the command gets none. */
struct spawn {
  char **argv, **envp;
  const char *working_directory;
  int in, out, err, progress;
  /* Receives a spawn_failure, or just ends where the program was started. */
  int report;
};

/* The agent keeps the descriptors below this one occupied, so that a child's 0 to 3 never overlap with its pipes. */
#define SPAWN_FD_MIN 4

/* Once, before the first command. */
void spawn_prepare(void);
/* Pid of the child, or -1 with errno. */
pid_t spawn_process(const struct spawn *spawn);
/* False for what no child of ours reports: its end of the pipe lies in a process of the sandbox. */
bool spawn_failure_is_sound(struct spawn_failure failure);
const char *spawn_step_name(enum spawn_step step);
/* One line for the command's stderr that names what could not be used. Returns its length. */
size_t spawn_message(char *line, size_t capacity, struct spawn_failure failure, const char *name,
                     const char *working_directory);
/* What a shell would answer: 127 not found, 126 not executable; -1 where that says nothing. */
int spawn_exit_code(enum spawn_step step);

#endif
