#include "hello.h"

#include "proc_text.h"

#include <stdlib.h>
#include <string.h>

#define MOUNTS_MAX 256
#define INTERFACES_MAX 64

static void write_numbers(struct json_out *out, const char *name, const int *numbers, int count) {
  json_name(out, name);
  json_raw(out, "[");
  for (int i = 0; i < count; i++) {
    json_comma(out);
    json_number(out, (uint64_t)(unsigned)numbers[i]);
  }
  json_raw(out, "]");
}

static void write_capabilities(struct json_out *out, const char *status) {
  static const char *const NAMES[][2] = {{"inheritable", "CapInh"},
                                         {"permitted", "CapPrm"},
                                         {"effective", "CapEff"},
                                         {"bounding", "CapBnd"},
                                         {"ambient", "CapAmb"}};
  json_name(out, "capabilities");
  json_raw(out, "{");
  for (int i = 0; i < 5; i++) {
    char mask[32];
    proc_field(status, NAMES[i][1], mask, sizeof mask);
    json_field_text(out, NAMES[i][0], mask);
  }
  json_raw(out, "}");
}

static void write_cgroup(struct json_out *out, const struct cgroup *cgroup) {
  json_name(out, "cgroup");
  json_raw(out, "{");
  json_field_maybe(out, "version", cgroup->version);
  json_field_maybe(out, "memory_bytes", cgroup->memory_bytes);
  json_field_maybe(out, "memory_swap_bytes", cgroup->memory_swap_bytes);
  json_field_maybe(out, "pids_max", cgroup->pids_max);
  json_field_maybe(out, "cpu_quota_us", cgroup->cpu_quota_us);
  json_field_maybe(out, "cpu_period_us", cgroup->cpu_period_us);
  json_field_maybe(out, "oom_kills", cgroup->oom_kills);
  json_raw(out, "}");
}

/* One blank-separated word; returns what follows it. */
static const char *word(const char *at, const char **start, size_t *length) {
  at += strspn(at, " ");
  *start = at;
  *length = strcspn(at, " \n");
  return at + *length;
}

/* The kernel writes blanks, tabs, newlines and backslashes in paths as three octal digits. */
static size_t unescape(const char *from, size_t length, char *to, size_t capacity) {
  size_t count = 0;
  for (size_t i = 0; i < length && count < capacity; i++) {
    bool octal = from[i] == '\\' && i + 3 < length && from[i + 1] >= '0' && from[i + 1] <= '3';
    if (octal) {
      to[count++] = (char)((from[i + 1] - '0') << 6 | (from[i + 2] - '0') << 3 | (from[i + 3] - '0'));
      i += 3;
    } else {
      to[count++] = from[i];
    }
  }
  return count;
}

/* "36 35 98:0 /root /target rw,noatime master:1 - ext4 /dev/root rw": fields 5, 6, then type and options after "-". */
static void write_mount(struct json_out *out, const char *line) {
  const char *at = line, *target, *options, *type, *super, *skipped;
  size_t target_length, options_length, type_length, super_length, skipped_length;
  for (int i = 0; i < 4; i++) at = word(at, &skipped, &skipped_length);
  at = word(at, &target, &target_length);
  at = word(at, &options, &options_length);
  const char *separator = strstr(at, " - ");
  const char *end = strchr(line, '\n');
  if (!separator || (end && separator > end)) return;
  at = word(separator + 3, &type, &type_length);
  at = word(at, &skipped, &skipped_length);
  word(at, &super, &super_length);

  char path[4096], joined[8192];
  size_t path_length = unescape(target, target_length, path, sizeof path);
  if (options_length + super_length + 1 > sizeof joined) super_length = 0;
  if (options_length + 1 > sizeof joined) options_length = 0;
  memcpy(joined, options, options_length);
  joined[options_length] = ',';
  memcpy(joined + options_length + 1, super, super_length);
  json_comma(out);
  json_raw(out, "{");
  json_name(out, "target");
  json_text(out, path, path_length);
  json_name(out, "type");
  json_text(out, type, type_length);
  json_name(out, "options");
  json_text(out, joined, options_length + 1 + super_length);
  json_raw(out, "}");
}

static void write_mounts(struct json_out *out, const char *mountinfo) {
  json_name(out, "mounts");
  json_raw(out, "[");
  int count = 0;
  for (const char *line = mountinfo; line && *line && count < MOUNTS_MAX; count++) {
    write_mount(out, line);
    line = strchr(line, '\n');
    if (line) line++;
  }
  json_raw(out, "]");
}

/* Two lines of headings, then "  name: counters". */
static void write_interfaces(struct json_out *out, const char *net_dev) {
  json_name(out, "interfaces");
  json_raw(out, "[");
  int count = 0;
  for (const char *line = net_dev; line && *line && count < INTERFACES_MAX;) {
    const char *start = line + strspn(line, " ");
    size_t length = strcspn(start, ":\n|");
    if (start[length] == ':') {
      json_comma(out);
      json_text(out, start, length);
      count++;
    }
    line = strchr(line, '\n');
    if (line) line++;
  }
  json_raw(out, "]");
}

static void write_namespaces(struct json_out *out, const struct hello *hello) {
  json_name(out, "namespaces");
  json_raw(out, "{");
  for (int i = 0; i < hello->namespace_count; i++) {
    json_field_text(out, hello->namespace_names[i], hello->namespaces[i]);
  }
  json_raw(out, "}");
}

void hello_write(struct json_out *out, const struct hello *hello) {
  char value[32];
  json_raw(out, "{");
  json_field_number(out, "protocol", 1);
  json_field_text(out, "agent_sha256", hello->agent_sha256);
  json_field_maybe(out, "pid", hello->pid);
  json_field_maybe(out, "uid", hello->uid);
  json_field_maybe(out, "gid", hello->gid);
  write_numbers(out, "groups", (const int *)hello->groups, hello->group_count);
  write_capabilities(out, hello->status);
  proc_field(hello->status, "NoNewPrivs", value, sizeof value);
  json_field_bool(out, "no_new_privs", value[0] == '1');
  proc_field(hello->status, "Seccomp", value, sizeof value);
  json_field_number(out, "seccomp_mode", (uint64_t)atoi(value));
  json_field_bool(out, "dumpable", hello->dumpable);
  write_cgroup(out, &hello->cgroup);
  json_name(out, "rlimits");
  json_raw(out, "{");
  json_field_maybe(out, "nofile", hello->nofile);
  json_field_maybe(out, "core", hello->core);
  json_raw(out, "}");
  write_mounts(out, hello->mountinfo);
  write_interfaces(out, hello->net_dev);
  write_numbers(out, "descriptors", hello->descriptors, hello->descriptor_count);
  write_namespaces(out, hello);
  json_field_maybe(out, "boottime_ms", hello->boottime_ms);
  json_raw(out, "}");
}
