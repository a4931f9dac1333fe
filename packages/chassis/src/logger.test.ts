import { describe, expect, test } from "vitest";
import { createLogger } from "./logger.js";

function setup() {
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  return { lines, logger: createLogger({ name: "worker", level: "info", destination }) };
}

describe("logger", () => {
  test("writes one JSON line with the event, fixed fields and those of its parents", () => {
    const { lines, logger } = setup();

    logger.child({ boot_id: "boot_1" }).child({ task_id: "t1" }).info("task_granted", { attempt: 2 });
    logger.debug("below_the_level");

    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      level: "info",
      program: "worker",
      event: "task_granted",
      boot_id: "boot_1",
      task_id: "t1",
      attempt: 2,
    });
  });

  test("caps strings, masks passwords in URLs and hides secret fields at any depth", () => {
    const { lines, logger } = setup();

    logger.warn("odd", {
      text: "x".repeat(5_000),
      url: "redis://a:hunter2@h",
      request: { env: { KEY: "hunter2" }, operator_password: "hunter2" },
      error: new Error("at redis://a:hunter2@h"),
    });

    expect(JSON.stringify(lines)).not.toContain("hunter2");
    expect(JSON.stringify(lines[0]).length).toBeLessThan(5_000);
    expect(lines[0]).toMatchObject({ request: { env: "[secret]", operator_password: "[secret]" } });
  });

  test("text of unknown origin costs time in proportion to its length, however long it is (AT-H3)", () => {
    const { lines, logger } = setup();
    const began = performance.now();

    logger.warn("odd", { text: "k".repeat(2_000_000), url: `${"k".repeat(900)} redis://a:${"hunter2".repeat(100)}@h` });

    expect(performance.now() - began).toBeLessThan(2_000);
    expect(JSON.stringify(lines)).not.toContain("hunter2");
    expect(lines[0]).toMatchObject({ text: expect.stringMatching(/^k{1024}… \(2000000 characters\)$/) });
  });

  test("a field never replaces the event's name", () => {
    const { lines, logger } = setup();

    logger.info("real", { event: "forged" });

    expect(lines[0]).toMatchObject({ event: "real" });
  });
});
