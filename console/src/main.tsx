import { type FunctionComponent, render } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { SessionBody } from '../../lambda/frame/contract/sessions.ts';
import { ownAddresses, parseAddress } from './address.ts';
import { ask, listeners } from './api.ts';
import { Alone, Problem } from './parts.tsx';
import { Console } from './shell.tsx';
import { tokenIn } from './text.ts';
import type { DoorProps } from './view-props.ts';
import { fetchAhead, loadView } from './views.ts';
import * as waysIn from './ways-in.ts';
import './base.css';
import './print.css';

/** Beside a token. */
interface WayIn {
  takeArrival(): (() => Promise<void>) | undefined;
  signInAgain(): Promise<void>;
  readonly Buttons: FunctionComponent;
}

const messages = {
  ended: "You're signed out: your session or token expired or was revoked.",
  'signed-out': 'Invalid, expired or revoked token.',
  unreachable: "Can't reach the server. Retry in a few seconds.",
  same: 'Retry.',
} as const;

/** Asks for a token, once: the browser keeps a session instead. */
function SignIn(props: { onSignedIn: (session: SessionBody) => void; hasEnded: boolean }) {
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
    setProblem(outcome.kind === 'refused' ? outcome.detail : messages[outcome.kind]);
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

/** Doors: addresses that aren't views. */

type Doors = typeof import('./views/all-but-overview.ts')['doors'];

const pattern = new RegExp(`^#_(${ownAddresses.flatMap(({ door }) => door ?? []).join('|')})`);
const doorOf = () => pattern.exec(location.hash)?.[1];

/** The door that the address is. */
function useDoor(): string | undefined {
  const [door, setDoor] = useState(doorOf);
  useEffect(() => {
    const onChange = () => setDoor(doorOf());
    addEventListener('hashchange', onChange);
    return () => removeEventListener('hashchange', onChange);
  }, []);
  return door;
}

/** One of them, fetched when it is needed. */
function Door({ door, ...props }: DoorProps & { door: string }) {
  const [doors, setDoors] = useState<Doors>();
  useEffect(() => {
    import('./views/all-but-overview.ts').then(
      (loaded) => setDoors(loaded.doors),
      () => location.reload(),
    );
  }, []);
  const Own = doors?.[door.split('/')[0] ?? ''];
  return Own ? <Own {...props} /> : null;
}

const againMs = 5_000;

/** Before anything else: a code must not stay in the address. */
const arrivals = Object.values<WayIn>(waysIn).map((way) => way.takeArrival());

/** Who has signed in. undefined: not known yet. null: nobody. `ended`: nobody any more, and not because they signed out. */
type Whose = SessionBody | 'ended' | null | undefined;

function App() {
  const [session, setSession] = useState<Whose>();
  useEffect(() => {
    listeners.signedOut = (hasEnded) => setSession((before) => (hasEnded || before ? 'ended' : null));
    listeners.signInAgain = () => {
      for (const way of Object.values<WayIn>(waysIn)) void way.signInAgain();
    };
    let timer: ReturnType<typeof setTimeout> | undefined;
    const find = async () => {
      const outcome = await ask('GET /v1/session', {});
      if (outcome.kind === 'ok') setSession(outcome.body);
      else if (outcome.kind !== 'signed-out') timer = setTimeout(() => void find(), againMs);
    };
    const start = async () => {
      for (const finish of arrivals) await finish?.();
      await find();
    };
    void start();
    return () => clearTimeout(timer);
  }, []);
  const door = useDoor();
  if (session === undefined) return null;
  const isOut = session === 'ended' || session === null;
  const signIn = <SignIn onSignedIn={setSession} hasEnded={session === 'ended'} />;
  if (door !== undefined)
    return (
      <Door key={door} door={door} session={isOut ? null : session} signIn={signIn} onSignedIn={setSession} />
    );
  if (isOut) return signIn;
  return <Console session={session} onSignedOut={() => setSession(null)} />;
}

// Beside the question who has signed in. What fails is asked again when the view is shown.
if (location.hash.length > 1) void loadView(parseAddress(location.hash).view).catch(() => {});
fetchAhead();
const root = document.getElementById('console');
if (root) render(<App />, root);
