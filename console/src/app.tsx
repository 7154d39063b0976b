import { useEffect, useState } from 'preact/hooks';
import { isTenantName } from '../../lambda/domain/names.ts';
import type { SessionBody } from '../../lambda/http/management/sessions/schemas.ts';
import { ask, onSignedOut } from './api.ts';
import { Mark } from './parts.tsx';
import { SignIn } from './sign-in.tsx';
import { TenantPage } from './tenant-page.tsx';
import { Tenants } from './tenants.tsx';
import { whoText } from './text.ts';

const againMs = 5_000;

/** Who has signed in. undefined: not known yet. null: nobody. */
type Whose = SessionBody | null | undefined;

export function App() {
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
