import type { FastifyInstance } from "fastify";

/** Scripts come from this origin only, so markup in a job can never run, whatever a page does with it. */
const CONTENT_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HEADERS = {
  "content-security-policy": CONTENT_POLICY,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=()",
} as const;

/** Sets the same headers on every answer, refusals and errors too. */
export function secureAnswers(server: FastifyInstance): void {
  server.addHook("onRequest", async (_request, reply) => void reply.headers(HEADERS));
}
