/** Case bank, area 3: what goes into a sandbox. */
import { createHash, randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SHELL_IMAGE, startFleet, type TestFleet } from "../support/fleet.js";

let fleet: TestFleet;
beforeAll(async () => {
  fleet = await startFleet();
});
afterAll(() => fleet.stopAndExpectNothingLeft());

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

describe("O-06: standard input ends", () => {
  it("text without a final newline comes back exactly", async () => {
    const outcome = await fleet.run({ image: SHELL_IMAGE, command: ["cat"], stdin: "one\ntwo" });

    expect(outcome).toMatchObject({ status: "SUCCEEDED", exit_code: 0, stdout: { text: "one\ntwo" } });
  });

  it("5 MiB of random bytes hash the same inside", async () => {
    const bytes = randomBytes(5 * 1024 * 1024);

    const outcome = await fleet.run({
      image: SHELL_IMAGE,
      command: ["sha256sum"],
      stdin: bytes.toString("base64"),
      stdin_encoding: "base64",
    });

    expect(outcome.stdout.text).toContain(sha256(bytes));
    expect(outcome.timing.run_ms).toBeLessThan(5000);
  });

  it("a reader that closes early is a success and harms nobody", async () => {
    const outcome = await fleet.run({
      image: SHELL_IMAGE,
      command: ["head", "-c", "3"],
      stdin: "x".repeat(1024 * 1024),
    });

    expect(outcome).toMatchObject({ status: "SUCCEEDED", exit_code: 0, stdout: { text: "xxx" } });
  });

  it("empty input is an end at once", async () => {
    const outcome = await fleet.run({ image: SHELL_IMAGE, command: ["wc", "-c"] });

    expect(outcome.stdout.text?.trim()).toBe("0");
  });
});

describe("O-07: code and files bigger than one argument", () => {
  it("a source of 300,000 characters runs as a file", async () => {
    const outcome = await fleet.run({
      command: ["python3", "main.py"],
      files: [{ path: "main.py", content: `print(len(${JSON.stringify("x".repeat(300_000))}))` }],
    });

    expect(outcome.stdout.text).toBe("300000\n");
  });

  it("a file of 3 MiB hashes the same inside", async () => {
    const bytes = randomBytes(3 * 1024 * 1024);

    const outcome = await fleet.run({
      image: SHELL_IMAGE,
      command: ["sha256sum", "data.bin"],
      files: [{ path: "data.bin", content: bytes.toString("base64"), encoding: "base64" }],
    });

    expect(outcome.stdout.text).toContain(sha256(bytes));
  });

  it("an environment value of 200 KB is refused with its key named, before anything runs", async () => {
    await expect(
      fleet.client.submit({ image: SHELL_IMAGE, command: ["true"], env: { BIG: "x".repeat(200_000) } }),
    ).rejects.toMatchObject({
      code: "INVALID_REQUEST",
      field: "env.BIG",
    });
  });
});

describe("O-16 and O-18: files as they were sent", () => {
  it("owner, parents and modes let the program use and remove what it was given", async () => {
    const outcome = await fleet.run({
      image: SHELL_IMAGE,
      files: [
        { path: "p/q/run.sh", content: "#!/bin/sh\necho ran\n", mode: "0755" },
        { path: "p/q/data.txt", content: "data", mode: "0400" },
      ],
      command: [
        "sh",
        "-c",
        "cat p/q/data.txt && ./p/q/run.sh && echo more >> p/q/run.sh && mkdir p/q/new && rm -rf p && echo cleaned",
      ],
    });

    expect(outcome).toMatchObject({ status: "SUCCEEDED", stdout: { text: "dataran\ncleaned\n" } });
  });

  it("awkward names arrive exactly and run nothing", async () => {
    const names = [
      "a b.txt",
      "-rf",
      "q'uo\"te",
      "semi;touch pwn",
      "$(id)",
      "日本語.txt",
      "e\u0301.txt",
      "y".repeat(255),
      ".hidden",
      "zero",
    ];
    const files = names.map((path) => ({ path, content: path === "zero" ? "" : path }));
    const code = "import os, json; print(json.dumps({n: open(n, newline='').read() for n in os.listdir('.')}))";

    const outcome = await fleet.run({ command: ["python3", "-c", code], files });

    expect(JSON.parse(outcome.stdout.text ?? "")).toEqual(
      Object.fromEntries(files.map((file) => [file.path, file.content])),
    );
  });
});

describe("the environment of a sandbox", () => {
  it("is the request's over ours over the image's, and holds nothing of the platform (AT-H2)", async () => {
    const outcome = await fleet.run({
      command: ["python3", "-c", "import os, json; print(json.dumps(dict(os.environ)))"],
      env: { MODE: "x", LANG: "C.UTF-8" },
    });

    const env = JSON.parse(outcome.stdout.text ?? "");
    expect(env).toMatchObject({ MODE: "x", PYTHONUNBUFFERED: "1", HOLDFAST_PROGRESS_FD: "3" });
    expect(Object.keys(env).filter((key) => /REDIS|DOCKER|HOLDFAST_(?!PROGRESS_FD)|PASSWORD/.test(key))).toEqual([]);
  });

  it("progress on descriptor 3 becomes events and forged lines are dropped", async () => {
    const code = 'import os\nos.write(3, b\'{"done": 1}\\nnot json\\n{"done": 2}\\n\')';

    const { events } = await fleet.runAndWatch({ command: ["python3", "-c", code] });

    const progress = events.flatMap((event) => (event.kind === "task_progress" ? [event.progress] : []));
    expect(progress).toEqual([{ done: 1 }, { done: 2 }]);
  });
});
