import { describe, expect, test } from "vitest";
import { createGate } from "./gate.js";

function setup(slots: number) {
  const gate = createGate(slots);
  const told = { shared: [] as number[], own: [] as number[] };
  gate.attach({ setSlots: (wanted) => told.shared.push(wanted) }, "shared");
  gate.attach({ setSlots: (wanted) => told.own.push(wanted) }, "own");
  gate.open("starting");
  return { gate, last: () => ({ shared: told.shared.at(-1), own: told.own.at(-1) }) };
}

describe("gate", () => {
  test("the shared queue is fetched from only with a free slot of the host, whoever holds the others (C1)", () => {
    const { gate, last } = setup(8);

    gate.setHost(8, 5);
    expect(last().shared).toBe(3);
    gate.setBeside(2);
    expect(last().shared).toBe(1);
    gate.setHost(8, 9);
    expect(last().shared).toBe(0);
  });

  test("the boot's own queue is answered also while the host is full", () => {
    const { gate, last } = setup(8);

    gate.setHost(8, 8);

    expect(last().own).toBeGreaterThan(8);
  });

  test("the host's slots are those of its limit now", () => {
    const { gate, last } = setup(8);

    gate.setHost(0, 0);
    expect(last().shared).toBe(0);
    gate.setHost(12, 5);
    expect(last().shared).toBe(7);
    expect(gate.slots).toBe(12);
  });

  test("any reason that is left closes both", () => {
    const { gate, last } = setup(8);

    gate.close("engine_sick");
    gate.close("lease_ended");
    gate.open("engine_sick");
    expect(last()).toEqual({ shared: 0, own: 0 });
    gate.open("lease_ended");
    expect(last().shared).toBe(8);
  });
});
