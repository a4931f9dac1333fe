#ifndef HOLDFAST_FILES_H
#define HOLDFAST_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FILE_PATH_MAX 4096

/* One file on its way into the sandbox. */
struct upload {
  bool open;
  uint32_t id;
  int parent, fd;
  char path[FILE_PATH_MAX + 1], name[256];
  mode_t mode;
  uint64_t size, written;
};

/*
 * Each answers 0 or an errno; after an error nothing of the file is left. Paths stay beneath `base`: no link is
 * followed, parents are made with mode 0755, and an existing file is refused.
 */
int upload_begin(struct upload *upload, const char *base, uint32_t id, const char *path, mode_t mode, uint64_t size);
int upload_data(struct upload *upload, const uint8_t *bytes, size_t count);
int upload_end(struct upload *upload);

#endif
