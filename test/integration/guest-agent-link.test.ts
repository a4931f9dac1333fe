/** The real agent as process 1: the dead-man, the one assignment, files, and memory that stays bounded. */
import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { GuestRefused, LinkLost } from "@holdfast/guest";
import { describe, expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { command, type Guest, type GuestOptions, latch, run, sh, startGuest } from "./guest-sandbox.js";

async function inGuest<T>(options: GuestOptions, use: (guest: Guest) => Promise<T>): Promise<T> {
  const guest = await startGuest(options);
  try {
    return await use(guest);
  } finally {
    await guest.close();
  }
}

const quiet = { stdout: () => {}, stderr: () => {}, progress: () => {} };
const text = (bytes: Buffer) => bytes.toString("utf8");

/** Resident memory of the agent, which is the only child of the program that made its namespaces. */
function agentKib(guest: Guest): number {
  const [agent] = readFileSync(`/proc/${guest.pid}/task/${guest.pid}/children`, "utf8").trim().split(" ");
  return Number(readFileSync(`/proc/${agent}/status`, "utf8").match(/VmRSS:\s+(\d+)/)?.[1]);
}

async function millisecondsUntilGone(guest: Guest, start: number): Promise<number> {
  await guest.gone;
  return performance.now() - start;
}

describe("the dead-man (E4)", () => {
  it("ends the sandbox at once when its stdin ends", () =>
    inGuest({}, async (guest) => {
      const { exited } = guest.link.exec(command(["sleep", "600"]), quiet);
      await guest.link.ping(1000);
      const start = performance.now();
      guest.stream.end();
      expect(await millisecondsUntilGone(guest, start)).toBeLessThan(1000);
      await expect(exited).rejects.toBeInstanceOf(LinkLost);
    }));

  it("ends the sandbox when the worker is gone without a word", () =>
    inGuest({}, async (guest) => {
      guest.link.exec(command(["sleep", "600"]), quiet);
      await guest.link.ping(1000);
      const start = performance.now();
      guest.stream.destroy();
      expect(await millisecondsUntilGone(guest, start)).toBeLessThan(1000);
    }));

  it("ends the sandbox when the permission to live runs out, and not before", () =>
    inGuest({ permission: () => 0 }, async (guest) => {
      const { exited } = guest.link.exec(command(["sleep", "600"], { timeout_ms: 60_000 }), quiet);
      const start = performance.now();
      expect(await guest.link.ended).toEqual({ kind: "bye", reason: "permission" });
      const lived = await millisecondsUntilGone(guest, start);
      expect(lived).toBeGreaterThan(13_000);
      expect(lived).toBeLessThan(17_000);
      await expect(exited).rejects.toBeInstanceOf(LinkLost);
    }));

  it("lives on with each permission that is answered", () =>
    inGuest({ permission: () => 16_000 }, async (guest) => {
      const { exit } = await run(guest, ["sleep", "16.5"]);
      expect(exit.exit_code).toBe(0);
    }));

  it("ends the sandbox at the lifetime it was assigned", () =>
    inGuest({ lifetime_ms: 700 }, async (guest) => {
      guest.link.exec(command(["sleep", "600"]), quiet);
      expect(await guest.link.ended).toEqual({ kind: "bye", reason: "lifetime" });
      await guest.gone;
    }));

  it("ends the sandbox at the lifetime it was started with where it was never assigned", () =>
    inGuest({ lifetime_ms: 700, assigned: false }, async (guest) => {
      expect(await guest.link.ended).toEqual({ kind: "bye", reason: "lifetime" });
      await guest.gone;
    }));

  it("ends the sandbox when it is ordered to", () =>
    inGuest({}, async (guest) => {
      guest.link.exec(command(["sleep", "600"]), quiet);
      guest.link.close();
      await guest.gone;
    }));

  it("ends the sandbox when the worker's frames make no sense", () =>
    inGuest({}, async (guest) => {
      await guest.link.ping(1000);
      guest.stream.write(Buffer.from("ffffffff0a00000001", "hex"));
      expect(await guest.link.ended).toEqual({ kind: "bye", reason: "protocol_error" });
      await guest.gone;
    }));
});

describe("assignment", () => {
  it("comes once, and nothing runs or is written before it (E3)", () =>
    inGuest({ assigned: false }, async (guest) => {
      await expect(run(guest, ["true"])).rejects.toMatchObject({ errno: "EPERM" });
      const file = { path: "early", mode: 0o644, content: Buffer.from("x") };
      expect(await guest.link.writeFile(file)).toMatchObject({ kind: "refused", errno: "EPERM" });

      await guest.link.assign({ lifetime_ms: 60_000 });
      expect((await run(guest, ["test", "-e", "early"])).exit.exit_code).toBe(1);
      await expect(guest.link.assign({ lifetime_ms: 60_000 })).rejects.toBeInstanceOf(GuestRefused);
      expect((await run(guest, ["true"])).exit.exit_code).toBe(0);
    }));
});

describe("files", () => {
  const put = (guest: Guest, path: string, content: Buffer | string = "x", mode = 0o644) =>
    guest.link.writeFile({ path, mode, content: Buffer.from(content) });

  it("arrive whole with their modes, and they and their parents belong to the sandbox's user (O-16)", () =>
    inGuest({}, async (guest) => {
      const large = Buffer.alloc(3_000_000, "0123456789abcdef-");
      expect(await put(guest, "p/q/run.sh", "#!/bin/sh\nexit 0\n", 0o755)).toEqual({ kind: "written" });
      expect(await put(guest, "p/q/data.bin", large, 0o400)).toEqual({ kind: "written" });
      expect(await put(guest, "日本語 name", "", 0o600)).toEqual({ kind: "written" });
      const script =
        "stat -c '%n %a %u' p p/q p/q/run.sh p/q/data.bin; cat p/q/data.bin | wc -c; stat -c %s '日本語 name'";
      expect(text((await sh(guest, script)).stdout)).toBe(
        "p 755 1048577\np/q 755 1048577\np/q/run.sh 755 1048577\np/q/data.bin 400 1048577\n3000000\n0\n",
      );
      expect(
        text((await sh(guest, "./p/q/run.sh && echo more >> p/q/run.sh && rm -rf p && echo cleaned")).stdout),
      ).toBe("cleaned\n");
    }));

  it.each([
    ["../evil", "EINVAL"],
    ["a/../../evil", "EINVAL"],
    ["/tmp/evil", "EINVAL"],
    ["a//b", "EINVAL"],
    ["./b", "EINVAL"],
    ["dir", "EEXIST"],
    ["file/below", "ENOTDIR"],
    ["out/evil", "ELOOP"],
    ["in/evil", "ELOOP"],
    ["link", "EEXIST"],
    ["x".repeat(256), "ENAMETOOLONG"],
    ["closed/evil", "EACCES"],
  ])("refuse to be %s (O-17)", (path, errno) =>
    inGuest({}, async (guest) => {
      await sh(
        guest,
        "mkdir dir closed; : > file; ln -s /tmp out; ln -s dir in; ln -s /tmp/target link; chmod 555 closed",
      );
      expect(await put(guest, path)).toEqual({
        kind: "refused",
        errno: errno === "ELOOP" ? expect.stringMatching(/ELOOP|ENOTDIR/) : errno,
        path,
      });
      const { stdout } = await sh(guest, "find /tmp /workspace \\( -name evil -o -name target \\)");
      expect(text(stdout)).toBe("");
    }),
  );

  it("that find no room leave nothing behind, and the next one is taken", () =>
    inGuest({ workspace_bytes: 1_048_576 }, async (guest) => {
      expect(await put(guest, "big", Buffer.alloc(3_000_000))).toEqual({
        kind: "refused",
        errno: "ENOSPC",
        path: "big",
      });
      expect(await put(guest, "small", "fits")).toEqual({ kind: "written" });
      expect(text((await sh(guest, "ls; cat small")).stdout)).toBe("small\nfits");
    }));
});

describe("a flood of output", () => {
  it("of 1 GB with a slow reader keeps agent and worker small, and the link answers", () =>
    inGuest({}, async (guest) => {
      const before = process.memoryUsage.rss();
      let taken = 0;
      let pieces = 0;
      const peak = { agent_kib: 0, worker_bytes: 0 };
      const sink = async (chunk: Buffer) => {
        taken += chunk.length;
        pieces += 1;
        await new Promise<void>((resolve) => setImmediate(resolve));
        if (pieces % 50 !== 1) return;
        peak.worker_bytes = Math.max(peak.worker_bytes, process.memoryUsage.rss() - before);
        peak.agent_kib = Math.max(peak.agent_kib, agentKib(guest));
      };
      const flood = command(["head", "-c", "1000000000", "/dev/zero"], { timeout_ms: 55_000 });
      const { exited } = guest.link.exec(flood, { ...quiet, stdout: sink });
      await waitFor(() => taken > 10_000_000, { bound_ms: 10_000, what: "the flood runs" });
      await guest.link.ping(1000);

      expect((await exited).stdout_bytes).toBe(1_000_000_000);
      expect(taken).toBe(1_000_000_000);
      expect(peak.agent_kib).toBeLessThan(4096);
      expect(peak.worker_bytes).toBeLessThan(200 * 1024 * 1024);
    }));

  it("stops at the window while nobody reads, and pulses go on (E4)", () =>
    inGuest({ output_window_bytes: 65_536 }, async (guest) => {
      const reading = latch();
      let taken = 0;
      const sink = async (chunk: Buffer) => {
        await reading.opened;
        taken += chunk.length;
      };
      const { exited } = guest.link.exec(command(["head", "-c", "2000000", "/dev/zero"]), { ...quiet, stdout: sink });
      const start = guest.link.lastHeard();
      await waitFor(() => guest.link.lastHeard() > start + 4000, { bound_ms: 10_000, what: "two pulses" });
      await guest.link.ping(1000);
      expect(guest.stream.bytesRead).toBeLessThan(200_000);

      reading.open();
      expect((await exited).stdout_bytes).toBe(2_000_000);
      expect(taken).toBe(2_000_000);
    }));

  it("of one command does not starve another", () =>
    inGuest({}, async (guest) => {
      const flood = guest.link.exec(command(["cat", "/dev/zero"], { leftovers: "keep" }), quiet);
      await flood.started;
      const { exit, stdout } = await sh(guest, "echo through", { leftovers: "keep" });
      expect([exit.exit_code, text(stdout)]).toEqual([0, "through\n"]);
      await guest.link.killTree();
      expect((await flood.exited).signal).toBe("SIGKILL");
    }));
});
