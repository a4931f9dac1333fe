import { describe, expect, test, vi } from "vitest";
import { EXIT, setup } from "../../test/scripted-run.js";

describe("one attempt", () => {
  test("is assigned, filled and recorded before the command, destroyed beside its settle, released after proof (C2, E3)", async () => {
    const { asked, exited, gone, run } = setup();
    exited.resolve(EXIT);

    expect(await run.answer).toMatchObject({ kind: "settled", outcome: { status: "SUCCEEDED" } });
    expect(asked).not.toContain("release");
    gone.resolve();

    expect(await run.released).toBe(true);
    expect(asked).toEqual(["create", "assign", "writeFile", "activate", "exec", "destroy", "settle", "release"]);
  });

  test("takes a sandbox that waits instead of making one, and tells the ledger which one serves (E3)", async () => {
    const { asked, exited, gone, run, served } = setup({ warm: true });
    exited.resolve(EXIT);
    gone.resolve();

    expect(await run.answer).toMatchObject({ outcome: { status: "SUCCEEDED", warm: true } });
    expect(await run.released).toBe(true);
    expect(asked).toEqual(["claim", "assign", "writeFile", "activate", "exec", "destroy", "settle", "release"]);
    expect(served).toEqual(["sbx_warm"]);
  });

  test("leaves no timer of its worker running behind it", async () => {
    vi.useFakeTimers();
    try {
      const { exited, gone, run } = setup();
      exited.resolve(EXIT);
      gone.resolve();
      await run.answer;

      expect(await run.released).toBe(true);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  test("is measured in its parts: set-up, run, settle, and whom its end woke", async () => {
    const { exited, gone, registry, run } = setup();
    exited.resolve(EXIT);
    gone.resolve();
    await run.answer;
    await run.released;

    const text = await registry.text();
    for (const part of ["setup", "run", "settle"]) expect(text).toContain(`holdfast_${part}_seconds_count 1\n`);
    expect(text).toContain('holdfast_promotions_total{woken_by="event"} 1\n');
  });

  test("that never ran its command has no run to measure", async () => {
    const { gone, registry, run } = setup({ reply: "failed" });
    gone.resolve();
    await run.answer;
    await run.released;

    const text = await registry.text();
    for (const part of ["setup", "run", "settle"]) expect(text).toContain(`holdfast_${part}_seconds_count 0\n`);
  });

  test("cancelled while its sandbox is being made: settled at once, and the sandbox cleaned up when it comes (T3, E1)", async () => {
    const { asked, created, gone, orders, run } = setup({ slow: true });
    orders.give({ kind: "cancel" });

    expect(await run.answer).toMatchObject({ outcome: { status: "CANCELLED", ran: false } });
    created.resolve();
    gone.resolve();

    expect(await run.released).toBe(true);
    expect(asked).toEqual(["create", "settle", "destroy", "release"]);
  });

  test("cancelled while it runs: the tree is killed and its receipt settled (T3)", async () => {
    const { asked, exited, gone, orders, run, running } = setup();
    await running.promise;
    orders.give({ kind: "cancel" });
    exited.resolve({ ...EXIT, exit_code: 137, signal: "SIGKILL" });
    gone.resolve();

    expect(await run.answer).toMatchObject({ outcome: { status: "CANCELLED", tree_receipt: { survivors: 0 } } });
    expect(asked.indexOf("killTree")).toBeLessThan(asked.indexOf("settle"));
  });

  test("a request that cannot start is settled with its cause and not tried again", async () => {
    const { asked, gone, run } = setup({ reply: "failed" });
    gone.resolve();

    expect(await run.answer).toMatchObject({
      outcome: { status: "FAILED", ran: false, error: { code: "RESOURCES_TOO_SMALL" } },
    });
    expect(await run.released).toBe(true);
    expect(asked).not.toContain("deliver");
  });

  test("an engine that cannot create is doubted first, then the attempt goes back, uncounted, and is sent again (T2)", async () => {
    const { asked, fates, gone, run } = setup({ reply: "hand_back" });
    gone.resolve();

    expect(await run.answer).toEqual({ kind: "requeued" });
    expect(fates).toEqual(["lost"]);
    expect(asked.indexOf("doubt")).toBeLessThan(asked.indexOf("requeue creation_failed uncounted"));
    expect(asked).toContain("deliver");
    expect(await run.released).toBe(true);
  });

  test("a lost guest is killed and proven before it is settled as the code's doing", async () => {
    const { asked, ended, fates, gone, run, running } = setup();
    await running.promise;
    ended.resolve({ kind: "guest_lost", detail: "gone", oom_killed: false });
    gone.resolve();

    expect(await run.answer).toMatchObject({ outcome: { error: { code: "SANDBOX_ENDED_BY_CODE", fault: "user" } } });
    expect(asked.indexOf("destroy")).toBeLessThan(asked.indexOf("settle"));
    expect(fates).toEqual(["well"]);
  });

  test("a drain kills first and hands back after, and does not count (O-27)", async () => {
    const { asked, fates, gone, orders, run, running } = setup();
    await running.promise;
    orders.give({ kind: "shutdown" });
    gone.resolve();

    expect(await run.answer).toEqual({ kind: "requeued" });
    expect(fates).toEqual([]);
    expect(asked.indexOf("destroy")).toBeLessThan(asked.indexOf("requeue drain uncounted"));
  });

  test("a lost engine hands back as soon as the sandbox is proven gone", async () => {
    const { asked, ended, fates, gone, run, running } = setup();
    await running.promise;
    ended.resolve({ kind: "engine_lost", detail: "away" });
    gone.resolve();

    expect(await run.answer).toEqual({ kind: "requeued" });
    expect(fates).toEqual(["lost"]);
    expect(asked.slice(asked.indexOf("doubt"))).toEqual([
      "doubt",
      "destroy",
      "requeue engine_lost uncounted",
      "deliver",
    ]);
    expect(await run.released).toBe(true);
  });

  test("one that stays away hands back once the last permission has run out, and holds its capacity until proof (C2, E4)", async () => {
    const began = performance.now();
    const { asked, ended, gone, run, running } = setup({ permission_ms: 300 });
    await running.promise;
    ended.resolve({ kind: "engine_lost", detail: "away" });

    expect(await run.answer).toEqual({ kind: "requeued" });
    expect(performance.now() - began).toBeGreaterThan(280);
    expect(asked).not.toContain("release");
    gone.resolve();

    expect(await run.released).toBe(true);
    expect(asked.at(-1)).toBe("release");
  });

  test("a refused activation runs nothing and writes nothing, and is cleaned up (L2)", async () => {
    const { asked, gone, run } = setup({ fenced: ["activate"] });
    gone.resolve();

    expect(await run.answer).toEqual({ kind: "abandoned" });
    expect(await run.released).toBe(true);
    expect(asked).not.toContain("exec");
    expect(asked).not.toContain("settle");
  });

  test("a run that was abandoned writes no end, whatever its command did meanwhile (L2)", async () => {
    const { asked, exited, gone, orders, outcomes, run, running } = setup();
    await running.promise;
    orders.give({ kind: "abandon", reason: "unknown_to_ledger" });
    exited.resolve(EXIT);
    gone.resolve();

    expect(await run.answer).toEqual({ kind: "abandoned" });
    expect(await run.released).toBe(true);
    expect(outcomes).toEqual([]);
    expect(asked).toContain("destroy");
  });

  test("a boot that is over ends its sandbox and sends nothing more (L3)", async () => {
    const { asked, gone, lease, orders, run, running } = setup();
    await running.promise;
    lease.revoke();
    orders.give({ kind: "abandon", reason: "boot_over" });
    gone.resolve();

    expect(await run.answer).toEqual({ kind: "abandoned" });
    expect(await run.released).toBe(false);
    expect(asked).not.toContain("release");
    expect(asked).toContain("destroy");
  });
});
