export * from "./guest-link.js";
