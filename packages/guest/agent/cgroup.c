#include "cgroup.h"

#include "proc_text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXACT_MAX 9007199254740991
#define TEXT_MAX 4096

/* Version 1 writes "no limit" as a number near 2^63, version 2 as "max"; both are beyond what JSON holds exactly. */
static int64_t number(const char *text) {
  int64_t value = 0;
  const char *at = text + strspn(text, " ");
  if (*at < '0' || *at > '9') return -1;
  while (*at >= '0' && *at <= '9') {
    value = value * 10 + (*at++ - '0');
    if (value > EXACT_MAX) return -1;
  }
  return value;
}

static int64_t number_after(const char *text, const char *key) {
  size_t length = strlen(key);
  for (const char *line = text; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
    if (strncmp(line, key, length) == 0 && line[length] == ' ') return number(line + length);
  }
  return -1;
}

static const char *text_of(const char *root, const char *name) {
  static char text[TEXT_MAX];
  char path[256];
  snprintf(path, sizeof path, "%s/%s", root, name);
  return proc_text(path, text, sizeof text) < 0 ? "" : text;
}

static int64_t version_of(const char *root) {
  char path[256];
  snprintf(path, sizeof path, "%s/memory/memory.limit_in_bytes", root);
  if (access(path, F_OK) == 0) return 1;
  snprintf(path, sizeof path, "%s/cgroup.controllers", root);
  return access(path, F_OK) == 0 ? 2 : -1;
}

static void read_memory(const char *root, struct cgroup *out) {
  if (out->version == 1) {
    out->oom_kills = number_after(text_of(root, "memory/memory.oom_control"), "oom_kill");
    out->memory_peak_bytes = number(text_of(root, "memory/memory.max_usage_in_bytes"));
  } else if (out->version == 2) {
    out->oom_kills = number_after(text_of(root, "memory.events"), "oom_kill");
    out->memory_peak_bytes = number(text_of(root, "memory.peak"));
  }
}

static void read_v1(const char *root, struct cgroup *out) {
  out->memory_bytes = number(text_of(root, "memory/memory.limit_in_bytes"));
  out->memory_swap_bytes = number(text_of(root, "memory/memory.memsw.limit_in_bytes"));
  out->pids_max = number(text_of(root, "pids/pids.max"));
  out->cpu_quota_us = number(text_of(root, "cpu/cpu.cfs_quota_us"));
  out->cpu_period_us = number(text_of(root, "cpu/cpu.cfs_period_us"));
}

static void read_v2(const char *root, struct cgroup *out) {
  out->memory_bytes = number(text_of(root, "memory.max"));
  int64_t swap = number(text_of(root, "memory.swap.max"));
  out->memory_swap_bytes = swap < 0 || out->memory_bytes < 0 ? -1 : out->memory_bytes + swap;
  out->pids_max = number(text_of(root, "pids.max"));
  const char *cpu = text_of(root, "cpu.max");
  const char *period = strchr(cpu, ' ');
  out->cpu_quota_us = number(cpu);
  out->cpu_period_us = period ? number(period) : -1;
}

void cgroup_read_memory(const char *root, struct cgroup *out) {
  *out = (struct cgroup){version_of(root), -1, -1, -1, -1, -1, -1, -1};
  read_memory(root, out);
}

void cgroup_read(const char *root, struct cgroup *out) {
  cgroup_read_memory(root, out);
  if (out->version == 1) read_v1(root, out);
  if (out->version == 2) read_v2(root, out);
}
