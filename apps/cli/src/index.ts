export { runCli } from "./cli.js";
export { EXIT, exitCodeOf } from "./exit-codes.js";
