import { constants } from "node:os";
import { describe, expect, it } from "vitest";
import { EXITED } from "../test/scripted-agent.js";
import { guestExit, signalName, signalNumber } from "./exit-report.js";

const plain = { ...EXITED, progress_dropped: 2 };

describe("signals", () => {
  it("have the names and numbers of Linux, both ways", () => {
    const aliases = new Set(["SIGIOT", "SIGPOLL", "SIGUNUSED", "SIGCLD"]);
    const known = Object.entries(constants.signals).filter(([name]) => !aliases.has(name));
    expect(known.length).toBeGreaterThan(28);
    for (const [name, number] of known) expect([signalName(number), signalNumber(name)]).toEqual([name, number]);
  });

  it("of real time have a name too, and what is no signal has no number", () => {
    expect(signalName(34)).toBe("SIGRTMIN+0");
    expect(signalName(64)).toBe("SIGRTMIN+30");
    expect(["KILL", "SIG", "SIG-", "SIGNOPE"].map(signalNumber)).toEqual([null, null, null, null]);
  });
});

describe("the report of an end", () => {
  it("never turns unknown into 0 (O1)", () => {
    const exit = guestExit({ ...plain, exit_code: null }, 0);
    expect([exit.exit_code, exit.signal, exit.oom_kills, exit.memory_peak_bytes]).toEqual([null, null, null, null]);
  });

  it.each([
    ["path", "ENOENT", "COMMAND_NOT_FOUND"],
    ["interpreter", "ENOENT", "COMMAND_NOT_FOUND"],
    ["exec", "EACCES", "COMMAND_NOT_EXECUTABLE"],
    ["chdir", "ENOTDIR", "WORKING_DIRECTORY_INVALID"],
    ["fork", "EAGAIN", "COMMAND_NOT_EXECUTABLE"],
    ["fork", "ENOMEM", "INTERNAL"],
    ["pipe", "EMFILE", "INTERNAL"],
  ] as const)("says for a start that failed at %s with %s: %s", (step, errno, code) => {
    expect(guestExit({ ...plain, start_failure: { step, errno } }, 0).start_failure).toEqual({ code, errno });
  });

  it("counts lines that were lost on either side", () => {
    expect(guestExit(plain, 3).progress_dropped).toBe(5);
  });
});
