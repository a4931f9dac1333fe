export * from "./agent-program.js";
export { guestExit, signalName, signalNumber } from "./exit-report.js";
export * from "./guest-link.js";
export { GuestRefused, LinkSilent } from "./link-questions.js";
export { openGuestLink } from "./open-guest-link.js";
