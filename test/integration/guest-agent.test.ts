/** The real agent as process 1: outcomes, input, output, trees, ends. No engine is needed for it. */
import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AGENT_DIRECTORY } from "../support/engine-fixture.js";
import { command, GUEST_UID, type Guest, latch, run, sh, startGuest } from "./guest-sandbox.js";

const shared: { guest: Guest | null } = { guest: null };

function guest(): Guest {
  if (!shared.guest) throw new Error("the shared sandbox did not start");
  return shared.guest;
}

beforeAll(async () => {
  shared.guest = await startGuest();
});

afterAll(async () => {
  await shared.guest?.close();
});

const text = (bytes: Buffer) => bytes.toString("utf8");

describe("hello", () => {
  it("tells what the live sandbox is, and the hash of the program that runs", async () => {
    const hello = await guest().link.hello(5000);
    const digest = createHash("sha256")
      .update(readFileSync(join(AGENT_DIRECTORY, "holdfast-agent")))
      .digest("hex");

    expect(hello).toMatchObject({ pid: 1, uid: GUEST_UID, gid: GUEST_UID, groups: [], dumpable: false });
    expect(hello).toMatchObject({ agent_sha256: digest, no_new_privs: true, interfaces: ["lo"], rlimits: { core: 1 } });
    expect(new Set(Object.values(hello.capabilities))).toEqual(new Set(["0000000000000000"]));
    expect(hello.mounts.find(({ target }) => target === "/workspace")).toMatchObject({ type: "tmpfs" });
    expect(hello.namespaces["pid"]).toMatch(/^pid:\[\d+\]$/);
  });
});

describe("exit codes and signals (O1)", () => {
  it.each([0, 1, 7, 126, 127, 255])("reports exit code %i as it is", async (code) => {
    const { exit } = await sh(guest(), `exit ${code}`);
    expect(exit).toMatchObject({ exit_code: code, signal: null, start_failure: null, timed_out: false });
  });

  it.each([
    ["kill -9 $$", 137, "SIGKILL"],
    ["kill -TERM $$", 143, "SIGTERM"],
    ["kill -ABRT $$", 134, "SIGABRT"],
    ["kill -SEGV $$", 139, "SIGSEGV"],
  ])("reports %s as %i and %s", async (script, exit_code, signal) => {
    expect((await sh(guest(), script)).exit).toMatchObject({ exit_code, signal, start_failure: null });
  });

  it("sends a signal to the command that is asked for", async () => {
    const script = "trap 'echo caught; exit 3' USR1; echo ready; while :; do sleep 0.05; done";
    const ready = latch();
    let stdout = "";
    const running = guest().link.exec(command(["sh", "-c", script]), {
      stdout: (chunk) => {
        stdout += chunk;
        ready.open();
      },
      stderr: () => {},
      progress: () => {},
    });
    await ready.opened;
    running.signal("SIGUSR1");
    expect(await running.exited).toMatchObject({ exit_code: 3 });
    expect(stdout).toBe("ready\ncaught\n");
  });
});

