/** The Redis and the engine that a test run was given; the lab only reads from them. */

const REDIS_URL = "HOLDFAST_TEST_REDIS_URL";
const ENGINE_SOCKET = "HOLDFAST_TEST_ENGINE_SOCKET";

function given(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run this with vitest's project faults`);
  return value;
}

export function worldRedisPort(): number {
  return Number(new URL(given(REDIS_URL)).port);
}

export function worldEngineSocket(): string {
  return given(ENGINE_SOCKET);
}
