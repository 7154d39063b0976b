import { render } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { SessionBody } from '../../lambda/api/contract/sessions.ts';
import { isTenantName } from '../../lambda/rules/names.ts';
import { ask, onSignedOut } from './api.ts';
import { Mark, Problem } from './parts.tsx';
import { TenantPage } from './tenant-page.tsx';
import { Tenants } from './tenants.tsx';
import { whoText } from './text.ts';

const messages = {
  'signed-out': 'Invalid, expired or revoked token.',
  unreachable: "Can't reach the server. Retry in a few seconds.",
  refused: 'Rejected. Retry.',
  same: 'Retry.',
} as const;

/** Asks for a token, once: the browser keeps a session instead. */
function SignIn({ onSignedIn }: { onSignedIn: (session: SessionBody) => void }) {
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
        The one Git uses as password. It's sent once, not stored. You stay signed in for up to 12 hours.
      </p>
    </main>
  );
}

const againMs = 5_000;

/** Who has signed in. undefined: not known yet. null: nobody. */
type Whose = SessionBody | null | undefined;

function App() {
  const [session, setSession] = useState<Whose>();
  useEffect(() => {
    onSignedOut(() => setSession(null));
    let timer: ReturnType<typeof setTimeout> | undefined;
    const find = async () => {
      const outcome = await ask<SessionBody>('/v1/session');
      if (outcome.kind === 'ok') setSession(outcome.body);
      else if (outcome.kind !== 'signed-out') timer = setTimeout(() => void find(), againMs);
    };
    void find();
    return () => clearTimeout(timer);
  }, []);
  if (session === undefined) return null;
  if (session === null) return <SignIn onSignedIn={setSession} />;
  return <Console session={session} onSignedOut={() => setSession(null)} />;
}

/** The tenant that the address names, for the operator. */
function useAddress(): string | undefined {
  const read = () => {
    const name = location.hash.slice(1);
    return isTenantName(name) ? name : undefined;
  };
  const [tenant, setTenant] = useState(read);
  useEffect(() => {
    const onChange = () => {
      setTenant(read());
      scrollTo(0, 0);
    };
    addEventListener('hashchange', onChange);
    return () => removeEventListener('hashchange', onChange);
  }, []);
  return tenant;
}

function Console({ session, onSignedOut: leave }: { session: SessionBody; onSignedOut: () => void }) {
  const address = useAddress();
  const tenant = session.tenant ?? address;
  useEffect(() => {
    document.title = tenant === undefined ? 'Tenants · lfs-quota' : `${tenant} · lfs-quota`;
  }, [tenant]);
  const signOut = async () => {
    const outcome = await ask('/v1/session', { method: 'DELETE' });
    if (outcome.kind !== 'unreachable') leave();
  };
  return (
    <>
      <header>
        <p class="brand">
          <Mark /> lfs-quota
        </p>
        <p class="who">
          <span class="note">{whoText(session)}</span>
          <button type="button" class="quiet" onClick={() => void signOut()}>
            Sign out
          </button>
        </p>
      </header>
      {tenant === undefined ? <Tenants /> : <TenantPage key={tenant} tenant={tenant} session={session} />}
    </>
  );
}

const root = document.getElementById('console');
if (root) render(<App />, root);
