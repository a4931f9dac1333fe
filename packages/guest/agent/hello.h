#ifndef HOLDFAST_HELLO_H
#define HOLDFAST_HELLO_H

#include "cgroup.h"
#include "json_write.h"

#include <sys/types.h>

#define HELLO_GROUPS_MAX 64
#define HELLO_DESCRIPTORS_MAX 256
#define HELLO_NAMESPACES_MAX 8

/* What the agent finds out about its own sandbox before any user code runs. */
struct hello {
  char agent_sha256[65];
  int64_t pid, uid, gid;
  int group_count, descriptor_count, namespace_count;
  gid_t groups[HELLO_GROUPS_MAX];
  int descriptors[HELLO_DESCRIPTORS_MAX];
  const char *namespace_names[HELLO_NAMESPACES_MAX];
  char namespaces[HELLO_NAMESPACES_MAX][64];
  const char *status; /* text of /proc/self/status */
  const char *mountinfo;
  const char *net_dev;
  bool dumpable;
  struct cgroup cgroup;
  int64_t nofile, core, boottime_ms;
};

/* Descriptors are those it was started with, so this is called before any other is opened. */
void hello_gather_descriptors(struct hello *hello);
void hello_gather(struct hello *hello, const char *cgroup_root);
void hello_write(struct json_out *out, const struct hello *hello);

#endif
