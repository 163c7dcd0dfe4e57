// Routes of the audit log: who changed what, and the proof that nothing in it was altered.

import { anyString, object, optional } from "sluice/shapes";
import type { AuditEntry } from "../../control/audit.js";
import { json, withoutHash } from "../admin-reply.js";
import { controlAnswers } from "../control-replies.js";
import { paging, queryNumber, toPage } from "../paging.js";
import { controlRoute, type Route } from "../route.js";

/** The routes of the audit log. */
export const auditRoutes: readonly Route[] = [
  controlRoute({
    method: "GET",
    path: "/v1/audit",
    role: "viewer",
    summary: "The audit log, the latest entry first.",
    query: object({
      ...paging,
      after: optional(
        queryNumber({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        "`next` of the page before: entries that are older than this one.",
      ),
      kind: optional(anyString(100), "Only entries about this kind: `rule-set`, `counter`."),
      id: optional(anyString(20_000), "Only entries about the entity of this id."),
      actor: optional(anyString(300), "Only what this caller did."),
    }),
    reply: controlAnswers.audit,
    handle: async (plane, { query: { after, limit, kind, id, actor } }) => {
      const page = { before: after, kind, entityId: id, actor, limit: limit + 1 };
      const entries = (await plane.searchAudit(page)).map(toView);
      return json(toPage(entries, limit, ({ sequence }) => sequence));
    },
  }),
  controlRoute({
    method: "GET",
    path: "/v1/audit/verify",
    role: "viewer",
    summary: "Reads the whole log, and says whether an entry was altered, removed or inserted.",
    reply: controlAnswers.auditReport,
    handle: async (plane) => {
      const { rows, problem } = await plane.verifyAudit();
      return json({ rows, valid: problem === undefined, problem: problem ?? null });
    },
  }),
];

/** Hashes of secrets stay in the log. */
function toView({ before, after, ...entry }: AuditEntry) {
  return {
    ...entry,
    before: before && withoutHash(before),
    after: after && withoutHash(after),
  };
}
