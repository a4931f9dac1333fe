import { describe, expect, it } from "vitest";
import { nameOf, reasonOf, redactJob, summarizeData, summarizeReturnValue } from "./board-redaction.js";

const SECRET = "canary-4f1b";
const MARKUP = "<script>alert(1)</script>";

const request = {
  workspace_id: "default",
  task_id: "task_1",
  image: "holdfast/python:3.11-1",
  command: ["python3", "-c", SECRET],
  env: { TOKEN: SECRET },
  files: [{ path: `${SECRET}.py`, content: SECRET }],
  stdin: SECRET,
  labels: { [SECRET]: SECRET },
  timeout_seconds: 30,
  resources: { memory_mb: 64, [SECRET]: SECRET },
  [SECRET]: SECRET,
};

describe("a job on the board", () => {
  it("shows a plain producer's request as ids, counts and sizes", () => {
    expect(summarizeData(request)).toEqual({
      kind: "request",
      workspace_id: "default",
      task_id: "task_1",
      image: "holdfast/python:3.11-1",
      command_arguments: 3,
      env_variables: 1,
      files: 1,
      files_characters: SECRET.length,
      stdin_characters: SECRET.length,
      labels: 1,
      timeout_seconds: 30,
      resources: { memory_mb: 64 },
    });
  });

  it("shows our own delivery by its ids", () => {
    const ids = { workspace_id: "default", task_id: "task_1", delivery: 2 };
    const data = { holdfast: 1, ...ids };

    expect(summarizeData(data)).toEqual({ kind: "delivery", ...ids });
    expect(nameOf({ data, name: MARKUP })).toBe("delivery");
  });

  it("shows data of unknown form as a count", () => {
    expect(summarizeData({ a: SECRET, b: MARKUP })).toEqual({ kind: "unknown", fields: 2 });
    expect(summarizeData(SECRET)).toEqual({ kind: "unknown", fields: 0 });
    expect(summarizeData(null)).toEqual({ kind: "unknown", fields: 0 });
  });

  it("shows an id, image, status or signal only where it has the form of one", () => {
    const hostile = { ...request, workspace_id: MARKUP, task_id: `${SECRET} `, image: `user:${SECRET}@registry/x` };

    expect(JSON.stringify(summarizeData(hostile))).not.toMatch(/canary|script/);
    const outcome = { status: MARKUP, signal: MARKUP, host_id: MARKUP, error: { code: MARKUP, message: SECRET } };
    expect(JSON.stringify(summarizeReturnValue(outcome))).not.toMatch(/canary|script/);
  });

  it("shows an outcome without output, messages or evidence", () => {
    const outcome = {
      task_id: "task_1",
      status: "FAILED",
      exit_code: 3,
      stdout: { text: SECRET, total_bytes: 11 },
      error: { code: "NONZERO_EXIT", message: SECRET, evidence: { SECRET } },
      timing: { run_ms: 5, other: SECRET },
    };

    const shown = summarizeReturnValue(outcome);

    expect(shown).toMatchObject({ status: "FAILED", exit_code: 3, error_code: "NONZERO_EXIT", stdout_bytes: 11 });
    expect(JSON.stringify(shown)).not.toContain("canary");
  });

  it("shows of an error the code it begins with, never its text", () => {
    expect(reasonOf(`INVALID_REQUEST: env.${SECRET}`)).toBe("INVALID_REQUEST (the text is not shown here)");
    expect(reasonOf(`${SECRET} ${MARKUP}`)).toBe("The reason is not shown here.");
    expect(reasonOf(`SECRET_TOKEN ${SECRET}`)).toBe("The reason is not shown here.");
    expect(reasonOf(undefined)).toBeUndefined();
  });

  it("is rebuilt from known fields, so that nothing else of it can show", () => {
    const job = {
      id: `order ${MARKUP}`,
      name: SECRET,
      timestamp: 5,
      progress: { SECRET },
      attempts: 1,
      failedReason: SECRET,
      stacktrace: [SECRET],
      opts: { attempts: 2, jobId: SECRET, repeat: { key: SECRET }, backoff: { type: SECRET } },
      data: summarizeData(request),
      returnValue: null,
      isFailed: true,
      groupId: SECRET,
      deduplicationId: SECRET,
      deferredFailure: SECRET,
      externalUrl: { href: `javascript:${MARKUP}` },
      [SECRET]: 1,
    };

    const shown = redactJob(job);

    expect(JSON.stringify(shown)).not.toMatch(/canary|script/);
    expect(shown).toMatchObject({ id: "(hidden)", name: "unknown", opts: { attempts: 2 }, isFailed: true });
  });
});
