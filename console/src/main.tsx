import './base.css';
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { SessionBody } from '../../lambda/frame/contract/sessions.ts';
import { parseAddress } from './address.ts';
import { ask, listeners } from './api.ts';
import { Door, useDoor } from './door.tsx';
import { Console } from './shell.tsx';
import { SignIn, type WayIn } from './sign-in.tsx';
import { fetchAhead, loadView } from './views.ts';
import * as waysIn from './ways-in.ts';
import './print.css';

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
