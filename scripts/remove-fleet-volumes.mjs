/** `node scripts/remove-fleet-volumes.mjs FLEET`: removes the volumes that a fleet keeps in the engine for good. */
import { engineCall, engineSocket } from "../images/engine-socket.mjs";

const [fleet] = process.argv.slice(2);
if (fleet === undefined || fleet === "") throw new Error("name the fleet whose volumes are to go");
const socket = engineSocket();
const filters = encodeURIComponent(JSON.stringify({ label: [`holdfast.fleet=${fleet}`] }));
const { text } = await engineCall(socket, "GET", `/volumes?filters=${filters}`);
for (const { Name } of JSON.parse(text).Volumes ?? []) {
  const { status } = await engineCall(socket, "DELETE", `/volumes/${Name}`);
  if (status > 299 && status !== 404) throw new Error(`volume ${Name} is still in use`);
}
