// The login: an access token is exchanged for the cookie of a session. The token itself is not kept by the page.

import { useState } from "preact/hooks";
import { ApiError } from "../api/client.js";
import { logIn, type Session } from "../api/session.js";
import { Button } from "../ui/button.js";
import { Field } from "../ui/field.js";
import { Logo } from "../ui/icons.js";

interface LoginProps {
  /** Whether a session was there and has ended. */
  readonly hasEnded: boolean;
  onLoggedIn(session: Session): void;
}

/** The page that asks for a token. */
export function Login({ hasEnded, onLoggedIn }: LoginProps) {
  const [token, setToken] = useState("");
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const submit = async (event: Event) => {
    event.preventDefault();
    setIsBusy(true);
    try {
      onLoggedIn(await logIn(token.trim()));
    } catch (error) {
      setProblem(toSentence(error));
      setIsBusy(false);
    }
  };
  return (
    <main class="alone">
      <form class="login card" onSubmit={submit}>
        <h1 class="login-title">
          <Logo /> Sluice
        </h1>
        {hasEnded && <p class="note">Your session has ended. Log in to go on where you were.</p>}
        <Field
          label="Access token"
          type="password"
          name="token"
          value={token}
          onInput={setToken}
          autocomplete="off"
          autofocus
          problem={problem}
          hint="The service printed the first token when it first started. To create another: sluice tokens create --name NAME --role viewer"
        />
        <Button kind="primary" type="submit" isBusy={isBusy} isDisabled={token.trim() === ""}>
          Log in
        </Button>
      </form>
    </main>
  );
}

function toSentence(error: unknown): string {
  if (!(error instanceof ApiError)) return "The login failed. Try again.";
  if (error.status === 401) return "This token is not known, or it has expired or was revoked.";
  return error.message;
}
