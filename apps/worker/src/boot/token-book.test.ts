import { drawOwnerToken, drawSandboxId, taskIdSchema, workspaceIdSchema } from "@holdfast/contract";
import { expect, test } from "vitest";
import { createTokenBook } from "./token-book.js";

test("of whatever a token was drawn for, only its names are remembered: a request may be of many megabytes", () => {
  const names = { workspace_id: workspaceIdSchema.parse("default"), task_id: taskIdSchema.parse("task_1") };
  const drawn = { ...names, owner_token: drawOwnerToken(), sandbox_id: drawSandboxId() };
  const book = createTokenBook();

  book.hold({ ...drawn, files: [{ content: "x" }] } as typeof drawn);
  book.drop(drawn.owner_token);

  expect(book.find(drawn.owner_token)).toEqual(drawn);
});
