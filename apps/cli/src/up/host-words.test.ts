import { hostIdSchema } from "@holdfast/contract";
import { expect, test } from "vitest";
import { hostWords } from "./host-words.js";

const host_id = hostIdSchema.parse("host_1");

const failed_checks: string[] = [];

test("a ready line says of an unfit host what failed", () => {
  const unfit = hostWords({ host_id, host_draining: false, failed_checks: ["memory", "pids"] });

  expect(unfit).toContain("it takes no tasks until its self-check passes; failed: memory, pids");
});

test("a ready line says of a drained host that it takes nothing, and how it does again", () => {
  expect(hostWords({ host_id, host_draining: false, failed_checks })).toBe("host host_1");
  expect(hostWords({ host_id, host_draining: true, failed_checks })).toContain(
    "it takes no tasks until `holdfast undrain host_1`",
  );
});
