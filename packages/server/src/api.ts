// `sluice-server/api`: the types of what the admin port answers and of the reports of `sluice replay`, for programs that
// read them. The dashboard is one.

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
export type { ReplayReport, ReportedKey, ReportedRule } from "./core/log-replay/replay-report.js";
