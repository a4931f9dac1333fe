import { execFileSync } from "node:child_process";
import { afterEach, describe, expect, it } from "vitest";
import { waitFor } from "../../support/wait-for.js";
import { processFacts } from "./process-facts.js";
import { endAllProcesses, type LabProcess, startProcess } from "./processes.js";

afterEach(endAllProcesses);

const TICKER = `
process.on("SIGTERM", () => { console.log("asked to end"); process.exit(7); });
let n = 0; setInterval(() => console.log("tick " + ++n), 10); console.error("ready");`;

function ticker(source = TICKER): Promise<LabProcess> {
  return startProcess({ name: "ticker", command: process.execPath, args: ["-e", source] });
}

describe("a child of the laboratory", () => {
  it("is heard line by line and ends as it was told", async () => {
    const child = await ticker();

    expect(await child.line(/ready/, 5_000)).toBe("ready");
    expect(await child.terminate(5_000)).toMatchObject({ code: 7, signal: null });
    expect(child.lines).toContain("asked to end");
    expect(child.alive()).toBe(false);
    expect(child.signal("SIGKILL")).toBe(false);
  });

  it("does nothing while it is stopped and goes on afterwards", async () => {
    const child = await ticker();
    await child.line(/tick/, 5_000);

    await child.stop();
    const before = child.lines.length;
    const stopped = processFacts(child.pid)?.state;
    child.resume();
    await child.line(/tick/, 5_000, before + 1);

    expect(stopped).toBe("T");
    expect(await child.kill()).toMatchObject({ signal: "SIGKILL" });
  });

  it("is killed and reported where it does not end within its bound", async () => {
    const child = await ticker(`process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); console.log("ready")`);
    await child.line(/ready/, 5_000);

    await expect(child.terminate(200)).rejects.toThrow("did not end within 200 ms");
  });

  it("says what was written last where a line never comes", async () => {
    const child = await ticker(`console.log("no configuration"); process.exit(2)`);

    await expect(child.line(/ready/, 1_000)).rejects.toThrow("ended with 2: no configuration");
  });

  it("ends with the process that started it, also when that one is killed", async () => {
    const source = `
      const { spawn } = require("node:child_process");
      const child = spawn("setpriv", ["--pdeathsig", "KILL", "--", "sleep", "60"]);
      child.once("spawn", () => console.log("child " + child.pid)); setInterval(() => {}, 1000);`;
    const parent = await ticker(source);
    const pid = Number((await parent.line(/child/, 5_000)).split(" ")[1]);
    await waitFor(() => execFileSync("cat", [`/proc/${pid}/comm`]).toString() === "sleep\n", {
      bound_ms: 5_000,
      what: "the grandchild runs",
    });

    await parent.kill();

    const gone = () => ["Z", undefined].includes(processFacts(pid)?.state);
    await waitFor(gone, { bound_ms: 2_000, what: "the grandchild is gone" });
  });
});
