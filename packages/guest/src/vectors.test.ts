/** Both sides of the link on the same bytes: the agent's own C code through its probe, and the TypeScript side. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { readAgentFrame } from "./agent-frame.js";
import {
  AGENT_FRAME,
  type AgentFrameName,
  encodeFrame,
  type FrameError,
  FrameReader,
  PREAMBLE,
  type WorkerFrameName,
} from "./frames.js";

interface VectorFrame {
  readonly type: string;
  readonly id: number;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly data?: string;
}

interface Vector {
  readonly name: string;
  readonly hex: string;
  readonly frames: readonly VectorFrame[];
  readonly error?: FrameError;
  /** The bytes begin where the link begins, not after its preamble. */
  readonly preamble?: boolean;
  /** Other bytes stand for the same frames, so that encoding does not lead back. */
  readonly decode_only?: boolean;
}

const GUEST = join(import.meta.dirname, "..");
const PROBE = join(GUEST, "build", "holdfast-agent-probe");

function vectors(file: string): Vector[] {
  return JSON.parse(readFileSync(join(GUEST, "vectors", `${file}.json`), "utf8"));
}

const toAgent = [...vectors("to-agent"), ...vectors("to-agent-malformed")];
const toWorker = [...vectors("to-worker"), ...vectors("to-worker-malformed")];
const encodable = (list: readonly Vector[]) => list.filter(({ decode_only, error }) => !decode_only && !error);

function probe(line: string): string {
  return execFileSync(PROBE, { input: `${line}\n`, encoding: "utf8" }).trimEnd();
}

const STEPS = [1, 3, 1_000_000];

function decodeInC(vector: Vector, step: number): unknown {
  return JSON.parse(probe(`decode ${vector.preamble ? 1 : 0} ${step} ${vector.hex}`));
}

/** `a.b=value` for each leaf; texts as hex, so that they may hold anything. */
function pairs(value: unknown, name: string): string[] {
  if (value !== null && typeof value === "object") {
    return Object.entries(value).flatMap(([key, item]) => pairs(item, name === "" ? key : `${name}.${key}`));
  }
  const text = typeof value === "string" ? Buffer.from(value).toString("hex") : String(value);
  return [`${name}=${text}`];
}

function encodeInC({ type, id, body, data }: VectorFrame): string {
  const fields = data === undefined ? pairs(body ?? {}, "") : [`data=${data}`];
  return probe(`encode ${AGENT_FRAME[type as AgentFrameName]} ${id} ${fields.join("\t")}`);
}

function encodeInTypeScript({ type, id, body, data }: VectorFrame): string {
  const payload = body ?? (data === undefined ? null : Buffer.from(data, "hex"));
  return encodeFrame(type as WorkerFrameName, id, payload).toString("hex");
}

function piecesOf(bytes: Buffer, step: number): Buffer[] {
  const count = Math.ceil(bytes.length / step);
  return Array.from({ length: count }, (_, index) => bytes.subarray(index * step, (index + 1) * step));
}

function decodeInTypeScript(vector: Vector, step: number): unknown {
  const reader = new FrameReader();
  if (!vector.preamble) reader.push(Buffer.from(PREAMBLE));
  const frames: unknown[] = [];
  for (const piece of piecesOf(Buffer.from(vector.hex, "hex"), step)) {
    const batch = reader.push(piece);
    for (const raw of batch.frames) {
      const read = readAgentFrame(raw);
      if (read.kind === "refused") return { frames, error: read.error };
      const { kind: type, ...rest } = read.frame;
      if ("data" in rest) frames.push({ type, id: rest.id, data: rest.data.toString("hex") });
      else frames.push("body" in rest ? { type, ...rest } : { type, id: rest.id, data: "" });
    }
    if (batch.error) return { frames, error: batch.error };
  }
  return { frames };
}

function expected({ frames, error }: Vector): unknown {
  return error ? { frames, error } : { frames };
}

beforeAll(() => {
  execFileSync(process.execPath, [join(GUEST, "agent", "build.mjs"), "--test"]);
}, 60_000);

describe("the agent's C code", () => {
  it.each(toAgent)("reads, whatever the pieces: $name", (vector) => {
    for (const step of STEPS) expect(decodeInC(vector, step)).toEqual(expected(vector));
  });

  it.each(encodable(toWorker))("writes to the byte: $name", ({ frames, hex }) => {
    expect(frames.map(encodeInC).join("")).toBe(hex);
  });

  it("hashes as everyone does, at every length around a block", () => {
    const directory = mkdtempSync(join(tmpdir(), "holdfast-sha-"));
    const wrong = [0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 128, 200_000].filter((length) => {
      const path = join(directory, `${length}`);
      const bytes = Buffer.from(Array.from({ length }, (_, index) => index & 255));
      writeFileSync(path, bytes);
      return probe(`sha256 ${path}`) !== createHash("sha256").update(bytes).digest("hex");
    });
    rmSync(directory, { recursive: true });
    expect(wrong).toEqual([]);
  });
});

describe("the worker's TypeScript", () => {
  it.each(toWorker)("reads, whatever the pieces: $name", (vector) => {
    for (const step of STEPS) expect(decodeInTypeScript(vector, step)).toEqual(expected(vector));
  });

  it.each(encodable(toAgent))("writes to the byte: $name", ({ frames, hex }) => {
    expect(frames.map(encodeInTypeScript).join("")).toBe(hex);
  });
});

describe("the agent's view of its control group", () => {
  const facts = (name: string) => JSON.parse(probe(`cgroup ${join(GUEST, "agent", "test", name)}`));

  it.each(["cgroup-v1", "cgroup-v2"])("tells limits and counters of %s", (name) => {
    expect(facts(name)).toEqual({
      version: name === "cgroup-v1" ? 1 : 2,
      memory_bytes: 268_435_456,
      memory_swap_bytes: 268_435_456,
      pids_max: 130,
      cpu_quota_us: 150_000,
      cpu_period_us: 100_000,
      oom_kills: 1,
      memory_peak_bytes: 16_777_216,
    });
  });

  it("tells no limit and no file as null, never as 0", () => {
    const none = { memory_bytes: null, memory_swap_bytes: null, pids_max: null, cpu_quota_us: null };
    expect(facts("cgroup-v1-open")).toMatchObject({ version: 1, ...none, memory_peak_bytes: null, oom_kills: 0 });
    expect(facts("cgroup-v2-open")).toMatchObject({ version: 2, ...none, cpu_period_us: 100_000, oom_kills: null });
    expect(facts("absent")).toMatchObject({ version: null, ...none, cpu_period_us: null, oom_kills: null });
  });
});
