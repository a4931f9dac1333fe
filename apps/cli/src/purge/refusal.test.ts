import type { Holding } from "@holdfast/engine";
import { expect, it } from "vitest";
import { type PurgeView, refusalOf } from "./refusal.js";

const container = (alive: boolean): Holding => ({
  ...{ kind: "container", name: "holdfast-1", fleet_id: "fleet_1", alive, created_at_ms: null },
  state: alive ? "running" : "exited",
});
const QUIET: PurgeView = {
  found: [container(false)],
  live_boots: [],
  known_fleets: new Set(),
  images: false,
  all_fleets: false,
  others_here: false,
  force: false,
};

it.each<[string, Partial<PurgeView>, RegExp | null]>([
  ["what is at rest goes, also where no ledger answers", {}, null],
  ["a live worker keeps all of it", { live_boots: ["boot_1"] }, /boot_1.*--force/],
  ["force goes on beside a live worker", { live_boots: ["boot_1"], force: true }, null],
  ["what runs and whose worker nobody knows stays", { found: [container(true)] }, /1 sandbox runs.*--force/],
  [
    "what runs of a fleet whose workers are all dead goes",
    { found: [container(true)], known_fleets: new Set(["fleet_1"]) },
    null,
  ],
  ["images stay while another fleet may want them", { images: true, others_here: true, force: true }, /--all-fleets/],
  ["and go with all fleets", { images: true, others_here: true, all_fleets: true }, null],
])("%s", (_, more, refusal) => {
  const said = refusalOf({ ...QUIET, ...more });

  if (refusal === null) expect(said).toBeNull();
  else expect(said).toMatch(refusal);
});
