#include "proc_text.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

ssize_t proc_text(const char *path, char *text, size_t capacity) {
  text[0] = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  size_t length = 0;
  ssize_t count = 0;
  while (length < capacity - 1 && (count = read(fd, text + length, capacity - 1 - length)) > 0) length += (size_t)count;
  close(fd);
  text[length] = 0;
  return count < 0 ? -1 : (ssize_t)length;
}

size_t proc_field(const char *text, const char *name, char *value, size_t capacity) {
  size_t name_length = strlen(name);
  value[0] = 0;
  for (const char *line = text; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
    if (strncmp(line, name, name_length) != 0 || line[name_length] != ':') continue;
    const char *start = line + name_length + 1 + strspn(line + name_length + 1, " \t");
    size_t length = strcspn(start, "\n");
    if (length >= capacity) length = capacity - 1;
    memcpy(value, start, length);
    value[length] = 0;
    return length;
  }
  return 0;
}
