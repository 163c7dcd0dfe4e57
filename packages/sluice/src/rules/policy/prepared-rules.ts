// Rules that a policy has made ready to decide, before they are put in force.

import type { RuleSet } from "../rule.js";
import type { CompiledRules } from "./compile/compile.js";
import type { Switches } from "./switches.js";

interface PreparedParts {
  readonly compiled: CompiledRules;
  readonly before: CompiledRules;
  readonly switches: Switches | undefined;
}

/** What `policy.prepare` made, for `policy.replace` of the same policy. */
export class PreparedRules {
  readonly #parts: PreparedParts;

  /** @internal */
  constructor(parts: PreparedParts) {
    this.#parts = parts;
  }

  /** The rules that were made ready. */
  get ruleSet(): RuleSet {
    return this.#parts.compiled.ruleSet;
  }

  /** The switches to put in force with them; undefined leaves those that there are. @internal */
  get switches(): Switches | undefined {
    return this.#parts.switches;
  }

  /** The rules ready to decide; undefined if others than `inForce` were when they were made. @internal */
  compiledAfter(inForce: CompiledRules): CompiledRules | undefined {
    return this.#parts.before === inForce ? this.#parts.compiled : undefined;
  }
}
