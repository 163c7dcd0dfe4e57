// The login: an access token is exchanged for the cookie of a session. The token itself is not kept by the page.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../api/client.js";
import { logIn, type Session } from "../api/session.js";
import { Button } from "../ui/forms/button.js";
import { Field } from "../ui/forms/field.js";
import { Logo } from "../ui/icons.js";

interface LoginProps {
  onLoggedIn(session: Session): void;
}

/** The page that asks for a token. */
export function Login({ onLoggedIn }: LoginProps) {
  return (
    <main class="alone">
      <LoginForm onLoggedIn={onLoggedIn} />
    </main>
  );
}

/** Asks for a token over a page whose session has ended. It covers the page, which stays as it is below. */
export function LoginAgain({ onLoggedIn }: LoginProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const { current } = dialog;
    current?.showModal();
    return () => current?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      class="login-again"
      aria-label="Log in again"
      onKeyDown={(event) => {
        if (event.key === "Escape") event.preventDefault();
      }}
      // Browsers have other ways to close a dialog, and may not ask first.
      onClose={({ currentTarget }) => {
        if (currentTarget.isConnected) currentTarget.showModal();
      }}
    >
      <LoginForm onLoggedIn={onLoggedIn}>
        <p class="note">Your session has ended. Log in to go on where you were.</p>
      </LoginForm>
    </dialog>
  );
}

interface LoginFormProps extends LoginProps {
  readonly children?: ComponentChildren;
}

function LoginForm({ onLoggedIn, children }: LoginFormProps) {
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
    <form class="login card" onSubmit={submit}>
      <h1 class="login-title">
        <Logo /> Sluice
      </h1>
      {children}
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
  );
}

function toSentence(error: unknown): string {
  if (!(error instanceof ApiError)) return "The login failed. Try again.";
  if (error.status === 401) return "This token is not known, or it has expired or was revoked.";
  return error.message;
}
