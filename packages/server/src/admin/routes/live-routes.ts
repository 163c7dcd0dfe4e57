// The route of the live stream.

import { choice, object, optional, withDefault } from "sluice/shapes";
import type { StreamedReply } from "../replies/admin-reply.js";
import { listedNodeName } from "../request/node-name.js";
import { type AdminContext, type AdminRequest, type Route, route } from "../route.js";

/** The routes of live views. */
export const liveRoutes: readonly Route[] = [
  route({
    method: "GET",
    path: "/v1/live",
    role: "viewer",
    summary:
      "What happens on all nodes or one, as server-sent events: `begin` with the last minutes, then a `tick` each second. The response does not end.",
    query: object({
      node: optional(
        listedNodeName,
        "Only the numbers of this node: the one that is asked, or a follower of it. Default: the whole fleet.",
      ),
      rules: withDefault(
        choice(["busiest", "all"]),
        "busiest",
        "`all` lists up to 1,000 rules that counted something in the second, and not only the 50 busiest. Followers report their 100 busiest.",
      ),
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

interface LiveQuery {
  readonly node: string | undefined;
  readonly rules: "busiest" | "all";
  readonly keys: "hashed" | "clear";
}

function answerLive(
  { live, clearKeys, isAuthorized }: AdminContext,
  { query, message, caller }: AdminRequest<LiveQuery>,
): StreamedReply {
  const { node } = query;
  if (node !== undefined) live.mustKnow(node);
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
      const hasAllRules = query.rules === "all";
      const isStill = () => isAuthorized(message, caller);
      await live.add({ response, node, showsKeys, hasAllRules, isAuthorized: isStill });
    },
  };
}
