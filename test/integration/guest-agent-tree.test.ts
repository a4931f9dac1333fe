/** The real agent as process 1: whole trees are killed, limits hold, and nothing inside can harm or forge it. */
import { describe, expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { command, type Guest, type GuestOptions, processesOf, run, sh, startGuest } from "./guest-sandbox.js";

async function inGuest<T>(options: GuestOptions, use: (guest: Guest) => Promise<T>): Promise<T> {
  const guest = await startGuest(options);
  try {
    return await use(guest);
  } finally {
    await guest.close();
  }
}

const text = (bytes: Buffer) => bytes.toString("utf8");
const sleepers = (guest: Guest) => processesOf(guest, "sleep");

describe("what a command leaves behind", () => {
  it("is killed before its report where it may not stay, and its output is not waited for (O-09)", () =>
    inGuest({}, async (guest) => {
      const { exit, stdout } = await sh(guest, "(sleep 2; echo LATE; sleep 30) & setsid sleep 301 & echo now");
      expect(text(stdout)).toBe("now\n");
      expect(exit).toMatchObject({ exit_code: 0, tree: { survivors: 0 } });
      expect(exit.tree?.killed_processes).toBeGreaterThanOrEqual(2);
      expect(exit.wall_ms).toBeLessThan(1500);
      expect(await sleepers(guest)).toEqual([]);
    }));

  it("may stay: its late output is in no other command's, and writing it harms it not (O-09)", () =>
    inGuest({}, async (guest) => {
      const late = "sh -c 'sleep 0.3; echo LATE; echo LATE >&2; : > /tmp/wrote; sleep 302'";
      const first = await sh(guest, `${late} & echo now`, { leftovers: "keep" });
      const next = await sh(guest, "echo next", { leftovers: "keep" });
      await waitFor(async () => (await sh(guest, "[ -e /tmp/wrote ]", { leftovers: "keep" })).exit.exit_code === 0, {
        bound_ms: 5000,
        what: "the late writer goes on",
      });
      const last = await sh(guest, "echo last", { leftovers: "keep" });

      expect([first, next, last].map(({ stdout }) => text(stdout))).toEqual(["now\n", "next\n", "last\n"]);
      expect([first, next, last].map(({ exit }) => exit.tree)).toEqual([null, null, null]);
      expect(await sleepers(guest)).toEqual(["sleep 302"]);
      expect(await guest.link.killTree()).toMatchObject({ survivors: 0 });
      expect(await sleepers(guest)).toEqual([]);
    }));

  it("does not cut the tail of the output (O-04 with O-09)", () =>
    inGuest({}, async (guest) => {
      const { stdout } = await sh(guest, "sleep 60 & head -c 60000 /dev/zero; printf tail");
      expect([stdout.length, text(stdout.subarray(60_000))]).toEqual([60_004, "tail"]);
    }));
});

describe("the time limit", () => {
  it.each(["kill", "keep"] as const)("ends the whole tree, with leftovers %s (O-08)", (leftovers) =>
    inGuest({}, async (guest) => {
      const script = "trap '' TERM INT; setsid sleep 301 & sleep 302 & wait";
      const { exit } = await sh(guest, script, { timeout_ms: 300, leftovers });
      expect(exit).toMatchObject({ timed_out: true, exit_code: 137, signal: "SIGKILL", tree: { survivors: 0 } });
      expect(exit.tree?.killed_processes).toBe(3);
      expect(exit.wall_ms).toBeGreaterThanOrEqual(300);
      expect(exit.wall_ms).toBeLessThan(1500);
      expect(await sleepers(guest)).toEqual([]);
      expect(text((await sh(guest, "echo alive")).stdout)).toBe("alive\n");
    }),
  );
});

describe("a fork bomb", () => {
  it("that fills the process table is killed without a new process, again and again (O-10)", () =>
    inGuest({ pids_max: 48 }, async (guest) => {
      for (let round = 0; round < 3; round += 1) {
        const bomb = ":(){ :|:& };: ; while :; do :; done";
        const { exit } = await run(guest, ["bash", "-c", bomb], { timeout_ms: 700 });
        expect(exit).toMatchObject({ timed_out: true, tree: { survivors: 0 } });
        expect(exit.tree?.killed_processes).toBeGreaterThan(5);
      }
      expect(text((await sh(guest, "echo alive")).stdout)).toBe("alive\n");
    }));

  it("that stays leaves no room for a command, and killing the tree makes room again", () =>
    inGuest({ pids_max: 24 }, async (guest) => {
      const fill = "for i in $(seq 40); do sleep 300 & done; exec sleep 300";
      const full = guest.link.exec(command(["bash", "-c", fill], { leftovers: "keep" }), {
        stdout: () => {},
        stderr: () => {},
        progress: () => {},
      });
      const refused = await waitFor(
        async () => {
          const { exit, stderr } = await run(guest, ["true"], { leftovers: "keep" });
          return exit.start_failure ? { exit, stderr } : null;
        },
        { bound_ms: 5000, what: "a full process table" },
      );
      expect(refused.exit).toMatchObject({ exit_code: 126, start_failure: { errno: "EAGAIN" } });
      expect(text(refused.stderr)).toContain("no process can be started");
      expect((await guest.link.killTree()).killed_processes).toBeGreaterThan(15);
      await full.exited;
      expect((await run(guest, ["true"])).exit.exit_code).toBe(0);
    }));
});

describe("evidence", () => {
  it("of the kernel's memory kill comes from the control group, and the agent lives on (O1)", () =>
    inGuest({ memory_bytes: 48 * 1024 * 1024 }, async (guest) => {
      const hello = await guest.link.hello(5000);
      expect(hello.cgroup).toMatchObject({ version: 1, memory_bytes: 48 * 1024 * 1024, oom_kills: 0 });

      const { exit } = await run(guest, ["perl", "-e", '$x = "a" x 300_000_000']);
      expect(exit).toMatchObject({ exit_code: 137, signal: "SIGKILL", oom_kills: 1, timed_out: false });
      expect(exit.memory_peak_bytes).toBeGreaterThan(40 * 1024 * 1024);
      expect((await sh(guest, "kill -9 $$")).exit).toMatchObject({ signal: "SIGKILL", oom_kills: 0 });
    }));

  it("of a full disk is read at the end of the command", () =>
    inGuest({ workspace_bytes: 1_048_576 }, async (guest) => {
      const filled = await sh(guest, "head -c 4000000 /dev/zero > fill");
      expect(filled.exit.exit_code).not.toBe(0);
      expect(filled.exit.full_mounts).toEqual(["/workspace"]);
      expect((await sh(guest, "rm fill")).exit.full_mounts).toEqual([]);
    }));
});

describe("process 1", () => {
  it("has closed its memory, descriptors and environment to code of its own uid (AT-D5)", () =>
    inGuest({}, async (guest) => {
      const script =
        "for f in mem environ maps fd/0 fd/1 fd/4 fd/5; do cat /proc/1/$f >/dev/null 2>&1 && echo open $f; done; ls /proc/1/fd 2>&1; id -u";
      const { stdout } = await sh(guest, script);
      expect(text(stdout)).toMatch(/^ls: .*Permission denied\n1048577\n$/);
    }));

  it("takes no forged frame through procfs", () =>
    inGuest({}, async (guest) => {
      const forge =
        'for fd in 0 1 2 3 4 5 6 7 8; do printf \'\\0\\0\\0\\24\\215\\0\\0\\0\\0{"reason":"ordered"}\' > /proc/1/fd/$fd; done; exit 6';
      const { exit, stderr } = await sh(guest, forge);
      expect(exit.exit_code).not.toBe(0);
      expect(text(stderr)).toMatch(/Permission denied/);
      await guest.link.ping(1000);
    }));

  it("ignores every signal from inside (AT-D5)", () =>
    inGuest({}, async (guest) => {
      const { exit, stdout } = await run(guest, [
        "bash",
        "-c",
        "for s in {1..64}; do kill -$s 1; kill -$s 1; done; echo sent",
      ]);
      expect([exit.exit_code, text(stdout)]).toEqual([0, "sent\n"]);
      await guest.link.ping(1000);
      expect((await sh(guest, "exit 9")).exit.exit_code).toBe(9);
    }));

  it("hands no descriptor of its own to a command, though it has many open", () =>
    inGuest({}, async (guest) => {
      const idle = guest.link.exec(command(["sleep", "60"], { leftovers: "keep", stdin: Buffer.alloc(1000) }), {
        stdout: () => {},
        stderr: () => {},
        progress: () => {},
      });
      await idle.started;
      const { stdout } = await run(
        guest,
        ["bash", "-c", "for i in {0..300}; do [ -e /proc/$$/fd/$i ] && echo $i; done"],
        { leftovers: "keep" },
      );
      expect(text(stdout)).toBe("0\n1\n2\n3\n");
    }));
});
