// Who decides that a home region is lost, where that happens automatically: something outside the regions that all of
// them can ask, such as the control plane's PostgreSQL. It has no clock: it only counts how often home was renewed.

/** A home region and its epoch. */
export interface HomeEpoch {
  /** Raised by one with every promotion, from 1. */
  readonly epoch: number;
  readonly home: string;
}

/** Which region is home, as the arbiter has it on record. */
export interface ArbitersHome extends HomeEpoch {
  /** How often home was renewed. As long as it stays the same, no process has extended home's permission. */
  readonly renewals: number;
}

/** A promotion that the arbiter is asked for. */
export interface ArbitersPromotion {
  /** The promotion happens only if the arbiter has this epoch in force and, if given, this number of renewals. */
  readonly epoch: number;
  readonly renewals?: number;
  /** The region that becomes home. */
  readonly to: string;
}

/** Arbitrates between regions. Every call is atomic and durable, or fails. */
export interface HomeArbiter {
  /** Which region is home. An arbiter without a record takes over `initial`. */
  read(initial: HomeEpoch): Promise<ArbitersHome>;
  /**
   * Counts one renewal, if no later epoch is in force. A later epoch than the arbiter's own is taken over. Returns whether
   * `home` may go on.
   */
  renew(home: HomeEpoch): Promise<boolean>;
  /** Raises the epoch by one, unless it has changed. Returns whether it did. */
  promote(promotion: ArbitersPromotion): Promise<boolean>;
}
