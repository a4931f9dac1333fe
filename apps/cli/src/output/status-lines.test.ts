import {
  emptyStream,
  type Outcome,
  type TaskView,
  taskError,
  taskViewSchema,
  type WaitDetails,
} from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { statusLines } from "./status-lines.js";

const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5);

const DETAILS: WaitDetails = {
  ...{ scope: null, short: [], place: null, hosts: [], sent_to_host_id: null, grants_open_in_ms: 0 },
  queue_timeout_at_ms: null,
};

function viewOf(more: Partial<TaskView>): TaskView {
  return taskViewSchema.parse({
    ...{
      workspace_id: "w",
      task_id: "t1",
      status: "PENDING",
      phase: "queued",
      attempt: 0,
      delivery: 1,
      image: "lab:1",
    },
    ...{ cancel_requested: false, accepted_at_ms: NOW_MS - 60_000, ended_at_ms: null, waiting: null, host_id: null },
    ...{ given_back: null, cleanup_pending: false, events: 1, outcome: null },
    ...more,
  });
}

function outcome(more: Partial<Outcome>): Outcome {
  const timing = { queued_ms: 1, setup_ms: null, run_ms: null, harvest_ms: null, total_ms: 1 };
  const usage = { cpu_ms: null, memory_peak_bytes: null, killed_processes: null, kill_ms: null };
  return {
    ...{ workspace_id: "w", task_id: "t1", status: "SUCCEEDED", ran: true, warm: false, exit_code: 0, signal: null },
    ...{ attempt: 1, host_id: "host_a", image: "lab:1", image_digest: null, generation: 1, state_lost: false },
    ...{ isolation: "runc", stdout: emptyStream(), stderr: emptyStream(), limits: null, timing, usage },
    ...{ tree_receipt: null, cleanup_pending: false, error: null },
    ...more,
  } as Outcome;
}

const show = (more: Partial<TaskView>): string => statusLines(viewOf(more), NOW_MS).join("\n");

const ended = (more: Partial<Outcome>, view: Partial<TaskView> = {}): string =>
  show({ status: "FAILED", phase: "ended", ended_at_ms: NOW_MS - 5_000, outcome: outcome(more), ...view });

const failed = (code: Parameters<typeof taskError>[0]): string => ended({ error: taskError(code) });

describe("the status of a task that waits", () => {
  it("reads from whose limit it is to what each host lacks", () => {
    const short = [{ amount: "slots" as const, wanted: 1, reserved: 2, limit: 2 }];
    const details = {
      ...DETAILS,
      ...{ scope: "workspace" as const, short, place: { list: "workspace" as const, place: 3, of: 7 } },
      hosts: [
        { host_id: "host_a", reason: "full" as const, short: [{ ...short[0], reserved: 4, limit: 4 }] },
        { host_id: "host_b", reason: "draining" as const, short: [] },
      ],
      queue_timeout_at_ms: NOW_MS + 3_540_000,
    } as WaitDetails;
    const waiting = { reason: "workspace_full" as const, message: "It is full.", since_ms: NOW_MS - 12_000, details };

    expect(show({ phase: "parked", waiting }).split("\n")).toEqual([
      "task_id        t1",
      "workspace      w",
      "status         PENDING: in a waiting list",
      "waiting        It is full. (workspace_full, for 12 s)",
      "limit          of the workspace: 2 of 2 slots taken, 1 wanted",
      "place          3 of 7 in the waiting list of the workspace",
      "queue_timeout  in 59 min",
      "image          lab:1",
      "attempt        0",
      "delivery       1",
      "accepted       2026-01-02T03:03:05.000Z",
      "",
      "HOST    REASON    WHAT IT MEANS",
      "host_a  full      has too little free: 4 of 4 slots taken, 1 wanted",
      "host_b  draining  is out of service, or its workers are ending",
    ]);
  });

  it("says that no host is registered, and where it was sent", () => {
    const waiting = { reason: "no_worker" as const, message: "m", since_ms: NOW_MS, details: DETAILS };
    expect(show({ waiting })).toContain("\n\nNo host is registered.");
    const sent = { ...DETAILS, sent_to_host_id: "host_b" as WaitDetails["sent_to_host_id"] };
    expect(show({ phase: "sent_to_boot", waiting: { ...waiting, details: sent } })).toMatch(/\nsent_to +host_b\n/);
    expect(show({ phase: "queued", waiting: { ...waiting, queue_paused: true } })).toMatch(
      /\nqueue +paused by somebody/,
    );
    expect(show({ phase: "queued", waiting: { ...waiting, queue_paused: false } })).not.toContain("paused");
  });

  it("tells of earlier attempts and what is left of them", () => {
    const text = show({ given_back: "1: drain on host_a", cleanup_pending: true });
    expect(text).toMatch(/\ngiven_back +1: drain on host_a\n/);
    expect(text).toMatch(/\ncleanup +a sandbox of an earlier attempt is still being removed/);
  });
});

describe("the status of a task that ended", () => {
  it("tells when, by whose doing, where it ran, and whether to retry", () => {
    expect(ended({ status: "SUCCEEDED" }, { status: "SUCCEEDED" })).toMatch(
      /\nended +2026-01-02T03:04:00.000Z \(5 s ago\)\nended_by +its own command\nran_on +host_a\nexit_code +0$/,
    );
    expect(failed("QUEUE_TIMEOUT")).toMatch(/\nerror +QUEUE_TIMEOUT: .*\(fault: capacity\) Try again later\.$/);
  });

  it.each([
    ["CANCELLED", "a cancel"],
    ["QUEUE_TIMEOUT", "its queue time-out, before it ran"],
    ["TIME_LIMIT", "its time limit"],
    ["NONZERO_EXIT", "its own code or request"],
    ["RESOURCES_TOO_LARGE", "a rule of the fleet"],
    ["CAPACITY_EXHAUSTED", "want of room"],
    ["ATTEMPTS_EXHAUSTED", "a failure of the platform"],
  ] as const)("names who ended it: %s by %s", (code, who) => {
    expect(failed(code)).toContain(`ended_by   ${who}\n`);
  });

  it("tells that its sandbox is still being removed", () => {
    expect(ended({}, { phase: "cleanup_pending", cleanup_pending: true })).toContain(
      "FAILED: its sandbox is still being removed and holds capacity",
    );
  });
});
