// What the listeners of one process share, and what each of them looks like from outside. `service.ts` makes
// the core and opens the listeners; a listener knows nothing of the others.

import type { Clock, Store } from "sluice";
import type { FindTenant, HomeControl, Policy } from "sluice/rules";
import type { Config } from "../config/config.js";
import type { LedgerReader } from "../ledger/queries/ledger-reader.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import type { OpenMmdb } from "./mmdb/mmdb-files.js";

/** What every listener is opened with. */
export interface Core {
  readonly config: Config;
  readonly clock: Clock;
  /** The store that both policies count in. */
  readonly store: Store;
  /** The policy of the gateway, which sees responses. */
  readonly policy: Policy;
  /**
   * Of listeners that see no response, the decision API and forward-auth, over the same rules and the same
   * store. Undefined if they are not open, since rules with permits or `when` are an error in it.
   */
  readonly blindPolicy: Policy | undefined;
  readonly telemetry: Telemetry;
  /** The store of durable rules; undefined if no database is configured for them. */
  readonly durableStore?: Store | undefined;
  /** Reads the ledger, for callers that ask what they used; undefined without a ledger. */
  readonly readLedger?: (() => Promise<LedgerReader>) | undefined;
  /** The home region that has a standby; undefined if there is none. */
  readonly homeRegion?: HomeControl | undefined;
  /** What the control plane knows of a tenant; undefined without a control plane. */
  readonly findTenant?: FindTenant | undefined;
  /** The MMDB files that say what network an address belongs to; undefined if none is configured. */
  readonly mmdb?: OpenMmdb | undefined;
}

/** An open listener. */
export interface Listener {
  /** `gateway`, `decision`, `envoy`, `admin`. */
  readonly name: string;
  /** Where it listens: `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Where a listener that speaks something else answers over plain HTTP too; undefined if it does not. */
  readonly httpUrl?: string | undefined;
  /**
   * Makes its health checks fail, so that clients go elsewhere, and serves as before. Resolves when they have had time
   * to notice, however often it is called. Drain does it too. Absent if the listener has no health check.
   */
  announceDrain?(): Promise<void>;
  /** Takes no further connections; those that are open go on as before. Drain and close do it too. */
  stopListening(): void;
  /** Stops taking connections and resolves when the last request has ended. Nothing is cut off. */
  drain(): Promise<void>;
  /** Reads again what the listener itself has read from files. Absent: there is nothing. Never rejects. */
  reload?(): Promise<void>;
  /** Closes immediately what is still open. */
  close(): Promise<void>;
}
