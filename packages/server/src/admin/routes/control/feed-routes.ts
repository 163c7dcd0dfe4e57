// What nodes ask a control node for: a snapshot, the stream of changes, and where to report what they have applied; and
// what operators see of all nodes.

import type { ServerResponse } from "node:http";
import {
  anyString,
  object,
  optional,
  recordOf,
  required,
  wholeNumber,
  withDefault,
} from "sluice/shapes";
import { ServerError } from "../../../base/errors.js";
import { FEED_TYPE } from "../../../control/feed/feed-lines.js";
import type { FeedServer } from "../../../control/feed/feed-server.js";
import { ANSWER_BYTES_MAX } from "../../../control/feed/node-question.js";
import type { Caller } from "../../auth/caller.js";
import { json, type StreamedReply } from "../../replies/admin-reply.js";
import { controlAnswers } from "../../replies/control-replies.js";
import { nodeAnswer } from "../../request/node-answer-shape.js";
import { nodeLive } from "../../request/node-live-shape.js";
import { nodeName } from "../../request/node-name.js";
import { queryNumber } from "../../request/paging.js";
import { type AdminContext, controlRoute, type Route, route } from "../../route.js";

const HASH_LENGTH_MAX = 64;
const INSTANCE_LENGTH_MAX = 64;
const HOUR_MAX = 1e9;
const USES_MAX = 1_000;
const REPORT_BYTES_MAX = 262_144;
const change = { min: 0, max: Number.MAX_SAFE_INTEGER };

const uses = recordOf(nodeName, wholeNumber({ min: 0, max: HOUR_MAX }), {
  countMin: 0,
  countMax: USES_MAX,
});
const who = {
  node: required(nodeName, "The name of the node."),
  instance: withDefault(
    anyString(INSTANCE_LENGTH_MAX, 0),
    "",
    "An id that its process made up, which distinguishes nodes of the same name. Default: not known.",
  ),
  version: required(nodeName, "Its version of Sluice."),
};

/** The routes of nodes. */
export const feedRoutes: readonly Route[] = [
  controlRoute({
    method: "GET",
    path: "/v1/control/snapshot",
    role: "node",
    summary: "Everything that a node needs, one JSON value a line.",
    reply: undefined,
    handle: (_plane, { caller }, context) => {
      return toReply(feedOf(context).snapshotStream(tokenOf(caller)));
    },
  }),
  controlRoute({
    method: "GET",
    path: "/v1/control/changes",
    role: "node",
    summary:
      "The changes after one, and those that follow: a response that does not end, with a heartbeat a second.",
    query: object({
      after: required(queryNumber(change), "The last change that the node has; 0 for none."),
      hash: withDefault(anyString(HASH_LENGTH_MAX, 0), "", "Of that change. Default: not known."),
      ...who,
    }),
    reply: undefined,
    handle: (_plane, { query, message, caller }, context) => {
      const isStill = () => context.isAuthorized(message, caller);
      return toReply(feedOf(context).changesStream(query, tokenOf(caller), isStill));
    },
  }),
  controlRoute({
    method: "POST",
    path: "/v1/control/report",
    role: "node",
    summary:
      "What a node has applied, when API keys were used there, and what it does if it was asked.",
    bodyBytesMax: REPORT_BYTES_MAX,
    input: object({
      ...who,
      sequence: required(wholeNumber(change), "The last change that it has applied."),
      uses: optional(
        uses,
        "The hours in which API keys were used there, by their ids: hours since 1970.",
      ),
      live: optional(
        nodeLive,
        "What it did since it was last asked, by a heartbeat with `live` while a page is open.",
      ),
    }),
    reply: controlAnswers.reported,
    handle: async (_plane, { input, caller }, context) => {
      await feedOf(context).report(input, tokenOf(caller));
      return json({ reported: true });
    },
  }),
  controlRoute({
    method: "POST",
    path: "/v1/control/answer",
    role: "node",
    summary: "What a node answers to a question of an operator, which a heartbeat asked.",
    bodyBytesMax: ANSWER_BYTES_MAX,
    input: object({
      ...who,
      sequence: required(wholeNumber(change), "The last change that it has applied."),
      answer: required(nodeAnswer, "What was asked for."),
    }),
    reply: controlAnswers.reported,
    handle: (_plane, { input, caller }, context) => {
      feedOf(context).answer(input, tokenOf(caller));
      return json({ reported: true });
    },
  }),
  route({
    method: "GET",
    path: "/v1/nodes",
    role: "viewer",
    summary: "All nodes that are known here, with their versions and how far behind they are.",
    reply: controlAnswers.nodes,
    handle: async ({ control }) => {
      if (control.nodes === undefined) {
        const how = 'set control: { database: "file:sluice.db" } in the configuration';
        throw new ServerError("SLUICE_NOT_FOUND", `"/v1/nodes" needs a control plane; ${how}`);
      }
      return json({ items: await control.nodes() });
    },
  }),
];

function toReply(write: (response: ServerResponse) => void): StreamedReply {
  return {
    stream(response) {
      response.writeHead(200, { "Content-Type": FEED_TYPE, "Cache-Control": "no-store" });
      if (response.req.method === "HEAD") response.end();
      else write(response);
    },
  };
}

/** What the caller's token is known by. */
function tokenOf({ tokenId, name }: Caller): string {
  return tokenId ?? name;
}

function feedOf({ control: { feed } }: AdminContext): FeedServer {
  if (feed !== undefined) return feed;
  throw new ServerError("SLUICE_NOT_FOUND", "this node serves no followers");
}
