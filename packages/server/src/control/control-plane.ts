// The control plane of a node with a database: all that operators read and change. A change resolves when it is
// committed and this node enforces it.

import type { Counter } from "sluice";
import { wallMs } from "../base/clock.js";
import type { RulesUse } from "../core/rules/read-job.js";
import type { Database } from "../database/database.js";
import { type GrantRequest, Ledger } from "../ledger/ledger.js";
import type { Corrected } from "../ledger/operations/operator.js";
import { LedgerReader } from "../ledger/queries/ledger-reader.js";
import { Deliveries } from "../ledger/webhooks/deliveries.js";
import {
  type AuditEntry,
  type AuditPage,
  type AuditReport,
  searchAudit,
  verifyAudit,
} from "./changes/audit.js";
import { type AuditedAct, type ChangeRequest, Changes } from "./changes/changes.js";
import { KeyedActs } from "./changes/keyed-acts.js";
import { AccessTokens } from "./credentials/access-tokens.js";
import { ApiKeys } from "./credentials/api-keys.js";
import { type Block, blocks } from "./entities/blocks.js";
import { Collection } from "./entities/collection.js";
import { type Override, overrides } from "./entities/overrides.js";
import { type Plan, plans } from "./entities/plans.js";
import { RuleSets } from "./entities/rule-sets.js";
import { type Switch, switches } from "./entities/switches.js";
import { type Tenant, tenants } from "./entities/tenants.js";
import { type FillRandom, fillFromSystem } from "./secret-format.js";
import { readExceptions } from "./state/policy-inputs.js";

/** What a control plane is made of. */
export interface ControlPlaneOptions {
  readonly database: Database;
  /** The URL of the database, with an absolute path, for threads with their own connections. Default: there are no such threads. */
  readonly databaseUrl?: string;
  /** Resolves when this node enforces the changes up to a sequence number. Default: changes don't wait. */
  readonly enforce?: (sequence: number) => Promise<void>;
  /** What the policies of this service can do. Default: they can use all rules that parse. */
  readonly rulesUse?: RulesUse | undefined;
  /** Default: the wall clock. */
  readonly now?: () => number;
  /** Default: random bytes of the system. */
  readonly fillRandom?: FillRandom;
}

/** What an operator changes about a quota, and when. */
export interface LedgerCorrection extends GrantRequest {
  /** Opens the account of a subject that has used nothing yet; undefined if there is no such quota. */
  readonly counter: Counter | undefined;
  readonly nowMs: number;
}

/** An operator who needs a kill switch now is not kept waiting for a database that is unavailable. */
const URGENT = {
  retryMsMax: 1_600,
  advice:
    "a rule can be switched on this node alone, without the database: PUT /v1/node/switches/{rule}, or sluice switch with --node",
};

/** Reads and changes everything that the control plane keeps. */
export class ControlPlane {
  readonly ruleSets: RuleSets;
  readonly plans: Collection<Plan>;
  readonly tenants: Collection<Tenant>;
  readonly apiKeys: ApiKeys;
  readonly overrides: Collection<Override>;
  readonly blocks: Collection<Block>;
  readonly switches: Collection<Switch>;
  readonly accessTokens: AccessTokens;
  /** What was charged to durable quotas. */
  readonly ledger: LedgerReader;
  /** Events of quotas on their way to webhooks. */
  readonly deliveries: Deliveries;
  /** Acts on counters that came with an Idempotency-Key. */
  readonly keyedActs: KeyedActs;
  /** The wall clock that times in the database go by. */
  readonly now: () => number;
  readonly #database: Database;
  readonly #changes: Changes;

  constructor(options: ControlPlaneOptions) {
    const { database, enforce, rulesUse, now = wallMs, fillRandom = fillFromSystem } = options;
    const changes = new Changes(database, { now, enforce });
    const parts = { reader: database, changes, fillRandom, now, rulesUse };
    this.now = now;
    this.#database = database;
    this.#changes = changes;
    this.ruleSets = new RuleSets(database, changes, { use: rulesUse, readExceptions });
    this.plans = new Collection(plans, parts);
    this.tenants = new Collection(tenants, parts);
    this.apiKeys = new ApiKeys(database, changes, { fillRandom, now });
    this.overrides = new Collection(overrides, parts);
    this.blocks = new Collection(blocks, parts);
    const urgent = new Changes(database, { now, enforce, ...URGENT });
    this.switches = new Collection(switches, { ...parts, changes: urgent });
    this.ledger = new LedgerReader(database, options.databaseUrl);
    this.keyedActs = new KeyedActs(database, now);
    this.accessTokens = new AccessTokens(database, changes, { fillRandom, now });
    this.deliveries = new Deliveries(database);
  }

  /**
   * Grants a subject units, or adjusts what it has left: an entry of the ledger, once for its idempotency key.
   *
   * @throws ServerError as {@link Ledger.grant}.
   */
  async correct(
    verb: "grant" | "adjust",
    { counter, nowMs, ...request }: LedgerCorrection,
  ): Promise<Corrected> {
    const ledger = new Ledger(this.#database, {
      actor: request.actor,
      clock: { now: () => nowMs },
      findCounter: () => counter,
      sweepMs: 0,
    });
    return verb === "grant" ? ledger.grant(request) : ledger.adjust(request);
  }

  /** Writes something that was done and changed no entity into the audit log. */
  async record(request: ChangeRequest, act: AuditedAct): Promise<void> {
    await this.#changes.record(request, act);
  }

  /** A page of the audit log, the latest entry first. */
  searchAudit(page?: AuditPage): Promise<AuditEntry[]> {
    return searchAudit(this.#database, page);
  }

  /** Reads the whole audit log and checks that nothing in it was altered, removed or inserted. */
  verifyAudit(): Promise<AuditReport> {
    return verifyAudit(this.#database);
  }
}
