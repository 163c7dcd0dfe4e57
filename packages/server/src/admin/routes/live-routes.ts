// The route of the live stream.

import { choice, object, withDefault } from "sluice/shapes";
import type { StreamedReply } from "../admin-reply.js";
import { type AdminContext, type AdminRequest, type Route, route } from "../route.js";

/** The routes of live views. */
export const liveRoutes: readonly Route[] = [
  route({
    method: "GET",
    path: "/v1/live",
    role: "viewer",
    summary:
      "What happens, as server-sent events: `begin` with the last minutes, then a `tick` each second. The response does not end.",
    query: object({
      keys: withDefault(
        choice(["hashed", "clear"]),
        "hashed",
        "`clear` shows keys as they are counted, to operators.",
      ),
    }),
    reply: undefined,
    handle: answerLive,
  }),
];

function answerLive(
  { live, clearKeys, isAdmitted }: AdminContext,
  { query, message, caller }: AdminRequest<{ keys: "hashed" | "clear" }>,
): StreamedReply {
  const showsKeys = clearKeys.shows(query.keys, message.headers, caller);
  return {
    async stream(response) {
      response.writeHead(200, {
        "Content-Type": "text/event-stream",
        "Cache-Control": "no-store",
        "X-Accel-Buffering": "no",
      });
      if (message.method === "HEAD") {
        response.end();
        return;
      }
      response.flushHeaders();
      await live.add({ response, showsKeys, isAdmitted: () => isAdmitted(message, caller) });
    },
  };
}
