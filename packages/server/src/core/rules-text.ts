// Rules in the form in which they were written.

/** Rules as a string, and where they come from. */
export interface RulesText {
  /** Named in errors. */
  readonly file: string;
  readonly text: string;
}
