// `sluice-server/api`: the types of what the admin port answers, for programs that ask it. The dashboard is one.

export type {
  LiveBegin,
  LiveElsewhere,
  LiveFleet,
  LiveKey,
  LiveLatency,
  LiveNode,
  LiveNotice,
  LiveRefusal,
  LiveStore,
  LiveTick,
} from "./admin/live/live-event.js";
export type { ReplyName, ReplyOf } from "./admin/replies/reply-schemas.js";
