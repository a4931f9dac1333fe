/** The short form: what a host proves again and again, in one sandbox and in a second or two. */
import { HoldfastError } from "@holdfast/contract";
import type { Engine } from "../engine.js";
import { setUpRuntime } from "../engine-facts.js";
import { inSetUpSandbox, type SetUpPlace } from "../set-up-sandbox.js";
import type { Check } from "./check.js";
import { bringProver, PROOF_RESOURCES, PROOFS, type Proof, prove } from "./proofs.js";

const LIFETIME_SECONDS = 300;

/** Where proofs are run: the first image that is offered, whatever it holds. */
export function proofPlace(engine: Pick<Engine, "images" | "facts">): SetUpPlace {
  const [image] = engine.images;
  if (image === undefined) {
    throw new HoldfastError("ENGINE_UNAVAILABLE", { message: "This host offers no image to start a sandbox from." });
  }
  return {
    purpose: "doctor",
    image: image.image,
    runtime: setUpRuntime(engine.facts),
    resources: PROOF_RESOURCES,
    lifetime_seconds: LIFETIME_SECONDS,
  };
}

/** Runs the proofs one after the other in one sandbox. Rejects as a probe does where none can be had or removed. */
export function proveTogether(
  engine: Pick<Engine, "create" | "images" | "facts">,
  prover: Buffer,
  proofs: readonly Proof[] = PROOFS.filter(({ short }) => short),
): Promise<Check[]> {
  const place = proofPlace(engine);
  return inSetUpSandbox(engine.create, place, async (sandbox) => {
    await bringProver(sandbox, prover);
    const checks: Check[] = [];
    for (const proof of proofs) checks.push(await prove(sandbox, proof, place.resources));
    await sandbox.ping();
    return checks;
  });
}