describe("a command that cannot be started", () => {
  const put = (path: string, mode: number, content: string) =>
    guest().link.writeFile({ path, mode, content: Buffer.from(content) });

  it("that is nowhere on PATH is 127 and named", async () => {
    const { exit, stderr } = await run(guest(), ["no-such-tool-q", "--x"]);
    expect(exit).toMatchObject({ exit_code: 127, start_failure: { code: "COMMAND_NOT_FOUND", errno: "ENOENT" } });
    expect(text(stderr)).toBe("holdfast: no-such-tool-q: not found (ENOENT)\n");
    expect(exit.stderr_bytes).toBe(stderr.length);
  });

  it.each([
    ["./plain.txt", 0o644, "echo hi\n", 126, "EACCES"],
    ["./no-first-line", 0o755, "echo hi\n", 126, "ENOEXEC"],
    ["./no-interpreter", 0o755, "#!/nowhere/sh\n", 127, "ENOENT"],
  ])("%s with mode %o", async (path, mode, content, exit_code, errno) => {
    await put(path.slice(2), mode, content);
    const { exit, stderr } = await run(guest(), [path]);
    expect([exit.exit_code, exit.start_failure?.errno]).toEqual([exit_code, errno]);
    expect(text(stderr)).toContain(path);
  });

  it("that is a directory is 126", async () => {
    const { exit, stderr } = await run(guest(), ["/etc"]);
    expect(exit).toMatchObject({ exit_code: 126, start_failure: { code: "COMMAND_NOT_EXECUTABLE", errno: "EISDIR" } });
    expect(text(stderr)).toContain("/etc: not executable: is a directory");
  });

  it("is looked for on the request's own PATH, past what cannot be executed", async () => {
    await put("first/tool", 0o644, "#!/bin/sh\necho first\n");
    await put("second/tool", 0o755, "#!/bin/sh\necho second\n");
    const env = { PATH: "/nowhere:/workspace/first:second" };
    expect(text((await run(guest(), ["tool"], { env })).stdout)).toBe("second\n");

    const only = await run(guest(), ["tool"], { env: { PATH: "/workspace/first" } });
    expect(only.exit).toMatchObject({ exit_code: 126, start_failure: { errno: "EACCES" } });
    expect((await run(guest(), ["sh", "-c", "exit 4"], { env: {} })).exit.exit_code).toBe(4);
  });

  it.each([
    ["/nowhere", "ENOENT"],
    ["/agent", "ENOTDIR"],
  ])("because of its working directory %s says so", async (working_directory, errno) => {
    const { exit, stderr } = await run(guest(), ["true"], { working_directory });
    expect(exit).toMatchObject({ exit_code: null, start_failure: { code: "WORKING_DIRECTORY_INVALID", errno } });
    expect(text(stderr)).toContain(`holdfast: ${working_directory}: cannot be the working directory`);
  });
});

describe("what a command finds", () => {
  it("is the environment of the request, and nothing of the agent's", async () => {
    const { stdout } = await run(guest(), ["/usr/bin/env"], { env: { MODE: "é", HOLDFAST_PROGRESS_FD: "9" } });
    expect(text(stdout)).toBe("MODE=é\nHOLDFAST_PROGRESS_FD=3\n");
  });

  it("is descriptors 0 to 3, a session of its own, default signals, the first place in line for memory", async () => {
    const script = [
      "for i in {0..300}; do [ -e /proc/$$/fd/$i ] && printf '%s ' $i; done; echo",
      "cut -d' ' -f6 /proc/$$/stat; echo $$",
      "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status",
      "cat /proc/$$/oom_score_adj; umask; ulimit -c",
    ];
    const { stdout } = await run(guest(), ["bash", "-c", script.join("\n")]);
    const [fds, session, pid, blocked, ignored, , oom, umask, core] = text(stdout).split("\n");
    expect(fds).toBe("0 1 2 3 ");
    expect(session).toBe(pid);
    expect([blocked, ignored]).toEqual(["SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000"]);
    expect([oom, umask, core]).toEqual(["1000", "0022", "0"]);
  });

  it("is pipes, no terminal", async () => {
    const { stdout } = await sh(guest(), "[ -t 1 ] && echo tty || echo pipe; printf 'a\\nb\\n'");
    expect(text(stdout)).toBe("pipe\na\nb\n");
  });

  it("is arguments beyond one frame", async () => {
    const argv = [
      "sh",
      "-c",
      'echo $# $(printf %s "$7" | wc -c)',
      "x",
      ...Array.from({ length: 7 }, () => "y".repeat(120_000)),
    ];
    expect(text((await run(guest(), argv)).stdout)).toBe("7 120000\n");
  });
});

describe("stdin (O-06)", () => {
  const noise = randomBytes(5 * 1024 * 1024);
  const digest = createHash("sha256").update(noise).digest("hex");

  it.each([
    ["without a last newline", ["cat"], Buffer.from("one\ntwo"), "one\ntwo"],
    ["of 5 MiB", ["sha256sum"], noise, `${digest}  -\n`],
    ["that is empty", ["wc", "-c"], Buffer.alloc(0), "0\n"],
    ["that the command closes early", ["head", "-c", "3"], Buffer.alloc(1_048_576, "z"), "zzz"],
    ["that the command never reads", ["true"], noise, ""],
  ])("%s", async (_, argv, stdin, expected) => {
    const { exit, stdout } = await run(guest(), argv, { stdin });
    expect([exit.exit_code, text(stdout)]).toEqual([0, expected]);
  });

  it("keeps the link alive while a command does not read", async () => {
    const up = latch();
    const running = guest().link.exec(
      command(["sh", "-c", "echo up; sleep 60"], { stdin: noise, timeout_ms: 60_000 }),
      {
        stdout: up.open,
        stderr: () => {},
        progress: () => {},
      },
    );
    await up.opened;
    await guest().link.ping(1000);
    const { survivors, killed_processes } = await guest().link.killTree();
    expect(survivors).toBe(0);
    expect(killed_processes).toBeGreaterThan(0);
    expect(await running.exited).toMatchObject({ exit_code: 137, signal: "SIGKILL", timed_out: false });
  });
});

