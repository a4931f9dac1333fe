export { defaultEnvironment } from "./default-environment.js";
export * from "./engine.js";
export { type EngineCare, type EngineCareOptions, openEngineCare } from "./engine-care.js";
export { isNewHost } from "./host-identity.js";
export { openEngine } from "./open-engine.js";
export { EngineAway } from "./sweep.js";
export { type ExitCircumstances, judgeExit } from "./verdict.js";
