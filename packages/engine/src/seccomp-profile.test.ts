import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readSeccompProfile } from "./seccomp-profile.js";

interface Argument {
  readonly index: number;
  readonly value: number;
  readonly valueTwo: number;
  readonly op: string;
}

interface Rule {
  readonly names: readonly string[];
  readonly action: string;
  readonly errnoRet?: number;
  readonly args?: readonly Argument[];
}

const profile = JSON.parse(readSeccompProfile()) as {
  readonly defaultAction: string;
  readonly archMap: readonly { readonly subArchitectures: readonly string[] }[];
  readonly syscalls: readonly Rule[];
};
const document = readFileSync(new URL("../../../docs/seccomp.md", import.meta.url), "utf8");

const ENOSYS = 38;
const allowedWhole = new Set(
  profile.syscalls
    .filter(({ action, args }) => action === "SCMP_ACT_ALLOW" && args === undefined)
    .flatMap(({ names }) => names),
);
const rulesOf = (name: string) => profile.syscalls.filter(({ names }) => names.includes(name));

/** Rows of a table of the document, as their cells. */
function rows(heading: string): string[][] {
  const [, after = ""] = document.split(heading);
  const table = after.split("\n\n").find((block) => block.startsWith("|")) ?? "";
  return table
    .split("\n")
    .slice(2)
    .map((line) => line.split("|").slice(1, -1));
}

const names = (cell: string | undefined) => [...(cell ?? "").matchAll(/`([a-z0-9_]+)`/g)].map(([, name]) => name ?? "");

describe("the seccomp profile", () => {
  it("refuses by default, and takes no second architecture in", () => {
    expect(profile.defaultAction).toBe("SCMP_ACT_ERRNO");
    expect(profile.archMap.flatMap(({ subArchitectures }) => subArchitectures)).toEqual([]);
  });

  it("knows no action but allow and errno, and looks at 32 bits of each number, as the kernel does", () => {
    for (const { action, args = [] } of profile.syscalls) {
      expect(["SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO"]).toContain(action);
      for (const { op, value, valueTwo } of args) {
        // A pointer is there or not; its 64 bits are compared with nothing else.
        if (op !== "SCMP_CMP_MASKED_EQ")
          expect([op, value, valueTwo]).toEqual([expect.stringMatching(/_(EQ|NE)$/), 0, 0]);
        else expect([0xffffffff, 0x7e020000, 1, 2, 8]).toContain(value);
      }
    }
  });

  it("refuses what docs/seccomp.md calls refused, with the answer it names", () => {
    const refused = rows("# System calls a sandbox refuses").filter(([what]) => !what?.includes("32-bit"));
    expect(refused.length).toBeGreaterThan(15);

    for (const [what = "", answer = ""] of refused) {
      const conditional = /^ `(clone|socket|socketpair)` /.exec(what)?.[1];
      for (const name of names(what).filter((name) => name !== conditional)) {
        expect(allowedWhole, name).not.toContain(name);
        const errnos = rulesOf(name).map(({ errnoRet }) => errnoRet);
        expect(errnos, name).toEqual(answer.includes("ENOSYS") ? [ENOSYS] : []);
      }
      if (conditional !== undefined) expect(allowedWhole).not.toContain(conditional);
    }
  });

  it("lets the calls that reach other processes reach the caller alone", () => {
    const conditional = rows("## Allowed for the caller itself only").flatMap(([what]) => names(what));
    expect(conditional).toContain("prlimit64");

    for (const name of conditional.filter((name) => name !== "personality")) {
      expect(allowedWhole).not.toContain(name);
      const process = /^(setpriority|ioprio_set)$/.test(name) ? 1 : 0;
      for (const { args = [] } of rulesOf(name)) {
        expect(args, name).toContainEqual(expect.objectContaining({ index: process, valueTwo: 0, value: 0xffffffff }));
      }
    }
  });

  it("answers what docs/seccomp.md calls answered with success, without doing it", () => {
    const answered = rows("## Answered, not done").flatMap(([what]) => names(what));
    expect(answered).toEqual(["sync", "syncfs", "prlimit64", "setrlimit"]);

    for (const name of answered) {
      expect(allowedWhole).not.toContain(name);
      const refusals = rulesOf(name).filter(({ action }) => action === "SCMP_ACT_ERRNO");
      expect(refusals.map(({ errnoRet }) => errnoRet)).toEqual([0]);
    }
  });

  it("lets every limit be set but that of core files", () => {
    const passes = (args: readonly Argument[], index: number, number: number) =>
      args
        .filter((argument) => argument.index === index)
        .every(({ value, valueTwo }) => (number & value) >>> 0 === valueTwo);
    for (const [name, index] of [
      ["prlimit64", 1],
      ["setrlimit", 0],
    ] as const) {
      const allowed = rulesOf(name).filter(({ action, args = [] }) => {
        return action === "SCMP_ACT_ALLOW" && !args.some(({ op }) => op === "SCMP_CMP_EQ");
      });
      const settable = Array.from({ length: 16 }, (_, number) => number).filter((number) =>
        allowed.some(({ args = [] }) => passes(args, index, number)),
      );
      expect(settable, name).toEqual([0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    }
  });

  it("opens no socket but local ones, TCP and UDP of the two internet families, and routing questions", () => {
    const families = rulesOf("socket").map(({ args = [] }) => args.map(({ index, valueTwo }) => [index, valueTwo]));

    expect(families).toEqual([
      [[0, 1]],
      ...[2, 10].flatMap((family) =>
        [0, 6, 17].map((protocol) => [
          [0, family],
          [2, protocol],
        ]),
      ),
      [
        [0, 16],
        [2, 0],
      ],
    ]);
  });

  it("starts threads and processes, but none in a new namespace", () => {
    expect(rulesOf("clone")).toEqual([
      expect.objectContaining({ args: [{ index: 0, value: 0x7e020000, valueTwo: 0, op: "SCMP_CMP_MASKED_EQ" }] }),
    ]);
    expect(rulesOf("clone3")).toEqual([expect.objectContaining({ action: "SCMP_ACT_ERRNO", errnoRet: ENOSYS })]);
  });
});
