import type { FunctionComponent } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { SessionBody } from '../../lambda/frame/contract/sessions.ts';
import { ask } from './api.ts';
import { Alone, Problem } from './parts.tsx';
import { tokenIn } from './text.ts';
import * as waysIn from './ways-in.ts';

/** Beside a token. */
export interface WayIn {
  takeArrival(): (() => Promise<void>) | undefined;
  signInAgain(): Promise<void>;
  readonly Buttons: FunctionComponent;
}

const messages = {
  ended: "You're signed out: your session or token expired or was revoked.",
  'signed-out': 'Invalid, expired or revoked token.',
  unreachable: "Can't reach the server. Retry in a few seconds.",
  refused: 'Rejected. Retry.',
  same: 'Retry.',
} as const;

/** Asks for a token, once: the browser keeps a session instead. */
export function SignIn(props: { onSignedIn: (session: SessionBody) => void; hasEnded: boolean }) {
  const { onSignedIn, hasEnded } = props;
  const [token, setToken] = useState('');
  const [problem, setProblem] = useState<string>();
  const [isAsking, setIsAsking] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => input.current?.focus(), []);
  const submit = async (event: Event) => {
    event.preventDefault();
    setIsAsking(true);
    const outcome = await ask('POST /v1/session', { token: tokenIn(token) });
    setIsAsking(false);
    if (outcome.kind === 'ok') return onSignedIn(outcome.body);
    setProblem(messages[outcome.kind]);
    input.current?.focus();
  };
  return (
    <Alone title="Sign in">
      {Object.entries<WayIn>(waysIn).map(([name, { Buttons }]) => (
        <Buttons key={name} />
      ))}
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
        <Problem text={problem ?? (hasEnded ? messages.ended : undefined)} />
      </form>
      <p class="note" id="token-note">
        Git's password here, or the admin token. It's sent once, not stored. You stay signed in up to 12
        hours.
      </p>
      {location.hostname === '127.0.0.1' && (
        <p class="note under">
          <code>npm start</code> keeps the admin token in <code>.lfs-quota/admin-token</code>.
        </p>
      )}
    </Alone>
  );
}
