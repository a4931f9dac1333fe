/** One creation try: create, attach, start, hello, inspect, verify. It cleans up nothing; it tells what it left. */
import { deadline, monotonicMs } from "@holdfast/chassis";
import { type Hello, type Resources, TIMES } from "@holdfast/contract";
import type { GuestLink, OpenGuestLink } from "@holdfast/guest";
import { attach } from "./attach.js";
import { createContainer, inspectContainer, startContainer } from "./container-calls.js";
import type { ContainerSpec } from "./container-spec.js";
import type { CreationStep, TryFailure } from "./creation-failure.js";
import type { EngineConnection } from "./engine-connection.js";
import type { EngineFailure, EngineReply } from "./engine-failure.js";
import type { GuestStream } from "./guest-stream.js";
import type { JsonReader } from "./json-reader.js";
import { postureDeviations } from "./posture.js";

export interface TryInput {
  readonly connection: EngineConnection;
  readonly open_link: OpenGuestLink;
  readonly name: string;
  readonly spec: ContainerSpec;
  readonly resources: Resources;
  readonly uid: number;
  readonly agent_sha256: string;
  readonly cgroup_version: 1 | 2;
  readonly own_namespaces: Readonly<Record<string, string>>;
  permission(): number;
}

export interface VerifiedContainer {
  readonly id: string;
  readonly link: GuestLink;
  readonly hello: Hello;
  readonly stream: GuestStream;
}

export type TryReply =
  | { readonly kind: "verified"; readonly container: VerifiedContainer }
  /** `id` is null where no container is known; one may exist under the name all the same. */
  | { readonly kind: "failed"; readonly failure: TryFailure; readonly id: string | null };

export async function tryCreation(input: TryInput): Promise<TryReply> {
  const { connection, name, spec } = input;
  const end = monotonicMs() + TIMES.creation_try_ms;
  const created = await createContainer(connection, name, spec);
  if (created.kind === "failed") return engineFailed("create", created.failure, null);
  const { id, warnings } = created.value;
  if (warnings.length > 0) return { kind: "failed", failure: { kind: "warned", detail: warnings.join("; ") }, id };

  const attached = await attach(connection, id);
  if (attached.kind === "failed") return engineFailed("attach", attached.failure, id);
  const link = input.open_link(attached.value.stream, { permission: input.permission, now: monotonicMs });
  const reply = await startAndVerify(input, { id, link, stream: attached.value, end_ms: end });
  if (reply.kind === "failed") {
    link.close();
    attached.value.stream.destroy();
  }
  return reply;
}

type Greeting = { readonly kind: "hello"; readonly hello: Hello } | { readonly kind: "none"; readonly detail: string };

interface Attached {
  readonly id: string;
  readonly link: GuestLink;
  readonly stream: GuestStream;
  readonly end_ms: number;
}

async function startAndVerify(input: TryInput, { id, link, stream, end_ms }: Attached): Promise<TryReply> {
  // Asked before the start, so that no frame and no end of the link comes unheard.
  const greeting = link.hello(TIMES.creation_try_ms).then<Greeting, Greeting>(
    (hello) => ({ kind: "hello", hello }),
    (error: unknown) => ({ kind: "none", detail: String(error) }),
  );
  const started = await startContainer(input.connection, id, Math.max(1, end_ms - monotonicMs()));
  if (started.kind === "failed") return engineFailed("start", started.failure, id);

  // Asked beside the hello: what it tells of the container's making does not change any more.
  const inspecting = inspectContainer(input.connection, id);
  const late = (): Greeting => ({ kind: "none", detail: "no hello in time" });
  const greeted = await deadline(greeting, TIMES.hello_ms, late);
  if (greeted.kind === "none") {
    const detail = `${greeted.detail} ${stream.diagnostics()}`;
    return { kind: "failed", failure: { kind: "no_hello", detail }, id };
  }
  if (greeted.hello.agent_sha256 !== input.agent_sha256) {
    return { kind: "failed", failure: { kind: "other_agent" }, id };
  }
  return verify(input, { id, link, hello: greeted.hello, stream }, await inspecting);
}

function verify(input: TryInput, container: VerifiedContainer, inspected: EngineReply<JsonReader>): TryReply {
  if (inspected.kind === "failed") return engineFailed("inspect", inspected.failure, container.id);
  const deviations = postureDeviations(
    { name: input.name, inspect: inspected.value.raw, hello: container.hello },
    input,
  );
  if (deviations.length === 0) return { kind: "verified", container };
  return { kind: "failed", failure: { kind: "posture", deviations }, id: container.id };
}

function engineFailed(step: CreationStep, failure: EngineFailure, id: string | null): TryReply {
  return { kind: "failed", failure: { kind: "engine", step, failure }, id };
}
