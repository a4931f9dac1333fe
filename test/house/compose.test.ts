/** docker-compose.yml: valid where a validator is at hand, and in any case what the fleet needs. */
import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { ROOT, textOf } from "./source-tree.js";

const env = {
  ...process.env,
  HOLDFAST_REDIS_PASSWORD: "example",
  HOLDFAST_OPERATOR_PASSWORD: "example-example",
};

/** Both spellings of the tool; null where neither is installed. */
function validate(): { status: number | null; output: string } | null {
  for (const [program, first] of [["docker-compose"], ["docker", "compose"]] as const) {
    const prefix = first === undefined ? [] : [first];
    const there = spawnSync(program ?? "", [...prefix, "version"], { env });
    if (there.status !== 0) continue;
    const run = spawnSync(program ?? "", [...prefix, "config", "-q"], { cwd: ROOT, env, encoding: "utf8" });
    return { status: run.status, output: `${run.stdout}${run.stderr}` };
  }
  return null;
}

/** Lines of one service, by indentation. */
function service(name: string): string {
  const text = textOf("docker-compose.yml");
  const block = text.match(new RegExp(`^  ${name}:\\n((?:    .*\\n|\\n)+)`, "m"))?.[1];
  if (block === undefined) throw new Error(`no service ${name}`);
  return block;
}

describe("docker-compose.yml", () => {
  it("is accepted by the validator where there is one", () => {
    const verdict = validate();
    if (verdict !== null) expect(verdict).toMatchObject({ status: 0 });
    expect(textOf("docker-compose.yml")).not.toMatch(/\t|^name:/m);
  }, 60_000);

  it("keeps the ledger durable and unevicted, behind a password", () => {
    const redis = service("redis");
    expect(redis).toMatch(/--appendonly\n\s+- "yes"/);
    expect(redis).toMatch(/--maxmemory-policy\n\s+- noeviction/);
    expect(redis).toMatch(/--requirepass\n\s+- \$\{HOLDFAST_REDIS_PASSWORD:\?/);
    expect(redis).not.toMatch(/ports:/);
  });

  it("gives the engine's socket to worker and supervisor alone, and no service a privilege", () => {
    expect(service("worker")).toContain("/var/run/docker.sock:/var/run/docker.sock");
    expect(service("supervise")).toContain("/var/run/docker.sock:/var/run/docker.sock");
    expect(service("supervise")).toContain("profiles: [supervise]");
    expect(service("gateway")).not.toContain("docker.sock");
    expect(textOf("docker-compose.yml")).not.toContain("privileged");
    expect(service("gateway")).toContain('"127.0.0.1:7070:7070"');
  });
});
