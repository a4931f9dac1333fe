/** Pages that repeat what the code knows: equal in both directions, or this fails. */
import { ERROR_CODES, TIMES } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { allFiles, filesWith, tableUnder, textOf } from "./source-tree.js";

const bare = (cell: string | undefined) => (cell ?? "").replaceAll("`", "");

describe("docs/errors.md", () => {
  it("lists exactly the closed list of codes, with fault, retryable and message", () => {
    const shown = tableUnder("docs/errors.md", "Codes").map(([code, fault, retryable, message]) => {
      return [bare(code), fault, retryable, message];
    });
    const real = Object.entries(ERROR_CODES).map(([code, facts]) => {
      return [code, facts.fault, facts.retryable ? "yes" : "no", facts.message];
    });
    expect(shown).toEqual(real);
  });

  it("says of each code what to do", () => {
    const silent = tableUnder("docs/errors.md", "Codes").filter(([, , , , advice]) => (advice ?? "").length < 10);
    expect(silent).toEqual([]);
  });
});

describe("docs/operations.md", () => {
  it("shows the table of times as the code has it, in milliseconds", () => {
    const rows = tableUnder("docs/operations.md", "Times").map(([name, value]) => [bare(name), bare(value)]);
    const shown = Object.fromEntries(rows.map(([name, value]) => [name, Number(value?.replaceAll(/[^0-9]/g, ""))]));
    expect(shown).toEqual(TIMES);
  });

  it("shows every setting that a program reads, and no other", async () => {
    const shown = tableUnder("docs/operations.md", "Settings").map(([name]) => bare(name));
    expect(shown.sort()).toEqual(await settings());
  });
});

describe("pages", () => {
  it("link only to files that are there", () => {
    const files = new Set(allFiles());
    const broken = filesWith(".md").flatMap((page) => {
      const folder = page.includes("/") ? page.slice(0, page.lastIndexOf("/")) : "";
      const links = [...textOf(page).matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)].map((match) => match[1] ?? "");
      return links.map((link) => normal(folder, link)).filter((path) => !isThere(files, path));
    });
    expect(broken).toEqual([]);
  });

  it("have one title each", () => {
    const titles = (page: string) =>
      textOf(page)
        .replaceAll(/^```[\s\S]*?^```/gm, "")
        .match(/^# /gm) ?? [];
    expect(filesWith(".md").filter((page) => titles(page).length !== 1)).toEqual([]);
  });
});

function normal(folder: string, link: string): string {
  const parts: string[] = [];
  for (const part of [...folder.split("/"), ...link.split("/")]) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return parts.join("/");
}

function isThere(files: ReadonlySet<string>, path: string): boolean {
  return files.has(path) || [...files].some((file) => file.startsWith(`${path}/`));
}

/** Names of all variables that the schemas of the programs' config.ts know. */
async function settings(): Promise<string[]> {
  const names = new Set<string>();
  for (const path of filesWith("/config.ts").filter((file) => /^apps\/[^/]+\/src\/config\.ts$/.test(file))) {
    const exports: Record<string, unknown> = await import(`../../${path}`);
    for (const value of Object.values(exports)) {
      const shape = (value as { shape?: Record<string, unknown> } | null)?.shape;
      for (const name of Object.keys(shape ?? {})) names.add(name);
    }
  }
  return [...names].sort();
}
