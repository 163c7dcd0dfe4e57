// Escalation: how long a caller that keeps being refused is blocked. Refusals are counted in a window that starts with
// the first of them. When there are enough, the caller goes up one level and is blocked for as long as that level says.
// The level is forgotten a while after its block has ended. The Lua twin is escalate.lua.

/** When a caller goes up a level, and what each level means. */
export interface EscalationTerms {
  /** This many refusals within a window raise the level. From 1. */
  readonly refusals: number;
  /** How long a window lasts, in milliseconds. */
  readonly windowMs: number;
  /** How long each level blocks, in milliseconds, the first level first. The last one repeats. */
  readonly blocksMs: readonly number[];
  /** How long after the end of a block its level is forgotten, in milliseconds. */
  readonly forgetMs: number;
}

/** What is kept of a caller that was refused. */
export interface EscalationState {
  /** When the window began. */
  readonly fromMs: number;
  /** Refusals in the window. */
  readonly refusals: number;
  /** 0 if the caller was not blocked, or that is forgotten. */
  readonly level: number;
  /** When the latest block ends; what is refused until then is not counted. */
  readonly untilMs: number;
}

/** Refusals that are reported together. */
export interface RefusalCount {
  /** From 1. */
  readonly refusals: number;
  /** How long ago the first of them was, in milliseconds. */
  readonly ageMs: number;
}

/** What became of a report. */
export interface EscalationStep {
  readonly state: EscalationState;
  /** For how long the caller is blocked from now on; 0 if its level was not raised. */
  readonly blockMs: number;
  /** How many more refusals raise the level, if they come within the window. */
  readonly refusalsLeft: number;
  /** How long the state has to be kept, in milliseconds. */
  readonly keptMs: number;
}

const NEW: EscalationState = { fromMs: 0, refusals: 0, level: 0, untilMs: 0 };

/** Counts refusals, and raises the level if there are enough. */
export function countRefusals(
  before: EscalationState = NEW,
  terms: EscalationTerms,
  { refusals, ageMs }: RefusalCount,
  nowMs: number,
): EscalationStep {
  const { windowMs, blocksMs, forgetMs } = terms;
  // A clock that stepped back makes no block longer than its level, and no level last longer.
  const untilMs = Math.min(before.untilMs, nowMs + (blocksMs[before.level - 1] ?? 0));
  const level = nowMs < untilMs + forgetMs ? Math.min(before.level, blocksMs.length) : 0;
  if (level > 0 && nowMs < untilMs) {
    // What was refused before the block began, and is reported late, has had its consequence.
    const state = { fromMs: nowMs, refusals: 0, level, untilMs };
    const keptMs = untilMs + forgetMs - nowMs;
    return { state, blockMs: 0, refusalsLeft: terms.refusals, keptMs };
  }
  const firstMs = nowMs - ageMs;
  const isOpen =
    before.refusals > 0 && firstMs < before.fromMs + windowMs && before.fromMs <= nowMs;
  const fromMs = isOpen ? before.fromMs : firstMs;
  const counted = (isOpen ? before.refusals : 0) + refusals;
  if (counted < terms.refusals) {
    const leftMs = level === 0 ? 0 : untilMs + forgetMs - nowMs;
    return {
      state: { fromMs, refusals: counted, level, untilMs: level === 0 ? 0 : untilMs },
      blockMs: 0,
      refusalsLeft: terms.refusals - counted,
      keptMs: Math.max(1, fromMs + windowMs - nowMs, leftMs),
    };
  }
  const raised = Math.min(level + 1, blocksMs.length);
  const blockMs = blocksMs[raised - 1];
  return {
    state: { fromMs: nowMs, refusals: 0, level: raised, untilMs: nowMs + blockMs },
    blockMs,
    refusalsLeft: terms.refusals,
    keptMs: blockMs + forgetMs,
  };
}