describe("output", () => {
  it("of 200 fast exits, eight at a time, is whole and goes to its own command (O-04)", async () => {
    const numbers = Array.from({ length: 200 }, (_, index) => index);
    const results: string[] = [];
    const lane = async () => {
      for (let n = numbers.pop(); n !== undefined; n = numbers.pop()) {
        const { exit, stdout } = await sh(guest(), `printf tail-${n}; exit 7`, { leftovers: "keep" });
        results.push(
          text(stdout) === `tail-${n}` && exit.exit_code === 7 ? "right" : `${n}: ${stdout} ${exit.exit_code}`,
        );
      }
    };
    await Promise.all(Array.from({ length: 8 }, lane));
    expect(results.filter((result) => result !== "right")).toEqual([]);
    expect(results).toHaveLength(200);
  });

  it("is bytes, also such as look like frames, and the two streams stay apart (O-05)", async () => {
    const script =
      'print STDOUT pack("C*", (0..255) x 4); print STDERR "E"; print STDOUT "\\0\\0\\0\\1\\x8d\\0\\0\\0\\0{";';
    const { stdout, stderr } = await run(guest(), ["perl", "-e", script]);
    const all = Buffer.from(Array.from({ length: 1024 }, (_, index) => index & 255));
    expect(stdout.equals(Buffer.concat([all, Buffer.from("000000018d000000007b", "hex")]))).toBe(true);
    expect(text(stderr)).toBe("E");
  });

  it("keeps the bytes of characters that are written one at a time (O-03)", async () => {
    const script = '$|=1; for (split //, "café ☕ 日本語") { print; select(undef, undef, undef, 0.002) }';
    expect(text((await run(guest(), ["perl", "-e", script])).stdout)).toBe("café ☕ 日本語");
  });

  it("may be closed by the command long before its end", async () => {
    const { exit, stdout } = await sh(guest(), "echo first; exec >&- 2>&-; sleep 0.3; exit 5");
    expect([exit.exit_code, text(stdout)]).toEqual([5, "first\n"]);
    expect(exit.wall_ms).toBeGreaterThanOrEqual(300);
  });

  it("carries what was used: time on the clock and on the processor, of all children", async () => {
    const { exit } = await sh(guest(), "perl -e 'my $x; $x += $_ for 1..2e7' & wait; sleep 0.2");
    expect(exit.cpu_ms).toBeGreaterThan(100);
    expect(exit.wall_ms).toBeGreaterThanOrEqual(exit.cpu_ms);
  });
});

describe("progress", () => {
  it("comes as objects from the descriptor the environment names", async () => {
    const script = `echo '{"percent":40}' >&$HOLDFAST_PROGRESS_FD; echo out; printf '{"percent":100}' >&3`;
    const { exit, progress, stdout } = await sh(guest(), script);
    expect(progress).toEqual([{ percent: 40 }, { percent: 100 }]);
    expect([exit.progress_dropped, text(stdout)]).toEqual([0, "out\n"]);
  });

  it("is ten lines a second; the rest, and lines too long, are counted", async () => {
    const script = `for ($i = 0; $i < 1000; $i++) { print "{\\"i\\":$i}\\n" } print "{\\"x\\":\\"" . ("y" x 2000) . "\\"}\\n"`;
    const { exit, progress } = await run(guest(), ["sh", "-c", `perl -e '${script}' >&3`]);
    expect(progress.length).toBeGreaterThanOrEqual(10);
    expect(progress.length + exit.progress_dropped).toBe(1001);
    expect(progress[0]).toEqual({ i: 0 });
  });
});
