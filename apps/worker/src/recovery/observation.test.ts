import type { BootId, HostId } from "@holdfast/contract";
import type { BootSight } from "@holdfast/ledger";
import { describe, expect, test } from "vitest";
import { createObservation, type Look } from "./observation.js";

const OWN = "boot_own" as BootId;
const SILENT = "boot_silent" as BootId;

function sight(given: Partial<BootSight> = {}): BootSight {
  const silent = { boot_id: SILENT, host_id: "host_1" as HostId, state: "LIVE", counter: 7 } as const;
  return { ...silent, lease_ended: true, dead_ms: null, reservations: 1, holds_slice: false, ...given };
}

/** Looks each second that take 10 ms, from second `from` to second `to`; the last one's answer. */
function lookEachSecond(
  observation: ReturnType<typeof createObservation>,
  from: number,
  to: number,
  given: (second: number) => Partial<BootSight> = () => ({}),
) {
  let answer: ReturnType<typeof observation.looked> = [];
  for (let second = from; second <= to; second += 1) {
    answer = observation.looked(look(second * 1_000, 10, given(second)));
  }
  return answer;
}

const look = (sent_at_ms: number, took_ms: number, given: Partial<BootSight> = {}): Look => ({
  sent_at_ms,
  answered_at_ms: sent_at_ms + took_ms,
  sights: [sight(given)],
});

describe("who may be buried (L4)", () => {
  test("one whose lease has ended and whose counter stood still for a whole lease of looks, and not sooner", () => {
    const observation = createObservation(OWN);

    expect(lookEachSecond(observation, 0, 8)).toEqual([]);
    expect(lookEachSecond(observation, 9, 9)).toEqual([{ boot_id: SILENT, counter: 7 }]);
  });

  test("the span counts from the first answer to the last question, so that slow looks never make it longer", () => {
    const observation = createObservation(OWN);
    for (let at_ms = 0; at_ms <= 8_000; at_ms += 2_000) {
      expect(observation.looked(look(at_ms, 1_000))).toEqual([]);
    }

    expect(observation.looked(look(10_000, 1_000))).toHaveLength(1);
  });

  test("not one whose lease stands by Redis's clock, however long its counter stood still", () => {
    expect(lookEachSecond(createObservation(OWN), 0, 60, () => ({ lease_ended: false }))).toEqual([]);
  });

  test("a beat begins the observation anew, also one whose counter went back", () => {
    const observation = createObservation(OWN);
    const beaten = (second: number) => ({ counter: second < 5 ? 7 : 6 });

    expect(lookEachSecond(observation, 0, 13, beaten)).toEqual([]);
    expect(lookEachSecond(observation, 14, 14, beaten)).toEqual([{ boot_id: SILENT, counter: 6 }]);
  });

  test.each([
    ["a look slower than a beat", 20, (o: ReturnType<typeof createObservation>) => void o.looked(look(9_000, 2_001))],
    ["a failed look", 21, (o: ReturnType<typeof createObservation>) => o.broken()],
    ["a silence of the observer longer than a beat", 21, () => {}],
  ])("%s begins the observation anew: nobody could beat either", (_, second, interrupt) => {
    const observation = createObservation(OWN);
    lookEachSecond(observation, 0, 8);
    interrupt(observation);

    expect(lookEachSecond(observation, 12, second - 1)).toEqual([]);
    expect(lookEachSecond(observation, second, second)).toHaveLength(1);
  });

  test("never the observer itself, and nobody who is DEAD already", () => {
    const observation = createObservation(OWN);
    const sights = [sight({ boot_id: OWN }), sight({ state: "DEAD", dead_ms: 5_000 })];
    for (let second = 0; second <= 20; second += 1) {
      const at_ms = second * 1_000;
      expect(observation.looked({ sent_at_ms: at_ms, answered_at_ms: at_ms + 10, sights })).toEqual([]);
    }
  });

  test("a record that was gone for one look is observed anew", () => {
    const observation = createObservation(OWN);
    lookEachSecond(observation, 0, 7);
    observation.looked({ sent_at_ms: 8_000, answered_at_ms: 8_010, sights: [] });

    expect(lookEachSecond(observation, 9, 17)).toEqual([]);
  });
});
