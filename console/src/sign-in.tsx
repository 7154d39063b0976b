import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { SessionBody } from '../../lambda/http/management/sessions/schemas.ts';
import { ask } from './api.ts';
import { Mark, Problem } from './parts.tsx';

const messages = {
  'signed-out': 'This token is not valid here. It may be mistyped, revoked or expired.',
  unreachable: 'The service does not answer. Try again in a moment.',
  refused: 'That was refused. Try again.',
  same: 'Try again.',
} as const;

/** Asks for a token, once: the browser keeps a session instead. */
export function SignIn({ onSignedIn }: { onSignedIn: (session: SessionBody) => void }) {
  const [token, setToken] = useState('');
  const [problem, setProblem] = useState<string>();
  const [isAsking, setIsAsking] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => input.current?.focus(), []);
  const submit = async (event: Event) => {
    event.preventDefault();
    setIsAsking(true);
    // A header takes no other characters.
    const given = token.trim().replace(/[^!-~]/g, '');
    const outcome = await ask<SessionBody>('/v1/session', { method: 'POST', token: given });
    setIsAsking(false);
    if (outcome.kind === 'ok') return onSignedIn(outcome.body);
    setProblem(messages[outcome.kind]);
    input.current?.focus();
  };
  return (
    <main class="alone">
      <p class="brand">
        <Mark /> lfs-quota
      </p>
      <h1>Sign in</h1>
      <form onSubmit={(event) => void submit(event)}>
        <label for="token">Access token</label>
        <input
          id="token"
          ref={input}
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          value={token}
          aria-describedby="token-note"
          onInput={({ currentTarget }) => setToken(currentTarget.value)}
        />
        <button type="submit" class="primary" disabled={isAsking}>
          {isAsking ? 'Signing in…' : 'Sign in'}
        </button>
        <Problem text={problem} />
      </form>
      <p class="note" id="token-note">
        The one that git asks for as a password. It is sent once and not kept: the browser keeps a session,
        which ends after 12 hours, or when the token is revoked.
      </p>
    </main>
  );
}
