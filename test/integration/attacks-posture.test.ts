/** Attack catalogue, part A and D: an ordinary task tries the walls of its sandbox. */
import { readFileSync, readlinkSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SHELL_IMAGE, startFleet, type TestFleet } from "../support/fleet.js";

let fleet: TestFleet;
beforeAll(async () => {
  fleet = await startFleet({ slots: 4 });
});
afterAll(() => fleet.stopAndExpectNothingLeft());

/** Runs Python and parses what it prints; the code prints one JSON value. */
async function probe(code: string, extra: object = {}): Promise<unknown> {
  const outcome = await fleet.run({
    command: ["python3", "probe.py"],
    files: [{ path: "probe.py", content: code }],
    ...extra,
  });
  expect(outcome, outcome.stderr.text ?? "").toMatchObject({ status: "SUCCEEDED" });
  return JSON.parse(outcome.stdout.text ?? "");
}

const TRY = `
import os, json, errno, ctypes, signal
def attempt(f):
    try:
        f(); return "done"
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e.errno))
`;

describe("AT-A1: the posture of every process, read from the host", () => {
  it("no capability, no new privileges, filtered calls, an own numeric user without groups (E3)", async () => {
    const running = await fleet.start({ image: SHELL_IMAGE, command: ["sh", "-c", "sleep 20 & sleep 20"] });
    const pids = await fleet.hostPidsOf(running, 3);

    for (const pid of pids) {
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      const field = (name: string) => status.match(new RegExp(`^${name}:\\s*(.*)$`, "m"))?.[1]?.trim();
      for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]) expect(field(set), set).toMatch(/^0+$/);
      expect(field("NoNewPrivs")).toBe("1");
      expect(field("Seccomp")).toBe("2");
      const [uid] = (field("Uid") ?? "").split(/\s+/).map(Number);
      expect(uid).toBeGreaterThanOrEqual(2 ** 20);
      expect(["", String(uid)], "no group but its own").toContain(field("Groups"));
    }

    await fleet.client.cancel(running);
    expect((await fleet.client.outcome(running)).status).toBe("CANCELLED");
  });
});

describe("AT-A3 and AT-A4: writing where nothing may be written", () => {
  it("the root file system, devices, /proc and /sys refuse", async () => {
    const answers = (await probe(`${TRY}
def write(path):
    def go():
        fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644); os.write(fd, b"1"); os.close(fd)
    return attempt(go)
paths = ["/x", "/etc/passwd", "/usr/bin/x", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper",
         "/proc/sys/vm/overcommit_memory", "/dev/x", "/dev/mqueue/x", "/run/x", "/var/tmp/x", "/.holdfast/x", "/.holdfast/holdfast-agent"]
out = {p: write(p) for p in paths}
out["mknod"] = attempt(lambda: os.mknod("/workspace/dev", 0o20666, os.makedev(1, 3)))
print(json.dumps(out))`)) as Record<string, string>;

    for (const [path, answer] of Object.entries(answers)) {
      expect(["EROFS", "EACCES", "EPERM", "ENOENT", "EISDIR", "ETXTBSY"], path).toContain(answer);
    }
  });

  it("a set-uid bit gives nobody anything", async () => {
    const answers = await probe(`${TRY}
import shutil, subprocess
shutil.copy("/usr/bin/id" if os.path.exists("/usr/bin/id") else "/bin/sh", "/workspace/s")
mode = attempt(lambda: os.chmod("/workspace/s", 0o4755))
print(json.dumps({"euid": os.geteuid(), "uid": os.getuid(), "setuid": attempt(lambda: os.setuid(0)), "mode": mode}))`);

    expect(answers).toMatchObject({ setuid: "EPERM" });
  });

  it("kernel secrets read empty or not at all (AT-A4)", async () => {
    const answers = (await probe(`${TRY}
def size(path):
    try:
        with open(path, "rb") as f: return len(f.read(64))
    except OSError as e: return errno.errorcode[e.errno]
print(json.dumps({p: size(p) for p in ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware/x", "/proc/sched_debug", "/dev/mem", "/dev/kmsg"]}))`)) as Record<
      string,
      unknown
    >;

    for (const [path, answer] of Object.entries(answers))
      expect([0, "ENOENT", "EACCES", "EPERM"], path).toContain(answer);
  });
});

describe("AT-A5 and AT-A6: control groups and twins", () => {
  it("control groups cannot be mounted or written", async () => {
    const answers = (await probe(`${TRY}
libc = ctypes.CDLL(None, use_errno=True)
def call(f, *a):
    r = f(*a); return "done" if r == 0 else errno.errorcode[ctypes.get_errno()]
def write(path):
    def go():
        fd = os.open(path, os.O_WRONLY); os.write(fd, b"1")
    return attempt(go)
print(json.dumps({
  "mount": call(libc.mount, b"none", b"/workspace", b"cgroup", 0, b"memory"),
  "unshare_user": call(libc.unshare, 0x10000000), "unshare_mount": call(libc.unshare, 0x20000),
  "limit": write("/sys/fs/cgroup/memory/memory.limit_in_bytes"), "procs": write("/sys/fs/cgroup/memory/cgroup.procs"),
}))`)) as Record<string, string>;

    for (const [what, answer] of Object.entries(answers)) {
      expect(["EPERM", "EACCES", "EROFS", "ENOENT", "ENOSYS"], what).toContain(answer);
    }
  });

  it("two sandboxes share no namespace, no uid, no memory and no file (AT-A6)", async () => {
    const look = `${TRY}
ns = {n: os.readlink("/proc/self/ns/" + n) for n in ["mnt", "pid", "ipc", "net", "uts", "cgroup"]}
found = [p for p in ["/dev/shm/mark", "/tmp/mark", "/workspace/mark"] if os.path.exists(p)]
for p in ["/dev/shm/mark", "/tmp/mark", "/workspace/mark"]: open(p, "w").write("x")
import time; time.sleep(2)
print(json.dumps({"ns": ns, "uid": os.getuid(), "found": found, "hostname": os.uname().nodename}))`;

    const [left, right] = (await Promise.all([probe(look), probe(look)])) as [
      { ns: Record<string, string>; uid: number; found: string[] },
      { ns: Record<string, string>; uid: number; found: string[] },
    ];

    for (const name of Object.keys(left.ns)) {
      expect(left.ns[name], name).not.toBe(right.ns[name]);
      expect(left.ns[name], name).not.toBe(hostNamespace(name));
    }
    expect(left.uid).not.toBe(right.uid);
    expect([...left.found, ...right.found]).toEqual([]);
  });
});

