import { parseTaskRequest } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { parseFile, parseMib, parseNumber, parseSeconds, type RequestOptions, requestOf } from "./request-options.js";

async function* bytes(...chunks: string[]): AsyncIterable<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

const build = (options: Partial<RequestOptions>, input = bytes()) =>
  requestOf(["sh", "-c", "true"], options, { default_image: "holdfast/python:3.11-1", input });

describe("the options of a request", () => {
  it("are few: command and default image alone make a valid one", async () => {
    const parsed = parseTaskRequest(await build({}));

    expect(parsed).toMatchObject({
      kind: "ok",
      request: { image: "holdfast/python:3.11-1", command: ["sh", "-c", "true"], timeout_seconds: 300 },
    });
  });

  it("fill every field they name", async () => {
    const request = await build({
      image: "holdfast/shell:1",
      timeout: "5m",
      queueTimeout: "1h",
      memory: "1g",
      cpu: "0.5",
      disk: "64m",
      pids: "32",
      env: ["A=1", "B=x=y", "C="],
      label: ["team=blue"],
      workspace: "w1",
      taskId: "task_1",
    });

    expect(request).toMatchObject({
      image: "holdfast/shell:1",
      timeout_seconds: 300,
      queue_timeout_seconds: 3_600,
      resources: { memory_mb: 1_024, cpu: 0.5, disk_mb: 64, pids_limit: 32 },
      env: { A: "1", B: "x=y", C: "" },
      labels: { team: "blue" },
      workspace_id: "w1",
      task_id: "task_1",
    });
    expect(parseTaskRequest(request).kind).toBe("ok");
  });

  it("carry standard input byte for byte", async () => {
    const request = await build({ stdin: "-" }, bytes("one\n", "\u0000two"));

    expect(Buffer.from(request.stdin ?? "", "base64").toString()).toBe("one\n\u0000two");
    expect(request.stdin_encoding).toBe("base64");
  });

  it("carry a local file under its path, executable where it is", () => {
    const script = parseFile(`${import.meta.dirname}/../bin/holdfast.js:tools/run.js`);
    const unnamed = parseFile(`${import.meta.dirname}/main.ts`);

    expect(script.path).toBe("tools/run.js");
    expect(Buffer.from(script.content, "base64").toString()).toContain("dist/main.js");
    expect(unnamed).toMatchObject({ path: "main.ts", mode: "0644", encoding: "base64" });
  });

  it.each([
    ["an env without a name", () => build({ env: ["=x"] }), "--env =x: give it as NAME=VALUE"],
    ["an env without a value", () => build({ env: ["HOME"] }), "--env HOME: give it as NAME=VALUE"],
    ["a time in words", () => build({ timeout: "soon" }), "--timeout soon"],
    ["a negative time", () => build({ timeout: "-1" }), "--timeout -1"],
    ["a size of another unit", () => build({ memory: "1tb" }), "--memory 1tb"],
    ["a count that is none", () => build({ cpu: "1e3" }), "--cpu 1e3"],
    ["a local file that is not there", () => build({ file: ["/nowhere/x:x"] }), "cannot be read (ENOENT)"],
    ["a file without a path", () => build({ file: ["x:"] }), "give it as LOCAL:PATH"],
    ["too much standard input", () => build({ stdin: "-" }, bytes("x".repeat(8 * 1024 * 1024), "x")), "more than"],
  ])("are refused with the option at fault: %s", async (_what, attempt, message) => {
    await expect(attempt()).rejects.toThrow(message);
    await expect(attempt()).rejects.toMatchObject({ exit_code: 2 });
  });

  it("read numbers with their units", () => {
    expect([parseSeconds("t", "90"), parseSeconds("t", "90s"), parseSeconds("t", "2h")]).toEqual([90, 90, 7_200]);
    expect([parseMib("m", "512"), parseMib("m", "512M"), parseMib("m", "2g")]).toEqual([512, 512, 2_048]);
    expect(parseNumber("c", "1.5")).toBe(1.5);
  });
});
