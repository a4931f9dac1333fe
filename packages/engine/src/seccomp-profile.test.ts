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
      for (const { op, value } of args) {
        expect(op).toBe("SCMP_CMP_MASKED_EQ");
        expect([0xffffffff, 0x7e020000]).toContain(value);
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
      const tested = rulesOf(name).map(({ args = [] }) => args.at(-1));
      expect(tested, name).toEqual([expect.objectContaining({ valueTwo: 0, value: 0xffffffff })]);
    }
  });

  it("opens no socket but local ones, the two internet families and routing questions", () => {
    const families = rulesOf("socket").map(({ args = [] }) => args.map(({ index, valueTwo }) => [index, valueTwo]));

    expect(families).toEqual([
      [[0, 1]],
      [[0, 2]],
      [[0, 10]],
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
