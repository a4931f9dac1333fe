import { HoldfastError, type TaskRequestInput, taskError, taskIdSchema } from "@holdfast/contract";
import type { AcceptReply, Delivery } from "@holdfast/ledger";
import { describe, expect, it } from "vitest";
import { type SubmitDeps, submitTask } from "./submit.js";

const input: TaskRequestInput = { image: "shell:1", command: ["true"], task_id: "task_1" };

function accepted(
  kind: "accepted" | "existing",
  task: string,
  status: "PENDING" | "SUCCEEDED" = "PENDING",
): AcceptReply {
  const task_id = taskIdSchema.parse(task);
  const workspace_id = "default" as Delivery["workspace_id"];
  return {
    kind,
    delivery: { workspace_id, task_id, delivery: 1, queue: "tasks", job_id: `default.${task}.1` },
    status,
  };
}

function setup(reply: (task: string) => AcceptReply | Error) {
  const asked: string[] = [];
  const delivered: string[] = [];
  const deps: SubmitDeps = {
    tasks: {
      accept: async (request) => {
        asked.push(`${request.task_id}`);
        const given = reply(`${request.task_id}`);
        if (given instanceof Error) throw given;
        return given;
      },
    },
    queue: { deliver: async (delivery) => void delivered.push(delivery.job_id) },
    fail_fast_ms: 1_000,
  };
  return { asked, delivered, submit: (request: TaskRequestInput) => submitTask(deps, request) };
}

async function failureOf(work: Promise<unknown>): Promise<HoldfastError> {
  const error = await work.then(
    () => new Error("it did not fail"),
    (thrown: unknown) => thrown,
  );
  if (error instanceof HoldfastError) return error;
  throw error;
}

describe("submit", () => {
  it("accepts, then delivers", async () => {
    const { submit, delivered } = setup((task) => accepted("accepted", task));

    expect(await submit(input)).toEqual({ workspace_id: "default", task_id: "task_1", existing: false });
    expect(delivered).toEqual(["default.task_1.1"]);
  });

  it("delivers again where the task existed, so that a lost job comes back", async () => {
    const { submit, delivered } = setup((task) => accepted("existing", task));

    expect(await submit(input)).toMatchObject({ existing: true });
    expect(delivered).toHaveLength(1);
  });

  it("delivers nothing for a task that has ended", async () => {
    const { submit, delivered } = setup((task) => accepted("existing", task, "SUCCEEDED"));

    await submit(input);

    expect(delivered).toEqual([]);
  });

  it("draws a task_id where none is given, another each time", async () => {
    const { submit } = setup((task) => accepted("accepted", task));
    const request: TaskRequestInput = { image: "shell:1", command: ["true"] };
    const ids = [await submit(request), await submit(request)].map(({ task_id }) => task_id);

    expect(new Set(ids).size).toBe(2);
  });

  it("names the first field at fault and all of them in the evidence, and asks no ledger", async () => {
    const { submit, asked } = setup((task) => accepted("accepted", task));
    const bad = { ...input, timeout_seconds: 0, attempts_max: 99, user: "root" } as TaskRequestInput;
    const error = await failureOf(submit(bad));

    expect(error).toMatchObject({ code: "INVALID_REQUEST", fault: "user", retryable: false });
    expect(Object.keys(error.evidence).sort()).toEqual(["attempts_max", "timeout_seconds", "user"]);
    expect(Object.keys(error.evidence)).toContain(error.field);
    expect(error.message).toContain("timeout_seconds");
    expect(asked).toEqual([]);
  });

  it("refuses resources with which no sandbox starts, naming field and minimum", async () => {
    const { submit, asked } = setup((task) => accepted("accepted", task));
    const error = await failureOf(submit({ ...input, resources: { memory_mb: 1 } }));

    expect(error).toMatchObject({ code: "RESOURCES_TOO_SMALL", field: "resources.memory_mb" });
    expect(error.evidence).toMatchObject({ minimum: 16 });
    expect(asked).toEqual([]);
  });

  it("throws TASK_CONFLICT for another request under the id", async () => {
    const { submit, delivered } = setup(() => ({ kind: "conflict" }));

    expect(await failureOf(submit(input))).toMatchObject({ code: "TASK_CONFLICT", field: "task_id" });
    expect(delivered).toEqual([]);
  });

  it("throws the fleet's refusal with its code", async () => {
    const refused = taskError("IMAGE_NOT_ALLOWED", { evidence: { image: "shell:1" } });
    const { submit } = setup(() => ({ kind: "refused", error: refused }));

    expect(await failureOf(submit(input))).toMatchObject({ code: "IMAGE_NOT_ALLOWED", evidence: { image: "shell:1" } });
  });

  it("tells the drawn id where the reply was lost, so that the same task can be sent again", async () => {
    const { submit, asked } = setup(() => new HoldfastError("LEDGER_UNAVAILABLE"));
    const error = await failureOf(submit({ image: "shell:1", command: ["true"] }));

    expect(error).toMatchObject({ code: "LEDGER_UNAVAILABLE", retryable: true });
    expect(error.evidence).toEqual({ workspace_id: "default", task_id: asked[0] });
  });
});
