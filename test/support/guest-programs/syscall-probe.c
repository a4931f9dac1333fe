/* Tries system calls, each in a process of its own, and prints "name ok", "name errno N" or "name signal N". */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static long raw(long number, long a, long b, long c, long d) { return syscall(number, a, b, c, d, 0, 0); }

#if defined(__x86_64__)
static long through_int80(long number, long a, long b) {
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b) : "memory", "r8", "r9", "r10", "r11");
  if (result < 0) {
    errno = (int)-result;
    return -1;
  }
  return result;
}
#endif

static void *thread_main(void *argument) { return argument; }

static long threads(void) {
  pthread_t ids[8];
  for (int i = 0; i < 8; i++) {
    int failed = pthread_create(&ids[i], NULL, thread_main, NULL);
    if (failed) {
      errno = failed;
      return -1;
    }
  }
  for (int i = 0; i < 8; i++) pthread_join(ids[i], NULL);
  return 0;
}

static long reaped(pid_t pid) {
  int status;
  return pid < 0 || waitpid(pid, &status, 0) < 0 ? -1 : 0;
}

static long forked(void) {
  pid_t pid = fork();
  if (pid == 0) _exit(0);
  return reaped(pid);
}

static long spawned(void) {
  pid_t pid;
  char *argv[] = {"/proc/self/exe", "nothing", NULL};
  int failed = posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ);
  if (failed) {
    errno = failed;
    return -1;
  }
  return reaped(pid);
}

static long namespace_clone(long flag) {
  long pid = raw(SYS_clone, flag | SIGCHLD, 0, 0, 0);
  if (pid == 0) _exit(0);
  return pid < 0 ? -1 : reaped((pid_t)pid);
}

static long limited(pid_t pid) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  return raw(SYS_prlimit64, pid, RLIMIT_NOFILE, (long)&limit, 0);
}

/* Succeeds where the limit stays as it was, whatever call asks for 0. */
static long core_limit_stays(void) {
  struct rlimit before, after, none = {0, 0};
  getrlimit(RLIMIT_CORE, &before);
  if (raw(SYS_prlimit64, 0, RLIMIT_CORE, (long)&none, 0) < 0) return -1;
  if (raw(SYS_prlimit64, 0, RLIMIT_CORE | 1L << 32, (long)&none, 0) < 0) return -1;
#ifdef SYS_setrlimit
  if (raw(SYS_setrlimit, RLIMIT_CORE, (long)&none, 0, 0) < 0) return -1;
#endif
  getrlimit(RLIMIT_CORE, &after);
  errno = ERANGE;
  return before.rlim_cur == 1 && after.rlim_cur == 1 && after.rlim_max == 1 ? 0 : -1;
}

static long bound(pid_t pid) {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  return sched_setaffinity(pid, sizeof set, &set);
}

static long scheduled(pid_t pid) {
  struct sched_param param = {0};
  return sched_setscheduler(pid, SCHED_OTHER, &param);
}

static long opened(const char *path, int flags) { return open(path, flags); }

static long signalled_all(void) {
  for (int number = 1; number < 65; number++) kill(1, number);
  return kill(1, 0);
}

static long timer(void) { return timerfd_create(CLOCK_MONOTONIC, 0); }

static long signal_descriptor(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  return signalfd(-1, &set, 0);
}

static long pipes(void) {
  int ends[2];
  return pipe2(ends, O_CLOEXEC);
}

static long pair(int family) {
  int ends[2];
  return socketpair(family, SOCK_STREAM, 0, ends);
}

static long next_open(void) {
  struct {
    unsigned long flags, mode, resolve;
  } how = {O_RDONLY, 0, 0};
  return raw(SYS_openat2, AT_FDCWD, (long)"/", (long)&how, sizeof how);
}

#define TRY(name, expression)                                                     \
  do {                                                                            \
    fflush(stdout);                                                               \
    pid_t child = fork();                                                         \
    if (child == 0) {                                                             \
      errno = 0;                                                                  \
      long got = (long)(expression);                                              \
      _exit(got == -1 ? (errno & 127) : 0);                                       \
    }                                                                             \
    int ended = 0;                                                                \
    waitpid(child, &ended, 0);                                                    \
    if (WIFSIGNALED(ended)) printf("%s signal %d\n", name, WTERMSIG(ended));      \
    else if (WEXITSTATUS(ended)) printf("%s errno %d\n", name, WEXITSTATUS(ended)); \
    else printf("%s ok\n", name);                                                 \
  } while (0)
#define RAW(number) TRY(#number, raw(SYS_##number, 0, 0, 0, 0))

