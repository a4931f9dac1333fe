export * from "./census.js";
export { bootQueue, FLEET_SCOPE_ID, standingKeys } from "./keys.js";
export * from "./ledger.js";
export { openLedger } from "./open-ledger.js";
export { LOST_TAIL_MS } from "./script-loader.js";
