export * from "./census.js";
export { FLEET_SCOPE_ID, standingKeys } from "./keys.js";
export * from "./ledger.js";
export { openLedger } from "./open-ledger.js";