static void refused_outright(void) {
  TRY("mount", raw(SYS_mount, (long)"none", (long)"/tmp", (long)"tmpfs", 0));
  RAW(umount2); RAW(pivot_root); RAW(chroot); RAW(move_mount); RAW(open_tree); RAW(fsopen); RAW(fsconfig);
  RAW(fsmount); RAW(fspick); RAW(mount_setattr); RAW(setns);
  TRY("unshare_user", unshare(CLONE_NEWUSER));
  TRY("unshare_mount", unshare(CLONE_NEWNS));
  TRY("unshare_net", unshare(CLONE_NEWNET));
  TRY("clone_user", namespace_clone(CLONE_NEWUSER));
  TRY("clone_pid", namespace_clone(CLONE_NEWPID));
  RAW(clone3); RAW(ptrace); RAW(process_vm_readv); RAW(process_vm_writev); RAW(process_madvise); RAW(kcmp);
  RAW(pidfd_getfd); RAW(bpf); RAW(perf_event_open); RAW(userfaultfd); RAW(lookup_dcookie);
  RAW(add_key); RAW(request_key); RAW(keyctl);
  RAW(io_uring_setup); RAW(io_uring_enter); RAW(io_uring_register); RAW(io_setup); RAW(io_submit);
  RAW(open_by_handle_at); RAW(name_to_handle_at); RAW(fanotify_init); RAW(fanotify_mark);
  RAW(mq_open); RAW(mq_unlink); RAW(mq_notify);
  RAW(init_module); RAW(finit_module); RAW(delete_module); RAW(kexec_load); RAW(kexec_file_load); RAW(reboot);
  RAW(swapon); RAW(swapoff); RAW(acct); RAW(quotactl); RAW(syslog); RAW(vhangup);
  RAW(settimeofday); RAW(clock_settime); RAW(sethostname); RAW(setdomainname);
  RAW(get_mempolicy); RAW(mbind); RAW(set_mempolicy); RAW(migrate_pages); RAW(move_pages);
#if defined(__x86_64__)
  RAW(iopl); RAW(ioperm); RAW(modify_ldt);
  TRY("int80_getpid", through_int80(20, 0, 0));
  TRY("int80_mount", through_int80(21, 0, 0));
  TRY("int80_socketcall", through_int80(102, 1, 0));
  TRY("x32_getpid", raw(0x40000000 + 39, 0, 0, 0, 0));
#endif
}

static void refused_by_argument(void) {
  TRY("personality_no_random", personality(ADDR_NO_RANDOMIZE));
  TRY("prlimit_init", limited(1));
  TRY("prlimit_by_id", limited(getpid()));
  TRY("affinity_init", bound(1));
  TRY("scheduler_init", scheduled(1));
  TRY("priority_init", setpriority(PRIO_PROCESS, 1, 19));
  TRY("priority_user", setpriority(PRIO_USER, 0, 19));
  TRY("ioprio_init", raw(SYS_ioprio_set, 1, 1, 0, 0));
  TRY("socket_alg", socket(38, SOCK_SEQPACKET, 0));
  TRY("socket_alg_high_bits", raw(SYS_socket, 38 | (1L << 32), SOCK_SEQPACKET, 0, 0));
  TRY("socket_vsock", socket(40, SOCK_STREAM, 0));
  TRY("socket_packet", socket(17, SOCK_RAW, 0));
  TRY("socket_raw", socket(AF_INET, SOCK_RAW, 1));
  TRY("socket_mptcp", socket(AF_INET, SOCK_STREAM, 262));
  TRY("socket_mptcp_inet6", socket(AF_INET6, SOCK_STREAM, 262));
  TRY("socket_sctp", socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP));
  TRY("socket_udplite", socket(AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE));
  TRY("socket_icmp", socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP));
  TRY("socket_netlink_audit", socket(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT));
  TRY("socket_netlink_generic", socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC));
  TRY("socket_tipc", socket(30, SOCK_RDM, 0));
  TRY("socketpair_tipc", pair(30));
  TRY("proc_1_mem", opened("/proc/1/mem", O_RDWR));
  TRY("proc_1_environ", opened("/proc/1/environ", O_RDONLY));
  TRY("proc_1_fd", opened("/proc/1/fd/0", O_WRONLY));
  TRY("proc_1_oom", opened("/proc/1/oom_score_adj", O_WRONLY));
}

static void allowed(void) {
  TRY("threads", threads());
  TRY("fork", forked());
  TRY("spawn", spawned());
  TRY("pipe", pipes());
  TRY("eventfd", eventfd(0, 0));
  TRY("epoll", epoll_create1(0));
  TRY("timerfd", timer());
  TRY("signalfd", signal_descriptor());
  TRY("inotify", inotify_init1(0));
  TRY("memfd", memfd_create("m", 0));
  TRY("pidfd_open", raw(SYS_pidfd_open, getpid(), 0, 0, 0));
  TRY("openat2", next_open());
  TRY("pseudo_terminal", opened("/dev/ptmx", O_RDWR | O_NOCTTY));
  TRY("fifo", mkfifo("/tmp/probe-fifo", 0600));
  TRY("shm_posix", shm_open("/probe", O_CREAT | O_RDWR, 0600));
  TRY("shm_sysv", shmget(IPC_PRIVATE, 4096, 0600));
  TRY("sem_sysv", semget(IPC_PRIVATE, 1, 0600));
  TRY("exec_mapping", (long)mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  TRY("mlock", mlock(&errno, 1));
  TRY("prlimit_self", limited(0));
  TRY("affinity_self", bound(0));
  TRY("scheduler_self", scheduled(0));
  TRY("priority_self", setpriority(PRIO_PROCESS, 0, 19));
  TRY("personality_read", personality(0xffffffff));
  TRY("socket_unix", socket(AF_UNIX, SOCK_STREAM, 0));
  TRY("socket_inet", socket(AF_INET, SOCK_STREAM, 0));
  TRY("socket_inet6", socket(AF_INET6, SOCK_DGRAM, 0));
  TRY("socket_tcp", socket(AF_INET, SOCK_STREAM, IPPROTO_TCP));
  TRY("socket_udp_inet6", socket(AF_INET6, SOCK_DGRAM, IPPROTO_UDP));
  TRY("socket_netlink_route", socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
  TRY("socketpair_unix", pair(AF_UNIX));
  TRY("signals_to_init", signalled_all());
}

/* Answered with success and not done: the kernel itself would say that -1 is no descriptor. */
static void answered_only(void) {
  TRY("syncfs_of_nothing", raw(SYS_syncfs, -1, 0, 0, 0));
  TRY("sync", raw(SYS_sync, 0, 0, 0, 0));
  TRY("core_limit_stays", core_limit_stays());
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "nothing") == 0) return 0;
  refused_outright();
  refused_by_argument();
  allowed();
  answered_only();
  return 0;
}
