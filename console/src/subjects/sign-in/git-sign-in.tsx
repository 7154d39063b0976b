import { useEffect, useState } from 'preact/hooks';
import type { SentTo } from '../../../../cli/routes.ts';
import { ask, serverUrl } from '../../api.ts';
import { Problem } from '../../parts.tsx';

/** Signing in with a git host: the page starts it, and finishes it by its own request when the host sends back. */

/** What a host has sent back. It's taken out of the address at once. @returns what finishes the sign-in by it. */
function takeArrival(): (() => Promise<void>) | undefined {
  const host = /\/sign-in\/([a-z0-9-]+)$/.exec(location.pathname)?.[1];
  if (host === undefined) return undefined;
  const query = new URLSearchParams(location.search);
  history.replaceState(null, '', `${serverUrl}/${sessionStorage['door'] ?? ''}`);
  sessionStorage.removeItem('door');
  const [code, state, iss] = ['code', 'state', 'iss'].map((name) => query.get(name) ?? '');
  const arrival = { host, code: code ?? '', state: state ?? '', ...(iss && { iss }) };
  return async () => {
    back = await finishSignIn(arrival);
  };
}

/** What came of it: a session for the view that was wanted, a choice of tenants, or a refusal. */
async function finishSignIn(arrival: SentTo<'POST /v1/sign-in/finish'>): Promise<Return> {
  const outcome = await ask('POST /v1/sign-in/finish', { body: arrival });
  if (outcome.kind !== 'ok') {
    const why = outcome.kind === 'refused' ? outcome.detail : 'Retry, or use an access token.';
    return { problem: `Couldn't sign you in. ${why}`, tenants: [] };
  }
  const { tenant, tenants, next } = outcome.body;
  if (tenant === null) return { problem: undefined, tenants };
  if (location.hash === '') history.replaceState(null, '', next);
  return { problem: undefined, tenants: [] };
}

/** Opens the page of a host. @returns false: it can't be opened now. */
async function openHost(host: string, next: string): Promise<boolean> {
  const outcome = await ask('POST /v1/sign-in', { body: { host, next } });
  if (outcome.kind === 'ok') {
    // The code of a command line stays in this tab, to come back to.
    sessionStorage['door'] = location.hash.startsWith('#_device') ? location.hash : '';
    location.assign(outcome.body.url);
  }
  return outcome.kind === 'ok';
}

/** Sends a user of a host there once more, and back to this view. */
async function signInAgain(): Promise<void> {
  const whose = await ask('GET /v1/session', {});
  const [host] = (whose.kind === 'ok' && whose.body.hostUser?.split(':')) || [];
  if (host !== undefined) await openHost(host, location.hash);
}

interface Return {
  readonly problem: string | undefined;
  /** To choose from, as a session is for one. */
  readonly tenants: readonly string[];
}

let back: Return | undefined;

const names = { github: 'GitHub', gitlab: 'GitLab', gitea: 'Gitea' } as const;

/** A button for each host. None: nothing. */
function GitHosts() {
  const [hosts, setHosts] = useState<readonly { id: string; kind: keyof typeof names }[]>([]);
  const [problem, setProblem] = useState(back?.problem);
  const [tenant, setTenant] = useState(back?.tenants[0] ?? '');
  useEffect(() => {
    void ask('GET /v1/sign-in', {}).then((outcome) => outcome.kind === 'ok' && setHosts(outcome.body.hosts));
  }, []);
  const start = async (host: string) => {
    // Doors aren't views: what they hold must not leave.
    const wanted = /^#[a-z0-9]/.test(location.hash) ? location.hash : '#';
    if (!(await openHost(host, tenant === '' ? wanted : `#${tenant}`)))
      setProblem("Couldn't start. Retry, or use an access token.");
  };
  if (hosts.length === 0 && !problem) return null;
  return (
    <div class="hosts">
      {back && back.tenants.length > 0 && (
        <>
          <label for="sign-in-tenant">Tenant</label>
          <select
            id="sign-in-tenant"
            value={tenant}
            onChange={({ currentTarget }) => setTenant(currentTarget.value)}
          >
            {back.tenants.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </>
      )}
      {hosts.map(({ id, kind }) => (
        <button key={id} type="button" onClick={() => void start(id)}>
          Continue with {names[kind]}
        </button>
      ))}
      <Problem text={problem} />
      {hosts.length > 0 && <p class="note">Or use a token:</p>}
    </div>
  );
}

export const gitHosts = { takeArrival, signInAgain, Buttons: GitHosts };
