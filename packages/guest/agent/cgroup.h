#ifndef HOLDFAST_CGROUP_H
#define HOLDFAST_CGROUP_H

#include <stdint.h>

/* Limits and counters of the sandbox's own control group. -1: not there, not readable, or without limit. */
struct cgroup {
  int64_t version;
  int64_t memory_bytes, memory_swap_bytes, pids_max, cpu_quota_us, cpu_period_us;
  int64_t oom_kills, memory_peak_bytes;
};

/* `root` is where the sandbox sees its control group, such as /sys/fs/cgroup. */
void cgroup_read(const char *root, struct cgroup *out);
/* Only what is compared before and after a command. */
void cgroup_read_memory(const char *root, struct cgroup *out);

#endif
