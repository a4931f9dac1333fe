/** Sums up a folder of `<phase>.json` (reports of the test runner) and `<phase>.check` (passed or failed). */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const [folder = "."] = process.argv.slice(2);
let passed = 0;
let failed = 0;

function fail(what) {
  failed += 1;
  console.log(`FAILED  ${what}`);
}

function countTests(phase, report) {
  for (const file of report.testResults) {
    const broken = file.assertionResults.filter((test) => test.status === "failed");
    passed += file.assertionResults.filter((test) => test.status === "passed").length;
    for (const test of broken) fail(`${phase}: ${test.fullName}`);
    // A file that cannot be loaded has no test that could fail.
    if (file.status === "failed" && broken.length === 0)
      fail(`${phase}: ${file.name.replace(`${process.cwd()}/`, "")}`);
  }
}

for (const file of readdirSync(folder).sort()) {
  if (!file.endsWith(".check")) continue;
  const phase = file.slice(0, -".check".length);
  const report = join(folder, `${phase}.json`);
  const before = failed;
  if (existsSync(report)) countTests(phase, JSON.parse(readFileSync(report, "utf8")));
  const ended = readFileSync(join(folder, file), "utf8").trim();
  if (ended !== "passed" && failed === before) fail(phase);
  if (ended === "passed" && !existsSync(report)) passed += 1;
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
