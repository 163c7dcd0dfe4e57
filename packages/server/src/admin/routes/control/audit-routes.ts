// Routes of the audit log: who changed what, and the proof that nothing in it was altered.

import { anyString, choice, object, optional } from "sluice/shapes";
import { ServerError, show } from "../../../base/errors.js";
import { AUDIT_KINDS, type AuditEntry, type AuditKind } from "../../../control/changes/audit.js";
import type { ControlPlane } from "../../../control/control-plane.js";
import { toRuleSetId } from "../../../control/entities/rule-sets.js";
import { json, withoutHash } from "../../replies/admin-reply.js";
import { controlAnswers } from "../../replies/control-replies.js";
import { paging, queryNumber, toPage } from "../../request/paging.js";
import { queryTime, toMs } from "../../request/query-time.js";
import { controlRoute, type Route } from "../../route.js";

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
      kind: optional(choice(AUDIT_KINDS), "Only entries about this kind."),
      id: optional(
        anyString(20_000),
        "Only entries about the entity of this id; with the kind `rule-set`, its number.",
      ),
      actor: optional(anyString(300), "Only what this caller did."),
      action: optional(anyString(100), "Only what was done in this way: `publish`, `revoke`."),
      from: optional(
        queryTime,
        "From this time on; a day begins in UTC. Default: the first entry.",
      ),
      to: optional(queryTime, "Up to, but not including, this time. Default: now."),
      bodies: optional(
        choice(["all", "none"]),
        "`none`: entries come without `before` and `after`, which can be long. Default `all`.",
      ),
    }),
    reply: controlAnswers.audit,
    handle: async (plane, { query }) => {
      const { after, limit, kind, id, actor, action, from, to, bodies } = query;
      const page = {
        before: after,
        kind,
        entityId: toEntityId(kind, id),
        actor,
        action,
        fromMs: from && toMs(from, "UTC"),
        toMs: to && toMs(to, "UTC"),
        limit: limit + 1,
        hasBodies: bodies !== "none",
      };
      const entries = (await plane.searchAudit(page)).map(toView);
      const last = entries.at(-1)?.sequence;
      if (entries.length > limit || last === undefined) {
        return json(toPage(entries, limit, ({ sequence }) => sequence));
      }
      // A page ends early where bodies are long.
      const older = { ...page, before: last, limit: 1, hasBodies: false };
      const isEnd = (await plane.searchAudit(older)).length === 0;
      return json({ items: entries, next: isEnd ? null : String(last) });
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
  controlRoute({
    method: "GET",
    path: "/v1/audit/{sequence}",
    role: "viewer",
    summary: "An entry of the audit log.",
    reply: controlAnswers.auditEntry,
    handle: async (plane, { params }) => json(toView(await mustFind(plane, params.sequence))),
  }),
];

/** @throws ServerError `SLUICE_NOT_FOUND`. */
async function mustFind(plane: ControlPlane, written = ""): Promise<AuditEntry> {
  const sequence = /^\d{1,15}$/.test(written) ? Number(written) : 0;
  const [entry] = await plane.searchAudit({ before: sequence + 1, limit: 1 });
  if (entry?.sequence === sequence) return entry;
  throw new ServerError("SLUICE_NOT_FOUND", `the audit log has no entry ${show(written)}`);
}

/** Rule sets are known by their number. */
function toEntityId(kind: AuditKind | undefined, id: string | undefined): string | undefined {
  return kind === "rule-set" && /^\d{1,10}$/.test(id ?? "") ? toRuleSetId(Number(id)) : id;
}

/** Hashes of secrets stay in the log. */
function toView({ before, after, entityId, ...entry }: AuditEntry) {
  return {
    ...entry,
    entityId: entry.kind === "rule-set" ? String(Number(entityId)) : entityId,
    before: before && withoutHash(before),
    after: after && withoutHash(after),
  };
}
