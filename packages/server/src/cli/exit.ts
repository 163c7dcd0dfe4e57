// How the command exits: four exit codes that scripts can rely on, and the one kind of error that users see.
// docs/reference/command.md describes them.

/** What the command exits with. */
export const EXIT = {
  ok: 0,
  /** Refused by a limit, invalid, or different. */
  no: 1,
  /** The command was not understood, a file of it can't be read, or its output can't be written. */
  usage: 2,
  /** The service could not be reached, or did not answer as it should. */
  unreachable: 3,
} as const;

/** One of {@link EXIT}. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Reports the exit code of a verb that succeeded. */
export type Finish = (code: ExitCode) => void;

/** Ends the command with one clear line and a code, and no stack trace. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The command was used incorrectly. */
export function usageError(message: string): CommandError {
  return new CommandError(EXIT.usage, message);
}
