// The process of a service whose Live page is open: `live-server.js 12345` with the port of its upstream. It sends its
// ports to its parent process, answers each message with its memory, and serves until the parent exits.

import { startService, toConfig } from "sluice-server";
import { collectGarbage } from "../harness.js";

const HOST = "127.0.0.1";

/** Where the service listens. */
export interface LivePorts {
  readonly gateway: number;
  readonly admin: number;
}

// Only a forked process has a parent to report to; an import for the types does nothing.
if (process.send !== undefined && process.argv[1] === import.meta.filename) {
  process.on("disconnect", () => process.exit(0));
  process.send(await serve(Number(process.argv[2])));
  process.on("message", () => {
    collectGarbage();
    process.send?.(process.memoryUsage().rss);
  });
}

async function serve(upstream: number): Promise<LivePorts> {
  const window = { fixedWindow: { limit: 1_000_000_000, windowMs: 86_400_000 } };
  const { listeners } = await startService(
    toConfig({
      gateway: { listen: `${HOST}:0` },
      admin: { listen: `${HOST}:0` },
      upstreams: { app: { backends: [`http://${HOST}:${upstream}`], connectionsMax: 256 } },
      routes: [{ path: "/*", upstream: "app" }],
      rules: { version: 1, rules: [{ id: "all", key: "ip", limit: window }] },
      telemetry: { logLevel: "silent" },
    }),
  );
  const portOf = (wanted: string) =>
    Number(new URL(listeners.find(({ name }) => name === wanted)?.url ?? "").port);
  return { gateway: portOf("gateway"), admin: portOf("admin") };
}
