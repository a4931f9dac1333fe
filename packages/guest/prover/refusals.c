/* What a sandbox may not do at all: reach a network, or make the system calls that its profile refuses. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "prover.h"

/* Any address that is not of the sandbox itself does: nothing is sent. */
static int reach(int family) {
  struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(53)};
  struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(53)};
  inet_pton(AF_INET, "192.0.2.1", &four.sin_addr);
  inet_pton(AF_INET6, "2001:db8::1", &six.sin6_addr);
  int line = socket(family, SOCK_DGRAM, 0);
  if (line < 0) return errno;
  int failed = family == AF_INET ? connect(line, (struct sockaddr *)&four, sizeof four)
                                 : connect(line, (struct sockaddr *)&six, sizeof six);
  int error = failed ? errno : 0;
  close(line);
  return error;
}

int prove_network(long unused) {
  (void)unused;
  long others = 0;
  struct if_nameindex *all = if_nameindex();
  for (struct if_nameindex *one = all; one != NULL && one->if_index != 0; one++) {
    if (strcmp(one->if_name, "lo") != 0) others++;
  }
  if (all != NULL) if_freenameindex(all);
  printf("interfaces %ld errno4 %d errno6 %d\n", others, reach(AF_INET), reach(AF_INET6));
  return 0;
}

static long try_unshare(void) { return syscall(SYS_unshare, CLONE_NEWUSER); }
static long try_ptrace(void) { return syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0); }
static long try_keyctl(void) { return syscall(SYS_keyctl, 0, -3, 1); }
static long try_add_key(void) { return syscall(SYS_add_key, "user", "holdfast", "x", 1, -3); }
static long try_personality(void) { return syscall(SYS_personality, ADDR_NO_RANDOMIZE); }
static long try_userfaultfd(void) { return syscall(SYS_userfaultfd, 1); }
static long try_socket_alg(void) { return socket(AF_ALG, SOCK_SEQPACKET, 0); }
static long try_socket_vsock(void) { return socket(AF_VSOCK, SOCK_STREAM, 0); }

static long try_bpf(void) {
  union bpf_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.map_type = BPF_MAP_TYPE_ARRAY;
  attributes.key_size = attributes.value_size = attributes.max_entries = 4;
  return syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes);
}

static long try_perf(void) {
  struct perf_event_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.exclude_kernel = 1;
  return syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
}

static long try_io_uring(void) {
  char parameters[256];
  memset(parameters, 0, sizeof parameters);
  return syscall(SYS_io_uring_setup, 4, parameters);
}

struct refusal {
  const char *name;
  long (*attempt)(void);
};

static const struct refusal REFUSALS[] = {
    {"unshare", try_unshare},           {"ptrace", try_ptrace},         {"keyctl", try_keyctl},
    {"add_key", try_add_key},           {"bpf", try_bpf},               {"perf_event_open", try_perf},
    {"personality", try_personality},   {"io_uring", try_io_uring},     {"userfaultfd", try_userfaultfd},
    {"socket_alg", try_socket_alg},     {"socket_vsock", try_socket_vsock},
};

/* Each in a process of its own: one that is let through must not change what the next one sees. */
int prove_syscalls(long unused) {
  (void)unused;
  for (size_t i = 0; i < sizeof REFUSALS / sizeof *REFUSALS; i++) {
    int status = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) _exit(REFUSALS[i].attempt() < 0 ? errno & 0xff : 0);
    if (pid < 0 || waitpid(pid, &status, 0) < 0) return 1;
    printf("%s %d ", REFUSALS[i].name, WIFEXITED(status) ? WEXITSTATUS(status) : 255);
  }
  printf("\n");
  return 0;
}