function hostNamespace(name: string): string {
  return readlinkSync(`/proc/self/ns/${name}`);
}

describe("AT-A7: what can be found inside", () => {
  it("no socket of an engine, no host process, no device, no descriptor but 0 to 3, only loopback (AT-E1)", async () => {
    const found = await probe(`${TRY}
import glob, socket
def connect():
    s = socket.socket(); s.settimeout(2); s.connect(("1.1.1.1", 53))
print(json.dumps({
  "sockets": [p for p in ["/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock"] if os.path.exists(p)],
  "devices": [p for p in ["/dev/kvm", "/dev/fuse", "/dev/mem", "/dev/sda", "/dev/vda"] if os.path.exists(p)],
  "processes": sorted(int(p) for p in os.listdir("/proc") if p.isdigit() and int(p) not in (1, os.getpid(), os.getppid())),
  "fds": sorted(int(x) for x in os.listdir("/proc/self/fd"))[:4],
  "fd_count": len(os.listdir("/proc/self/fd")) <= 5,
  "interfaces": sorted(n for _, n in socket.if_nameindex()),
  "connect": attempt(connect),
}))`);

    expect(found).toMatchObject({
      sockets: [],
      devices: [],
      processes: [],
      fds: [0, 1, 2, 3],
      fd_count: true,
      interfaces: ["lo"],
      connect: "ENETUNREACH",
    });
  });
});

describe("AT-D1 and AT-D5: process 1 of the same user", () => {
  it("cannot be read, traced, limited or signalled, and the task's outcome stays its own (O1)", async () => {
    const answers = (await probe(`${TRY}
libc = ctypes.CDLL(None, use_errno=True)
def call(f, *a):
    r = f(*a); return "done" if r >= 0 else errno.errorcode[ctypes.get_errno()]
import resource
out = {
  "mem": attempt(lambda: os.open("/proc/1/mem", os.O_RDWR)),
  "environ": attempt(lambda: open("/proc/1/environ").read()),
  "fd": attempt(lambda: os.listdir("/proc/1/fd")),
  "ptrace": call(libc.ptrace, 16, 1, 0, 0),
  "prlimit": attempt(lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (1, 1))),
  "priority": attempt(lambda: os.setpriority(os.PRIO_PROCESS, 1, 19)),
  "affinity": attempt(lambda: os.sched_setaffinity(1, {0})),
  "oom": attempt(lambda: open("/proc/1/oom_score_adj", "w").write("1000")),
  "group_priority": attempt(lambda: os.setpriority(os.PRIO_PGRP, 1, 19)),
  "user_priority": attempt(lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19)),
  "pidfd_getfd": call(libc.syscall, 438, os.pidfd_open(1), 0, 0),
  **{n: attempt(lambda: os.write(os.open("/proc/1/" + n, os.O_WRONLY), b"1")) for n in
     ["timerslack_ns", "autogroup", "sched", "comm", "clear_refs", "coredump_filter", "oom_adj", "loginuid", "task/1/mem"]},
}
import fcntl
reader, writer = os.pipe()
for s in (9, 19, 29, 40):
    fcntl.fcntl(reader, 10, s); fcntl.fcntl(reader, fcntl.F_SETOWN, 1)
    fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK); os.write(writer, b"x")
for s in range(1, 65):
    if s not in (32, 33): attempt(lambda: os.kill(1, s))
print(json.dumps(out))`)) as Record<string, string>;

    for (const [what, answer] of Object.entries(answers))
      expect(["EPERM", "EACCES", "ESRCH", "ENOENT"], what).toContain(answer);
  });

  it("forged frames on every descriptor change neither status nor exit code", async () => {
    const code = `
import os, struct, json, sys
payload = json.dumps({"exit_code": 0, "signal": None, "timed_out": False}).encode()
frame = struct.pack(">IBI", len(payload), 0x88, 1) + payload
for fd in range(1, 256):
    for data in (b"HOLDFAST1\\n", frame):
        try: os.write(fd, data)
        except OSError: pass
for p in ("/proc/1/fd/1", "/proc/1/fd/0"):
    try: os.write(os.open(p, os.O_WRONLY), frame)
    except OSError: pass
sys.exit(9)`;

    const outcome = await fleet.run({ command: ["python3", "-c", code] });

    expect(outcome).toMatchObject({ status: "FAILED", exit_code: 9, error: { code: "NONZERO_EXIT" } });
  });

  it("kill -9 -1 by a child ends its own command alone, as a signal", async () => {
    const line = "sh -c 'kill -9 -1; sleep 1' & wait; sleep 5";

    const outcome = await fleet.run({ image: SHELL_IMAGE, command: ["sh", "-c", line] });

    expect(outcome).toMatchObject({
      status: "FAILED",
      signal: "SIGKILL",
      error: { code: "KILLED_BY_SIGNAL", fault: "user" },
    });
  });
});
