#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BENEATH (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

/* `name` is a single component; where openat2 is not offered, O_NOFOLLOW on a single component says the same. */
static int open_beneath(int parent, const char *name, int flags, mode_t mode) {
  struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC | O_NOFOLLOW), .mode = mode, .resolve = BENEATH};
  int fd = (int)syscall(SYS_openat2, parent, name, &how, sizeof how);
  if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) return fd;
  return openat(parent, name, flags | O_CLOEXEC | O_NOFOLLOW, mode);
}

/* Copies the next component; 0 or an errno. */
static int next_component(const char **at, char name[256]) {
  size_t length = strcspn(*at, "/");
  if (length == 0 || length > 255) return length == 0 ? EINVAL : ENAMETOOLONG;
  memcpy(name, *at, length);
  name[length] = 0;
  *at += length;
  return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ? EINVAL : 0;
}

/* Opens or makes one parent and moves down into it. */
static int step_into(int *directory, const char *name) {
  if (mkdirat(*directory, name, 0755) < 0 && errno != EEXIST) return errno;
  int next = open_beneath(*directory, name, O_RDONLY | O_DIRECTORY, 0);
  if (next < 0) return errno;
  close(*directory);
  *directory = next;
  return 0;
}

static int walk(struct upload *upload, const char *base) {
  upload->parent = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (upload->parent < 0) return errno;
  const char *at = upload->path;
  for (;;) {
    int error = next_component(&at, upload->name);
    if (error) return error;
    if (*at == 0) return 0;
    error = step_into(&upload->parent, upload->name);
    if (error) return error;
    at++;
  }
}

static void shut(struct upload *upload) {
  if (upload->fd >= 0) close(upload->fd);
  if (upload->parent >= 0) close(upload->parent);
  upload->fd = upload->parent = -1;
  upload->open = false;
}

static int give_up(struct upload *upload, int error) {
  if (upload->fd >= 0) unlinkat(upload->parent, upload->name, 0);
  shut(upload);
  return error;
}

/* A path that is refused makes no parents either. */
static int check_path(const char *path) {
  char name[256];
  if (strlen(path) > FILE_PATH_MAX) return ENAMETOOLONG;
  for (;;) {
    int error = next_component(&path, name);
    if (error || *path == 0) return error;
    path++;
  }
}

int upload_begin(struct upload *upload, const char *base, uint32_t id, const char *path, mode_t mode, uint64_t size) {
  if (upload->open) return EBUSY;
  int error = check_path(path);
  if (error) return error;
  *upload = (struct upload){.open = true, .id = id, .parent = -1, .fd = -1, .mode = mode, .size = size};
  strcpy(upload->path, path);
  error = walk(upload, base);
  if (error) return give_up(upload, error);
  upload->fd = open_beneath(upload->parent, upload->name, O_WRONLY | O_CREAT | O_EXCL, 0600);
  return upload->fd < 0 ? give_up(upload, errno) : 0;
}

int upload_data(struct upload *upload, const uint8_t *bytes, size_t count) {
  if (count > upload->size - upload->written) return give_up(upload, EFBIG);
  while (count > 0) {
    ssize_t step = write(upload->fd, bytes, count);
    if (step < 0 && errno == EINTR) continue;
    if (step <= 0) return give_up(upload, step < 0 ? errno : EIO);
    bytes += step;
    count -= (size_t)step;
    upload->written += (uint64_t)step;
  }
  return 0;
}

int upload_end(struct upload *upload) {
  if (upload->written != upload->size) return give_up(upload, EINVAL);
  if (fchmod(upload->fd, upload->mode) < 0) return give_up(upload, errno);
  shut(upload);
  return 0;
}
