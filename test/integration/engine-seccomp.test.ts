/** AT-A2, AT-D5: system calls tried in a live sandbox, against a golden table. A change of any answer is a failure. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compileProgram, containerOf, openTestEngine, runIn, type TestEngine } from "../support/engine-fixture.js";

let world: TestEngine;
let answers: Map<string, string>;
let containerIsUp: boolean;

beforeAll(async () => {
  world = await openTestEngine();
  const program = readFileSync(compileProgram("syscall-probe"));
  const sandbox = await world.sandbox();
  await sandbox.writeFile({ path: "probe", mode: 0o755, content: program });
  const { exit, stdout, stderr } = await runIn(sandbox, ["/workspace/probe"]);
  expect(exit, stderr).toMatchObject({ exit_code: 0 });
  answers = new Map(
    stdout
      .trim()
      .split("\n")
      .map((line): [string, string] => [line.split(" ")[0] ?? "", line.slice(line.indexOf(" ") + 1)]),
  );
  containerIsUp = (await containerOf(sandbox.sandbox_id)).State.Running;
  await sandbox.ping();
});
afterAll(() => world.close());

const EPERM = "errno 1";
const EACCES = "errno 13";
const ENOSYS = "errno 38";
const SIGSYS = "signal 31";

/** Name of the attempt, as the probe prints it, by the answer it must get. */
const GOLDEN: Readonly<Record<string, readonly string[]>> = {
  [EPERM]: [
    ...[
      "mount",
      "umount2",
      "pivot_root",
      "chroot",
      "move_mount",
      "open_tree",
      "fsopen",
      "fsconfig",
      "fsmount",
      "fspick",
    ],
    ...["mount_setattr", "setns", "unshare_user", "unshare_mount", "unshare_net", "clone_user", "clone_pid"],
    ...["ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd"],
    ...["bpf", "perf_event_open", "userfaultfd", "lookup_dcookie", "add_key", "request_key", "keyctl"],
    ...[
      "open_by_handle_at",
      "name_to_handle_at",
      "fanotify_init",
      "fanotify_mark",
      "mq_open",
      "mq_unlink",
      "mq_notify",
    ],
    ...["init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff"],
    ...["acct", "quotactl", "syslog", "vhangup", "settimeofday", "clock_settime", "sethostname", "setdomainname"],
    ...["get_mempolicy", "mbind", "set_mempolicy", "migrate_pages", "move_pages", "iopl", "ioperm", "modify_ldt"],
    ...["personality_no_random", "prlimit_init", "prlimit_by_id", "affinity_init", "scheduler_init", "priority_init"],
    ...["priority_user", "ioprio_init", "socket_alg", "socket_alg_high_bits", "socket_vsock", "socket_packet"],
    ...["socket_raw", "socket_netlink_audit", "socket_netlink_generic", "socket_tipc", "socketpair_tipc"],
    ...["socket_mptcp", "socket_mptcp_inet6", "socket_sctp", "socket_udplite", "socket_icmp"],
  ],
  [ENOSYS]: ["clone3", "io_uring_setup", "io_uring_enter", "io_uring_register", "io_setup", "io_submit"],
  [SIGSYS]: ["int80_getpid", "int80_mount", "int80_socketcall", "x32_getpid"],
  [EACCES]: ["proc_1_mem", "proc_1_environ", "proc_1_fd", "proc_1_oom"],
  ok: [
    ...[
      "threads",
      "fork",
      "spawn",
      "pipe",
      "eventfd",
      "epoll",
      "timerfd",
      "signalfd",
      "inotify",
      "memfd",
      "pidfd_open",
    ],
    ...["openat2", "pseudo_terminal", "fifo", "shm_posix", "shm_sysv", "sem_sysv", "exec_mapping", "mlock"],
    ...["prlimit_self", "affinity_self", "scheduler_self", "priority_self", "personality_read", "socket_unix"],
    ...["socket_inet", "socket_inet6", "socket_netlink_route", "socketpair_unix", "signals_to_init"],
    ...["socket_tcp", "socket_udp_inet6", "syncfs_of_nothing", "sync", "core_limit_stays"],
  ],
};

describe("system calls in a sandbox (AT-A2)", () => {
  it.each(Object.entries(GOLDEN).flatMap(([answer, names]) => names.map((name) => [name, answer])))(
    "%s: %s",
    (name, answer) => {
      expect(answers.get(name)).toBe(answer);
    },
  );

  it("tries nothing that this table does not name", () => {
    expect([...answers.keys()].toSorted()).toEqual(Object.values(GOLDEN).flat().toSorted());
  });

  it("every signal from inside leaves process 1 alive and answering (AT-D5)", () => {
    expect(answers.get("signals_to_init")).toBe("ok");
    expect(containerIsUp).toBe(true);
  });
});

describe("Python under the filter", () => {
  it("threading, multiprocessing, subprocess and asyncio work", async () => {
    const python = await openTestEngine({ images: [{ image: "holdfast/python:3.11-1" }] });
    const sandbox = await python.sandbox({
      image: "holdfast/python:3.11-1",
      resources: { cpu: 1, memory_mb: 256, disk_mb: 16, pids_limit: 64 },
    });
    const code = `
import asyncio, multiprocessing, subprocess, threading
def double(n): return 2 * n
async def main():
    child = await asyncio.create_subprocess_exec("true")
    return await child.wait()
if __name__ == "__main__":
    seen = []
    threads = [threading.Thread(target=seen.append, args=(n,)) for n in range(8)]
    [t.start() for t in threads]; [t.join() for t in threads]
    with multiprocessing.Pool(2) as pool: doubled = pool.map(double, range(4))
    queue = multiprocessing.Queue(); queue.put(5)
    print(sorted(seen), doubled, subprocess.run(["true"]).returncode, asyncio.run(main()), queue.get())
`;
    await sandbox.writeFile({ path: "main.py", mode: 0o644, content: Buffer.from(code) });

    const { stdout, stderr } = await runIn(sandbox, ["python3", "main.py"]);

    expect([stdout, stderr]).toEqual(["[0, 1, 2, 3, 4, 5, 6, 7] [0, 2, 4, 6] 0 0 5\n", ""]);
    await python.close();
  });
});
