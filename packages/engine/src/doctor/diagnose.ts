/** Everything that can be told of an engine as a host: what it says, what it has, and what its limits are worth. */
import { drawBootId, type FleetId, HoldfastError } from "@holdfast/contract";
import { readProver } from "@holdfast/guest";
import type { Engine, EngineFacts, EngineNotice } from "../engine.js";
import { placeOf } from "../engine-facts.js";
import { openEngine } from "../open-engine.js";
import { inSetUpSandbox } from "../set-up-sandbox.js";
import { type Check, failedNames, failing, passed, skipped, warning } from "./check.js";
import { lookAtEngine } from "./engine-look.js";
import { drawDoctorFleet, leaveNothing, removeAbandoned } from "./leave-nothing.js";
import { bringProver, PROOF_RESOURCES, PROOFS, type Proof, prove } from "./proofs.js";
import { readWalls } from "./read-walls.js";
import { proofPlace } from "./self-check.js";
import { judgeWalls, type Wall } from "./walls.js";

export interface DiagnosisOptions {
  readonly socket_path: string;
  readonly images_file: string;
  readonly agent_directory: string;
  /** Once aborted no further proof begins; what was made is removed as ever. */
  readonly signal?: AbortSignal;
}

export interface Diagnosis {
  readonly checks: readonly Check[];
  readonly walls: readonly Wall[];
  /** Null where the engine could not be opened. */
  readonly facts: EngineFacts | null;
}

const SETUP = "./scripts/setup builds and loads what belongs to Holdfast";
const ENGINE_LOG = "see the engine's log";

const message = (error: unknown): string => (error instanceof Error ? error.message : String(error));
const cause = (error: unknown): string =>
  error instanceof Error && error.cause !== undefined ? `${error.message} ${message(error.cause)}` : message(error);

function imageChecks(engine: Engine): Check[] {
  const none = engine.images.length === 0;
  if (none && engine.refused_images.length === 0) return [failing("images", "the allow list is empty", SETUP)];
  const told = (images: readonly { image: string }[]): string => images.map(({ image }) => image).join(", ");
  // One that may be absent, and is, needs no remedy as long as there is another.
  const unexpected = engine.refused_images.filter(({ expected }) => none || !expected);
  const refused = unexpected.map(({ image, reason }) => {
    const seen = `${image}: ${reason}`;
    const remedy = `load it into this engine, or take it off the allow list; ${SETUP}`;
    return none ? failing("images", seen, remedy) : warning("images", seen, remedy);
  });
  return [...(none ? [] : [passed("images", told(engine.images))]), ...refused];
}

/** Each in a sandbox of its own: one that is lost under a proof hides no other limit. */
async function proveAlone(engine: Engine, prover: Buffer, proof: Proof, words: () => string): Promise<Check> {
  try {
    return await inSetUpSandbox(engine.create, proofPlace(engine), async (sandbox) => {
      await bringProver(sandbox, prover);
      return prove(sandbox, proof, PROOF_RESOURCES);
    });
  } catch (error) {
    const code = error instanceof HoldfastError ? ` (${error.code})` : "";
    return failing(proof.name, `no sandbox to prove it in${code}: ${message(error)} ${words()}`.trim(), ENGINE_LOG);
  }
}

interface Proving {
  readonly engine: Engine;
  readonly prover: Buffer;
  readonly signal: AbortSignal | undefined;
  /** What the engine said last. */
  words(): string;
}

async function proofChecks({ engine, prover, signal, words }: Proving): Promise<Check[]> {
  try {
    await engine.probe();
  } catch (error) {
    const seen = `${cause(error)} ${words()}`.trim();
    return [failing("sandbox", seen, ENGINE_LOG), ...PROOFS.map(({ name }) => skipped(name, "there is no sandbox"))];
  }
  const checks = [passed("sandbox", "created, verified, asked, killed, proven gone")];
  for (const proof of PROOFS) {
    const interrupted = signal?.aborted === true;
    checks.push(interrupted ? skipped(proof.name, "interrupted") : await proveAlone(engine, prover, proof, words));
  }
  return checks;
}

type Inside = Pick<Diagnosis, "facts" | "checks">;

async function inside(options: DiagnosisOptions, fleet_id: FleetId): Promise<Inside> {
  const notices: EngineNotice[] = [];
  const words = (): string => {
    const detail = notices.at(-1)?.["detail"];
    return typeof detail === "string" ? `(${detail})` : "";
  };
  try {
    const prover = await readProver(options.agent_directory);
    const onNotice = (notice: EngineNotice): void => void notices.push(notice);
    const engine = await openEngine({ ...options, fleet_id, boot_id: drawBootId(), onNotice });
    const proofs = await proofChecks({ engine, prover, words, signal: options.signal });
    const checks = [...imageChecks(engine), ...proofs];
    await engine.close();
    return { checks, facts: engine.facts };
  } catch (error) {
    const check = failing("set_up", `${cause(error)} ${words()}`.trim(), `${ENGINE_LOG}; ${SETUP}`);
    return { checks: [check, ...PROOFS.map(({ name }) => skipped(name, "the set-up failed"))], facts: null };
  }
}

function leftCheck(left: number): Check {
  if (left === 0) return passed("left_behind", "nothing");
  return warning("left_behind", `${left} volumes that the engine does not let go`, "run this again in an hour");
}

/** Looks at the engine and, unless that shows it unfit, proves its limits. Leaves nothing behind in it. */
export async function diagnoseEngine(options: DiagnosisOptions): Promise<Diagnosis> {
  const look = await lookAtEngine(options.socket_path);
  const place = look.info === null ? { data_root: null, keys_of_root: true } : placeOf(look.info);
  const walls = judgeWalls(await readWalls(place));
  const outside = [...look.checks, ...walls.map(({ check }) => check)];
  if (look.info === null || failedNames(look.checks).length > 0) {
    const why = look.info === null ? "the engine cannot be asked" : "the engine's configuration is refused";
    const untried = ["images", "sandbox", ...PROOFS.map(({ name }) => name)];
    return { checks: [...outside, ...untried.map((name) => skipped(name, why))], walls, facts: null };
  }
  await removeAbandoned(look.connection);
  const fleet_id = drawDoctorFleet();
  const { checks, facts } = await inside(options, fleet_id);
  const left = await leaveNothing(look.connection, fleet_id);
  return { checks: [...outside, ...checks, leftCheck(left)], walls, facts };
}
