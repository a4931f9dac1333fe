#include "hello.h"

#include "clock.h"
#include "proc_text.h"
#include "sha256.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static char status_text[8192], mountinfo_text[196608], net_dev_text[16384];

void hello_gather_descriptors(struct hello *hello) {
  DIR *directory = opendir("/proc/self/fd");
  if (!directory) return;
  struct dirent *entry;
  while ((entry = readdir(directory)) && hello->descriptor_count < HELLO_DESCRIPTORS_MAX) {
    int fd = atoi(entry->d_name);
    if (entry->d_name[0] == '.' || fd == dirfd(directory)) continue;
    hello->descriptors[hello->descriptor_count++] = fd;
  }
  closedir(directory);
}

static void gather_namespaces(struct hello *hello) {
  static const char *const NAMES[HELLO_NAMESPACES_MAX] = {"cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"};
  for (int i = 0; i < HELLO_NAMESPACES_MAX; i++) {
    char path[64], *link = hello->namespaces[hello->namespace_count];
    snprintf(path, sizeof path, "/proc/self/ns/%s", NAMES[i]);
    ssize_t length = readlink(path, link, sizeof hello->namespaces[0] - 1);
    if (length < 0) continue;
    link[length] = 0;
    hello->namespace_names[hello->namespace_count++] = NAMES[i];
  }
}

static int64_t soft_limit(int resource) {
  struct rlimit limit;
  if (getrlimit(resource, &limit) < 0) return 0;
  return limit.rlim_cur > INT32_MAX ? INT32_MAX : (int64_t)limit.rlim_cur;
}

void hello_gather(struct hello *hello, const char *cgroup_root) {
  if (!sha256_file("/proc/self/exe", hello->agent_sha256)) hello->agent_sha256[0] = 0;
  hello->pid = getpid();
  hello->uid = getuid();
  hello->gid = getgid();
  int groups = getgroups(HELLO_GROUPS_MAX, hello->groups);
  hello->group_count = groups < 0 ? 0 : groups;
  gather_namespaces(hello);
  proc_text("/proc/self/status", status_text, sizeof status_text);
  proc_text("/proc/self/mountinfo", mountinfo_text, sizeof mountinfo_text);
  proc_text("/proc/self/net/dev", net_dev_text, sizeof net_dev_text);
  hello->status = status_text;
  hello->mountinfo = mountinfo_text;
  hello->net_dev = net_dev_text;
  hello->dumpable = prctl(PR_GET_DUMPABLE) != 0;
  cgroup_read(cgroup_root, &hello->cgroup);
  hello->nofile = soft_limit(RLIMIT_NOFILE);
  hello->core = soft_limit(RLIMIT_CORE);
  hello->boottime_ms = (int64_t)boot_ms();
}
