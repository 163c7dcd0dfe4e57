// Where telemetry keeps its meter of a rule.

/** Where telemetry keeps its meter of a rule, which saves looking it up by the rule's id. */
export interface MeterPlace {
  /** Undefined at first, and again when rules are replaced, disabled or enabled. */
  meter: object | undefined;
}
