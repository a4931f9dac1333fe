/**
 * One Docker Engine as the fleet sees it. The word container stays inside this package.
 * The engine is given facts (who is dead, what is allowed); it looks none up.
 */
import type {
  BootId,
  FleetId,
  HostId,
  ImageOffer,
  RefusedImage,
  Resources,
  SandboxId,
  StrangeSandbox,
  TaskError,
  TreeReceipt,
} from "@holdfast/contract";
import type { Assignment, GuestCommand, GuestExec, GuestFile, GuestFileReply, GuestSinks } from "@holdfast/guest";
import type { Check } from "./doctor/check.js";
import type { Wall } from "./doctor/walls.js";
import type { PullRight } from "./image-pull.js";

export interface EngineFacts {
  readonly engine_version: string;
  readonly api_version: string;
  readonly cgroup_version: 1 | 2;
  readonly cpus: number;
  readonly memory_mb: number;
  readonly runtimes: readonly string[];
}

/** Set-up purposes are a closed list; `task` and `pool` serve callers. */
export const PURPOSES = ["task", "pool", "probe", "image_check", "agent_fill", "doctor", "bench"] as const;
export type Purpose = (typeof PURPOSES)[number];

export interface SandboxSpec {
  readonly sandbox_id: SandboxId;
  readonly purpose: Purpose;
  /** As named in the allow list; it is started by its pinned digest. */
  readonly image: string;
  readonly resources: Resources;
  readonly runtime: string;
  /** Label and agent-side bound on the whole life, in seconds. */
  readonly lifetime_seconds: number;
  /** Asked by the link at each pulse: milliseconds the sandbox may still live. */
  permission(): number;
}

/** Why no sandbox came to be. Each failed try was cleaned up, or `cleanup` tells that it could not be yet. */
export interface CreationFailure {
  readonly error: TaskError;
  /** True where the engine, not the request, failed: the attempt is handed back. */
  readonly hand_back: boolean;
  readonly tries: number;
  /** Resolves with proof that nothing of this sandbox is left in the engine. */
  readonly cleanup: Promise<ContainerReceipt>;
}

/** Proof that the container is gone. */
export interface ContainerReceipt {
  readonly proven: boolean;
  readonly kill_ms: number | null;
  readonly remove_ms: number | null;
}

export type SandboxEnd =
  | { readonly kind: "destroyed" }
  /** Process 1 is gone or silent while engine and worker are healthy: the user's doing. */
  | { readonly kind: "guest_lost"; readonly detail: string; readonly oom_killed: boolean | null }
  /** The engine cannot be asked, or lost the container. */
  | { readonly kind: "engine_lost"; readonly detail: string }
  /** Its permission to live or its lifetime ran out. */
  | { readonly kind: "expired"; readonly reason: string };

export interface Sandbox {
  readonly sandbox_id: SandboxId;
  readonly image_digest: string;
  readonly runtime: string;
  /** As applied and verified: memory of the whole sandbox. */
  readonly limits: { cpu: number; memory_mb: number; disk_mb: number; pids_limit: number };
  /** From the first call to the verified posture, in milliseconds. */
  readonly created_ms: number;
  assign(assignment: Assignment): Promise<void>;
  ping(): Promise<void>;
  writeFile(file: GuestFile): Promise<GuestFileReply>;
  /** `command.env` lies over the sandbox's own environment: the image's ENV under our defaults. */
  exec(command: GuestExec, sinks: GuestSinks): GuestCommand;
  killTree(): Promise<TreeReceipt>;
  /** Resolves once, whatever ends the sandbox. */
  readonly ended: Promise<SandboxEnd>;
  /** Kill, prove, remove; repeatable and safe to call at any time. */
  destroy(): Promise<ContainerReceipt>;
}

export type CreateReply =
  | { readonly kind: "ready"; readonly sandbox: Sandbox }
  | { readonly kind: "failed"; readonly failure: CreationFailure };

/** What a sweep is told: the engine itself knows no boot's fate. */
export interface SweepFacts {
  /** Boots whose DEAD is old enough to act on. */
  readonly dead_boots: ReadonlySet<string>;
  /** Sandboxes this worker holds now. */
  readonly held: Pick<ReadonlySet<string>, "has">;
  /** Every boot the ledger has a record of, by a look that is still fresh. Without it no boot counts as absent. */
  readonly known_boots?: ReadonlySet<string>;
}

export interface SweepCounts {
  readonly seen: number;
  readonly removed: number;
  readonly failed: number;
  /** Containers in `removing` for more than 60 s: capacity stays held and the host is degraded. */
  readonly stuck: number;
  /** Sandboxes of tasks and pools that are alive after the pass and that `held` does not name. */
  readonly strange: readonly StrangeSandbox[];
}

export interface FoundSandbox {
  readonly sandbox_id: string;
  readonly boot_id: string;
  readonly purpose: string;
  readonly state: string;
  readonly age_ms: number;
}

export interface Engine {
  readonly facts: EngineFacts;
  readonly host_id: HostId;
  readonly fleet_id: FleetId;
  readonly boot_id: BootId;
  /** Images allowed, present, without VOLUME, whose `requires` were met by a real run. */
  readonly images: readonly ImageOffer[];
  /** Images that are allowed but not offered, and why. */
  readonly refused_images: readonly RefusedImage[];
  /** True if the engine answered within its deadline. */
  ping(): Promise<boolean>;
  create(spec: SandboxSpec): Promise<CreateReply>;
  /** Runs a sandbox end to end and verifies its posture: the worker is ready only after this. */
  probe(): Promise<void>;
  /**
   * Proves that limits hold, by running against them in one sandbox, and that the engine's disk is not full. Takes a
   * second or two, behind live creations. Rejects as a probe does where no sandbox can be had.
   */
  selfCheck(): Promise<readonly Check[]>;
  /** What the kernel and the engine's disk have room for, read anew. */
  walls(): Promise<readonly Wall[]>;
  sweep(facts: SweepFacts): Promise<SweepCounts>;
  /** Every container of this fleet on this engine, by label. */
  list(): Promise<FoundSandbox[]>;
  /**
   * Removes volumes of other versions of the agent that are a day old and that no container uses; answers how many.
   * For when no other worker serves the engine: one of another version may be about to use its own.
   */
  removeOldAgents(): Promise<number>;
  close(): Promise<void>;
}

export interface EngineOptions {
  /** Path of the engine's socket; DOCKER_HOST's unix path or the default one. */
  readonly socket_path: string;
  readonly fleet_id: FleetId;
  readonly boot_id: BootId;
  /** Path of the allow list. */
  readonly images_file: string;
  /** The right to pull what the list lets it pull and the engine lacks; without it nothing is pulled. */
  readonly pull?: PullRight;
  /** Directory that holds the built agent. */
  readonly agent_directory: string;
  /** Creations and removals under way at once. */
  readonly creations_max?: number;
  readonly removals_max?: number;
  /** Receives facts worth a log line; the engine itself logs nothing. */
  onNotice?(notice: EngineNotice): void;
}

export interface EngineNotice {
  readonly event: string;
  readonly [field: string]: unknown;
}

/** Connects, negotiates the API version, identifies the host, fills the agent volume, checks images. */
export type OpenEngine = (options: EngineOptions) => Promise<Engine>;
