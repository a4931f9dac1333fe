import { type Outcome, outcomeSchema, type StreamOutput, taskError } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { renderOutcome } from "./render-outcome.js";

function streamOf(text: string | null, more: Partial<StreamOutput> = {}): StreamOutput {
  const total_bytes = text === null ? 10 : Buffer.byteLength(text);
  return { text, encoding: "utf8", truncated: false, total_bytes, sha256: null, ...more };
}

function outcomeOf(more: Partial<Outcome> = {}): Outcome {
  return outcomeSchema.parse({
    workspace_id: "default",
    task_id: "task_1",
    status: "SUCCEEDED",
    ran: true,
    warm: false,
    exit_code: 0,
    signal: null,
    attempt: 1,
    host_id: null,
    image: "shell:1",
    image_digest: null,
    generation: 1,
    state_lost: false,
    isolation: "runc",
    stdout: streamOf(""),
    stderr: streamOf(""),
    limits: null,
    timing: { queued_ms: 1, setup_ms: 1, run_ms: 1234, harvest_ms: 1, total_ms: 4 },
    usage: { cpu_ms: null, memory_peak_bytes: null, killed_processes: null, kill_ms: null },
    tree_receipt: null,
    cleanup_pending: false,
    error: null,
    ...more,
  });
}

describe("an outcome as text", () => {
  it("tells verdict and output", () => {
    const text = renderOutcome(outcomeOf({ stdout: streamOf("42\n"), stderr: streamOf("hm") }));

    expect(text).toBe(
      "SUCCEEDED (exit code 0, ran 1.2 s)\n--- stdout (3 bytes) ---\n42\n\n--- stderr (2 bytes) ---\nhm",
    );
  });

  it("says whose fault a failure was and not to retry the code as it is", () => {
    const error = taskError("OUT_OF_MEMORY", { evidence: { memory_mb: 128 } });
    const text = renderOutcome(outcomeOf({ status: "FAILED", exit_code: 137, signal: "SIGKILL", error }));

    expect(text).toContain("FAILED (exit code 137, SIGKILL");
    expect(text).toContain("OUT_OF_MEMORY: The sandbox ran out of its memory limit.");
    expect(text).toContain("fault: user; change the code or the request before trying again");
    expect(text).toContain("evidence: memory_mb=128");
  });

  it("says that a platform's failure may be retried, and when", () => {
    const error = taskError("SANDBOX_LOST", { retry_after_ms: 1500 });
    const text = renderOutcome(outcomeOf({ status: "FAILED", exit_code: null, ran: false, error }));

    expect(text).toContain("FAILED (nothing was run");
    expect(text).toContain("fault: platform; the same request may be retried after 2 s");
    expect(text).not.toContain("exit code");
  });

  it("says that a refusal by policy stays one", () => {
    const error = taskError("CAPABILITY_ABSENT");

    expect(renderOutcome(outcomeOf({ status: "FAILED", error }))).toContain("do not retry the same request");
  });

  it("shows 1 KiB of the head and 1 KiB of the tail, and counts what lies between", () => {
    const long = `${"a".repeat(5000)}${"z".repeat(5000)}`;
    const text = renderOutcome(outcomeOf({ stdout: streamOf(long) }));

    expect(text).toContain(`\n${"a".repeat(1024)}\n[truncated ${10_000 - 2048} bytes]\n${"z".repeat(1024)}`);
    expect(text).not.toContain("a".repeat(1025));
    expect(text).not.toContain("z".repeat(1025));
  });

  it("counts against the true size where the kept text lacks its middle", () => {
    const kept = `${"a".repeat(3000)}\n[truncated 999000 bytes]\n${"z".repeat(3000)}`;
    const text = renderOutcome(outcomeOf({ stdout: streamOf(kept, { truncated: true, total_bytes: 1_005_000 }) }));

    expect(text).toContain(`[truncated ${1_005_000 - 2048} bytes]`);
    expect(text.match(/truncated/g)).toHaveLength(1);
  });

  it.each([3, 4, 5, 6, 7, 8])("cuts on whole characters with %i bytes", (bytes_max) => {
    const text = renderOutcome(outcomeOf({ stdout: streamOf("日".repeat(20)) }), { bytes_max });

    expect(text).not.toContain("\u{fffd}");
    const cut = Number(text.match(/truncated ([0-9]+) bytes/)?.[1]);
    expect(
      Buffer.byteLength(
        text
          .split("\n")
          .filter((line) => line.startsWith("日"))
          .join(""),
      ) + cut,
    ).toBe(60);
  });

  it("shows bytes that are no text with replacements, and says so", () => {
    const bytes = Buffer.from([0x41, 0xff, 0x42]);
    const stdout = streamOf(bytes.toString("base64"), { encoding: "base64", total_bytes: 3 });

    expect(renderOutcome(outcomeOf({ stdout }))).toContain("[not UTF-8: unreadable bytes are replaced]\nA\u{fffd}B");
  });

  it("says that text is no longer kept", () => {
    expect(renderOutcome(outcomeOf({ stdout: streamOf(null) }))).toContain("[the text is no longer kept]");
  });
});
