/** A producer of its own process, as a backend service would be: submits one request and prints how it was answered. */
import { openClient } from "@holdfast/client";

const [, , redis_url, prefix, queue_prefix, request] = process.argv;
const client = await openClient({ redis_url, prefix, queue_prefix });
const { existing } = await client.submit(JSON.parse(request));
console.log(existing ? "existing" : "accepted");
await client.close();
