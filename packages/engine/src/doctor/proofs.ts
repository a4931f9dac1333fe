/** The proofs: each runs the prover against one limit of a live sandbox and judges how far it came. */
import { PIDS_OVERHEAD, type Resources, sandboxMemoryMb } from "@holdfast/contract";
import type { GuestSinks } from "@holdfast/guest";
import { writableMounts } from "../container-spec.js";
import type { Sandbox } from "../engine.js";
import { type Check, failing } from "./check.js";
import {
  type Judge,
  judgeCpu,
  judgeDisk,
  judgeInodes,
  judgeKillTree,
  judgeMemory,
  judgeNetwork,
  judgePids,
  judgeSeccomp,
  judgeTimeLimit,
} from "./judgements.js";

export interface Proof {
  readonly name: string;
  /** Part of the short form, which a worker runs at its start and each hour. */
  readonly short: boolean;
  /** What the prover is told to do. */
  readonly program: string;
  /** How far it would go if nothing stopped it: beyond the limit, and not far beyond. */
  amount(resources: Resources): number;
  readonly timeout_ms: number;
  readonly judge: Judge;
}

export const PROOF_RESOURCES: Resources = { cpu: 0.5, memory_mb: 64, disk_mb: 16, pids_limit: 16 };

const PROVER_PATH = "prover";
const BEYOND = 64;
const TIMEOUT_MS = 30_000;
const CPU_MEASURED_MS = 1_000;
const TIME_LIMIT_MS = 500;
const OUTPUT_BYTES_MAX = 4_096;

const base = { timeout_ms: TIMEOUT_MS, amount: () => 0, short: true };

export const PROOFS: readonly Proof[] = [
  {
    ...{ ...base, name: "memory", program: "memory", judge: judgeMemory },
    amount: (resources) => sandboxMemoryMb(resources) + BEYOND,
  },
  {
    ...{ ...base, name: "pids", program: "pids", judge: judgePids },
    amount: ({ pids_limit }) => pids_limit + PIDS_OVERHEAD + BEYOND,
  },
  {
    ...{ ...base, name: "disk", program: "disk", judge: judgeDisk },
    amount: ({ disk_mb }) => disk_mb + BEYOND,
  },
  {
    ...{ ...base, name: "inodes", program: "inodes", judge: judgeInodes, short: false },
    amount: (resources) => (writableMounts(resources)["/workspace"]?.inodes ?? 0) + BEYOND,
  },
  { ...base, name: "cpu", program: "cpu", judge: judgeCpu, short: false, amount: () => CPU_MEASURED_MS },
  { ...base, name: "network", program: "network", judge: judgeNetwork },
  {
    ...{ ...base, name: "time_limit", program: "time", short: false },
    ...{ timeout_ms: TIME_LIMIT_MS, judge: judgeTimeLimit(TIME_LIMIT_MS) },
  },
  { ...base, name: "kill_tree", program: "orphan", judge: judgeKillTree },
  { ...base, name: "seccomp", program: "syscalls", judge: judgeSeccomp },
];

function wordsOf(output: string): Map<string, number> {
  const pairs = output.matchAll(/([a-z0-9_]+) (-?[0-9]+)(?=\s|$)/g);
  return new Map([...pairs].map(([, word = "", number]) => [word, Number(number)]));
}

/** Puts the prover into a sandbox. Throws where the sandbox does not take it. */
export async function bringProver(sandbox: Sandbox, prover: Buffer): Promise<void> {
  const reply = await sandbox.writeFile({ path: PROVER_PATH, mode: 0o755, content: prover });
  if (reply.kind === "refused") throw new Error(`the prover could not be written (${reply.errno})`);
}

async function run(sandbox: Sandbox, proof: Proof, resources: Resources): Promise<Check> {
  let output = "";
  const sinks: GuestSinks = {
    stdout(chunk) {
      if (output.length < OUTPUT_BYTES_MAX) output += chunk.toString("latin1");
    },
    stderr() {},
    progress() {},
  };
  const { exited } = sandbox.exec(
    {
      argv: [`/workspace/${PROVER_PATH}`, proof.program, String(proof.amount(resources))],
      ...{ env: {}, working_directory: "/workspace", stdin: Buffer.alloc(0) },
      ...{ timeout_ms: proof.timeout_ms, leftovers: "kill" },
    },
    sinks,
  );
  const exit = await exited;
  if (exit.start_failure !== null) {
    const seen = `the prover could not be started (${exit.start_failure.code})`;
    return failing(proof.name, seen, "build it again (npm run build), then run this again");
  }
  return proof.judge({ exit, words: wordsOf(output) }, resources);
}

/** Never rejects: a sandbox that is lost under a proof has not held the limit. */
export async function prove(sandbox: Sandbox, proof: Proof, resources: Resources): Promise<Check> {
  try {
    return await run(sandbox, proof, resources);
  } catch {
    return failing(proof.name, "the sandbox was lost during the proof", "see the engine's log, then run this again");
  }
}
