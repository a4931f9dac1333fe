import type { FleetId } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { agentVolumeName, hostVolumeName } from "./container-name.js";
import { type Holding, oldAgentVolumes, unlistedImages } from "./estate.js";

const FLEET = "fleet_1" as FleetId;
const DAY_MS = 24 * 3_600_000;
const NOW_MS = 10 * DAY_MS;
const holding = (kind: Holding["kind"], name: string, created_at_ms: number | null = 0): Holding => ({
  ...{ kind, name, fleet_id: FLEET, alive: false, created_at_ms, state: "" },
});
const namesOf = (found: readonly Holding[]) => found.map(({ name }) => name);

describe("old volumes of the agent", () => {
  const volume = (digit: string, fleet = FLEET) => agentVolumeName(fleet, digit.repeat(64));
  const old = (...found: Holding[]) =>
    namesOf(oldAgentVolumes(found, { fleet_id: FLEET, volume: volume("a"), now_ms: NOW_MS }));

  it("are those of other versions, a day old by the engine's clock (Q1)", () => {
    const young = holding("volume", volume("c"), NOW_MS - DAY_MS);
    expect(old(holding("volume", volume("a")), holding("volume", volume("b")), young)).toEqual([volume("b")]);
  });

  it("are never the host's own, another fleet's, or of an age that the engine does not tell (E2)", () => {
    const other = holding("volume", volume("b", "fleet_12" as FleetId));
    expect(old(holding("volume", hostVolumeName(FLEET)), other, holding("volume", volume("b"), null))).toEqual([]);
  });
});

describe("unlisted images", () => {
  it("are versions of what the list names that neither it nor a host names; what was never listed stays (Q1)", () => {
    const images = ["holdfast/a:1", "holdfast/a:2", "holdfast/a:3", "holdfast/b:1"].map((name) =>
      holding("image", name),
    );

    expect(namesOf(unlistedImages(images, ["holdfast/a:3"], ["holdfast/a:2"]))).toEqual(["holdfast/a:1"]);
  });
});
