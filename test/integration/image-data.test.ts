/** The data image at work: what it promises to hold is found by the check, and works in a sandbox as it stands. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseImageList } from "@holdfast/contract";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { worldSocket } from "../support/engine-fixture.js";
import { startFleet, type TestFleet } from "../support/fleet.js";
import { scratchFolder } from "../support/scratch.js";

const ROOT = join(import.meta.dirname, "..", "..");
const IMAGE = "holdfast/data:3.11-1";

let fleet: TestFleet;

beforeAll(async () => {
  execFileSync(process.execPath, ["images/build.mjs", "--socket", worldSocket(), "data"], { cwd: ROOT, stdio: "pipe" });
  const file = join(scratchFolder("allow"), "allow.json");
  const list = parseImageList(readFileSync(join(ROOT, "images", "allow.json"), "utf8"));
  writeFileSync(file, JSON.stringify({ images: list.images.filter(({ image }) => image === IMAGE) }));
  fleet = await startFleet({ env: { HOLDFAST_IMAGES: file } });
}, 300_000);
afterAll(() => fleet.stopAndExpectNothingLeft());

const PROGRAM = `
import subprocess
import numpy as np, pandas as pd, matplotlib.pyplot as plt

frame = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=30), "sold": np.arange(30) % 7})
by_week = frame.groupby(frame.day.dt.isocalendar().week).sold.sum()
print("weeks", len(by_week), "sum", by_week.sum(), "solved", np.linalg.solve([[2.0, 0], [0, 4]], [2, 4]).tolist())

frame.plot(x="day", y="sold", title="Größe je Tag")
plt.savefig("/workspace/plot.png")
print(open("/workspace/plot.png", "rb").read(8))

frame.to_excel("/workspace/table.xlsx", index=False)
print("same", pd.read_excel("/workspace/table.xlsx").equals(frame))

git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
for words in (["init", "-q", "repo"], ["-C", "repo", "commit", "-q", "--allow-empty", "-m", "one"]):
    subprocess.run([*git, *words], check=True)
print(subprocess.run([*git, "-C", "repo", "log", "--format=%s"], capture_output=True, text=True, check=True).stdout)
print("curl", subprocess.run(["curl", "-sS", "http://192.0.2.1/"], stderr=subprocess.DEVNULL).returncode)
`;

describe("the data image", () => {
  it("shows at which versions the check found what it requires", async () => {
    const [host] = await fleet.client.hosts();
    const version = expect.stringMatching(/^\d+\.\d+/);

    expect(host?.refused_images).toEqual([]);
    expect(host?.images).toMatchObject([
      {
        image: IMAGE,
        holds: {
          programs: { python3: version, git: version, curl: version },
          imports: { numpy: version, pandas: version, matplotlib: version, openpyxl: version },
        },
      },
    ]);
  });

  it("calculates, plots, writes a workbook and keeps a repository with no display, home or network", async () => {
    const files = [{ path: "main.py", content: PROGRAM }];
    const { status, stdout, stderr } = await fleet.run({ image: IMAGE, command: ["python3", "main.py"], files });

    expect([stderr.text, status]).toEqual(["", "SUCCEEDED"]);
    expect(stdout.text?.split("\n")).toEqual([
      "weeks 5 sum 85 solved [1.0, 1.0]",
      String.raw`b'\x89PNG\r\n\x1a\n'`,
      "same True",
      "one",
      "",
      "curl 7",
      "",
    ]);
  });
});
