import { hostIdSchema } from "@holdfast/contract";
import { expect, test } from "vitest";
import { hostWords } from "./host-words.js";

const host_id = hostIdSchema.parse("host_1");

test("a ready line says of a drained host that it takes nothing, and how it does again", () => {
  expect(hostWords({ host_id, host_draining: false })).toBe("host host_1");
  expect(hostWords({ host_id, host_draining: true })).toContain("it takes no tasks until `holdfast undrain host_1`");
});
