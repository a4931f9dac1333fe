import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BOUNDS } from "./bounds.js";
import { parseTaskRequest, requestDigest, type TaskRequest } from "./request.js";

const minimal = { image: "python:3.12-slim", command: ["python3", "main.py"] };

function problemsOf(input: unknown): string[] {
  const parsed = parseTaskRequest(input);
  return parsed.kind === "ok" ? [] : parsed.problems.map((problem) => problem.field);
}

function accepted(input: unknown): TaskRequest {
  const parsed = parseTaskRequest(input);
  if (parsed.kind !== "ok") throw new Error(JSON.stringify(parsed.problems));
  return parsed.request;
}

describe("a task request", () => {
  it("needs an image and a command only, and comes out with every default filled", () => {
    expect(accepted(minimal)).toMatchObject({
      workspace_id: "default",
      resources: { cpu: 1, memory_mb: 512, disk_mb: 256, pids_limit: 128 },
      network: { mode: "none" },
      timeout_seconds: 300,
      attempts_max: 3,
    });
  });

  it("refuses an unknown key by name, so that a misspelt limit is never ignored", () => {
    expect(problemsOf({ ...minimal, user: "root" })).toEqual(["user"]);
    expect(problemsOf({ ...minimal, resources: { memory: 1 } })).toEqual(["resources.memory"]);
  });

  it.each([
    ["privileged", true],
    ["binds", ["/:/host"]],
    ["cap_add", ["SYS_ADMIN"]],
    ["devices", ["/dev/kvm"]],
    ["security_opt", ["seccomp=unconfined"]],
    ["pid_mode", "host"],
    ["entrypoint", ["/bin/sh"]],
    ["sysctls", {}],
    ["cgroup_parent", "/"],
  ])("refuses to smuggle %s to the engine (AT-A8)", (key, value) => {
    expect(problemsOf({ ...minimal, [key]: value })).toEqual([key]);
  });

  it("names the environment variable whose value is too long (O-07)", () => {
    expect(problemsOf({ ...minimal, env: { OK: "1", BIG: "x".repeat(200_000) } })).toEqual(["env.BIG"]);
  });

  it("refuses one argument of 128 KiB and takes one byte less (O-07)", () => {
    expect(problemsOf({ ...minimal, command: ["a", "x".repeat(131_072)] })).toEqual(["command.1"]);
    expect(problemsOf({ ...minimal, command: ["a", "x".repeat(131_071)] })).toEqual([]);
  });

  it("bounds all arguments together", () => {
    const command = ["a", ...Array.from({ length: 9 }, () => "x".repeat(120_000))];
    expect(problemsOf({ ...minimal, command })).toEqual(["command"]);
  });

  it.each(["../evil", "/etc/passwd", "a//b", "a/./b", "a/../b", "", "a\u0000b", "a\nb", "a/", "x".repeat(256)])(
    "refuses the file path %j (O-17, AT-C1)",
    (path) => {
      expect(problemsOf({ ...minimal, files: [{ path, content: "" }] })).toEqual(["files.0.path"]);
    },
  );

  it.each(["a b.txt", "-rf", "q'uo\"te", "semi;touch pwn", "$(id)", "日本語.txt", ".hidden", "x".repeat(255)])(
    "takes the awkward file name %j (O-18)",
    (path) => {
      expect(problemsOf({ ...minimal, files: [{ path, content: "" }] })).toEqual([]);
    },
  );

  it("refuses two files whose paths differ in case or Unicode form only", () => {
    const files = [
      { path: "e\u0301.txt", content: "" },
      { path: "\u00c9.txt", content: "" },
    ];
    expect(problemsOf({ ...minimal, files })).toEqual(["files.1.path"]);
  });

  it("counts the decoded size of files and refuses text that is not canonical base64", () => {
    const big = Buffer.alloc(BOUNDS.files_total_bytes_max + 1).toString("base64");
    expect(problemsOf({ ...minimal, files: [{ path: "a", content: big, encoding: "base64" }] })).toEqual(["files"]);
    expect(problemsOf({ ...minimal, files: [{ path: "a", content: "a=b", encoding: "base64" }] })).toEqual([
      "files.0.content",
    ]);
  });

  it("bounds stdin by its decoded size", () => {
    expect(problemsOf({ ...minimal, stdin: "x".repeat(BOUNDS.stdin_bytes_max + 1) })).toEqual(["stdin"]);
    const exact = Buffer.alloc(BOUNDS.stdin_bytes_max).toString("base64");
    expect(problemsOf({ ...minimal, stdin: exact, stdin_encoding: "base64" })).toEqual([]);
  });

  it.each([0, 86_401, 1.5, "5", null])("refuses timeout_seconds %j", (timeout_seconds) => {
    expect(problemsOf({ ...minimal, timeout_seconds })).toEqual(["timeout_seconds"]);
  });

  it.each(["a:b", "{x}", "*", "a\nb", "a\u0000b", "", "123", "x".repeat(65), "-a", "é"])(
    "refuses the id %j before it reaches a key (AT-G1)",
    (task_id) => {
      expect(problemsOf({ ...minimal, task_id })).toEqual(["task_id"]);
      expect(problemsOf({ ...minimal, workspace_id: task_id })).toEqual(["workspace_id"]);
    },
  );

  it.each([
    ["files.0.path", { files: [{ path: "a\ud800", content: "" }] }],
    ["files.0.content", { files: [{ path: "a", content: "\udfff" }] }],
    ["working_directory", { working_directory: "/a\ud800" }],
    ["command.1", { command: ["a", "\ud800b"] }],
    ["env.A", { env: { A: "\ud83d" } }],
    ["stdin", { stdin: "\ud800\ud800" }],
    ["labels.a", { labels: { a: "\ud800" } }],
  ])("refuses half of a surrogate pair in %s, which has no form in UTF-8 (AT-C1)", (field, extra) => {
    expect(problemsOf({ ...minimal, ...extra })).toEqual([field]);
  });

  it("takes whole surrogate pairs everywhere", () => {
    const files = [{ path: "\u{1f600}", content: "\u{1f600}" }];
    expect(problemsOf({ ...minimal, files, stdin: "\u{1f600}", env: { A: "\u{1f600}" } })).toEqual([]);
  });

  it.each(["env", "labels"])("looks at no entry of %s where there are far too many (AT-F3)", (field) => {
    const entries = Object.fromEntries(Array.from({ length: 200_000 }, (_, index) => [`${index}`, 0]));
    expect(problemsOf({ ...minimal, [field]: entries })).toEqual([field]);
  });

  it("answers with short names, whatever it was given (AT-H3)", () => {
    const long = "k".repeat(100_000);
    for (const input of [{ [long]: 1 }, { env: { [`${long}-`]: "1" } }, { resources: { [long]: 1 } }]) {
      for (const field of problemsOf({ ...minimal, ...input })) expect(field.length).toBeLessThan(300);
    }
  });

  it("does not try a name of an image that is too long (AT-F3)", () => {
    expect(problemsOf({ ...minimal, image: `${"a-".repeat(10_000_000)}!` })).toEqual(["image"]);
  });

  it("loses no variable because of its name", () => {
    expect(problemsOf({ ...minimal, env: JSON.parse('{"__proto__":"1"}') })).toEqual(["env.__proto__"]);
    expect(problemsOf({ ...minimal, labels: JSON.parse('{"__proto__":"1"}') })).toEqual(["labels.__proto__"]);
  });

  it("answers a session_id plainly while there are no sessions", () => {
    expect(problemsOf({ ...minimal, session_id: "s1" })).toEqual(["session_id"]);
  });

  it.each([null, 7, "x", [], { __proto__: null }])("refuses %j as a whole without throwing", (input) => {
    expect(parseTaskRequest(input).kind).toBe("refused");
  });

  it("never throws, whatever it is given (AT-F3)", () => {
    fc.assert(
      fc.property(fc.anything(), (input) => {
        expect(["ok", "refused"]).toContain(parseTaskRequest(input).kind);
      }),
      { numRuns: 300 },
    );
  });
});

describe("the digest of a request", () => {
  it("is the same for the same body however it was written, so that accept is idempotent (T2)", () => {
    const left = accepted({ ...minimal, env: { A: "1", B: "2" }, task_id: "t1" });
    const right = accepted({ command: minimal.command, image: minimal.image, env: { B: "2", A: "1" } });
    expect(requestDigest(left)).toBe(requestDigest(right));
  });

  it("differs where any field differs (T2)", () => {
    const one = requestDigest(accepted(minimal));
    expect(requestDigest(accepted({ ...minimal, stdin: " " }))).not.toBe(one);
    expect(requestDigest(accepted({ ...minimal, timeout_seconds: 299 }))).not.toBe(one);
    expect(requestDigest(accepted({ ...minimal, command: ["python3", "main.py", ""] }))).not.toBe(one);
  });
});
