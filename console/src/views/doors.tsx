import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { SessionBody } from '../../../lambda/api/contract/sessions.ts';
import type { TokenBody } from '../../../lambda/api/contract/tokens.ts';
import { ask } from '../api.ts';
import { cloneLines, firstPushLines } from '../git-lines.ts';
import { Code, Mark, Problem } from '../parts.tsx';
import { change } from '../requests.ts';
import { dayText, scopeText } from '../text.ts';
import type { DoorProps } from '../view-props.ts';
import { TextField } from './fields.tsx';
import { type Grant, GrantScope, grantBody, usualGrant } from './grant.tsx';

function Alone({ title, children }: { title: string; children: ComponentChildren }) {
  useEffect(() => {
    document.title = `${title} · lfs-quota`;
  }, [title]);
  return (
    <main class="alone">
      <p class="brand">
        <Mark /> lfs-quota
      </p>
      <h1>{title}</h1>
      {children}
    </main>
  );
}

const newKey = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

type Joined = TokenBody & { readonly tenant: string; readonly token: string };

/** Accepts an invitation on a click, and shows its token once with the lines to clone. */
export function Join({ secret, onSignedIn }: DoorProps & { secret: string }) {
  const tenant = secret.split('.')[0] ?? '';
  const [user, setUser] = useState('');
  const [joined, setJoined] = useState<Joined>();
  const [problem, setProblem] = useState<string>();
  // Sent again, it gets the same token.
  const [requestKey] = useState(newKey);
  const accept = async (event: Event) => {
    event.preventDefault();
    const body = { secret, ...(user.trim() && { user: user.trim() }) };
    const done = await change<Joined>('/v1/invitations/accept', { method: 'POST', body, requestKey });
    setProblem(done.problem);
    if (!done.body) return;
    history.replaceState(null, '', location.pathname);
    setJoined(done.body);
  };
  if (joined) return <Welcome joined={joined} onSignedIn={onSignedIn} />;
  return (
    <Alone title={`Join ${tenant}`}>
      <p>You're invited to store large files here. Joining creates your access token.</p>
      <form onSubmit={(event) => void accept(event)}>
        <TextField
          label="Your name"
          value={user}
          onType={setUser}
          note="Your teammates see it on file locks."
        />
        <button type="submit" class="primary">
          Join
        </button>
        <Problem text={problem} />
      </form>
      <p class="note">The link works once.</p>
    </Alone>
  );
}

function Welcome({ joined, onSignedIn }: { joined: Joined; onSignedIn: (session: SessionBody) => void }) {
  const { tenant, token, repos, scope, expiresAt } = joined;
  const [problem, setProblem] = useState<string>();
  const repo = repos?.[0] ?? 'REPO';
  const open = async () => {
    const outcome = await ask<SessionBody>('/v1/session', { method: 'POST', token });
    if (outcome.kind !== 'ok') return setProblem("Couldn't sign in. Retry.");
    location.hash = tenant;
    onSignedIn(outcome.body);
  };
  return (
    <Alone title={`Welcome to ${tenant}`}>
      <ol class="steps">
        <li>
          <p>Copy your token now. You won't see it again.</p>
          <Code name="your token" text={token} />
        </li>
        <li>
          <p>Let Git keep it, and clone:</p>
          <Code name="the clone" text={cloneLines(location.origin)} />
        </li>
        <li>
          <p>When Git asks for {location.host}, enter any name, and paste your token as password.</p>
        </li>
        <li>
          <p>If the repository has no .lfsconfig yet, run this in it once:</p>
          <Code
            name="the configuration"
            text={firstPushLines(`${location.origin}/${tenant}/${repo}/info/lfs`)}
          />
        </li>
      </ol>
      <p class="note under">
        You can {scopeText[scope]} {repos?.join(', ') ?? 'all repos'}
        {expiresAt !== null && `, until ${dayText(expiresAt.slice(0, 10))}`}.
      </p>
      <p class="under">
        <button type="button" onClick={() => void open()}>
          Open the console
        </button>
      </p>
      <Problem text={problem} />
    </Alone>
  );
}

interface Approved {
  readonly machine: string;
  readonly scope: Grant['scope'];
  readonly user: string | null;
  readonly expiresAt: string;
}

/** Logs in a command line by the code that it shows: first it's looked at, then approved. */
export function Device({ session }: DoorProps & { session: SessionBody }) {
  const [tenant, setTenant] = useState(session.tenant ?? '');
  const [userCode, setUserCode] = useState('');
  const [grant, setGrant] = useState(usualGrant);
  const [found, setFound] = useState<Approved>();
  const [isDone, setIsDone] = useState(false);
  const [problem, setProblem] = useState<string>();
  const mayApprove = session.kind === 'operator' || session.scope === 'manage';
  const send = async (dryRun: boolean) => {
    const { scope, repos } = grantBody(grant);
    const path = `/v1/tenants/${encodeURIComponent(tenant.trim())}/device${dryRun ? '?dryRun=true' : ''}`;
    const body = { userCode: userCode.trim(), scope, repos };
    const done = await change<Approved>(path, { method: 'POST', body });
    setProblem(done.problem);
    setFound(done.body);
    setIsDone(done.body !== undefined && !dryRun);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    void send(found === undefined);
  };
  if (!mayApprove)
    return (
      <Alone title="Command line">
        <p>Only a tenant admin can approve it. Send your code to one, or run lfs-quota login with a token.</p>
      </Alone>
    );
  if (isDone && found)
    return (
      <Alone title="Logged in">
        <p role="status">{found.machine} is logged in. You can close this page.</p>
      </Alone>
    );
  return (
    <Alone title="Command line">
      <form onSubmit={submit}>
        {found ? (
          <p>
            <strong>{found.machine}</strong> gets a token to {scopeText[found.scope]}, until{' '}
            {dayText(found.expiresAt.slice(0, 10))}. Approve it only if you started it there.
          </p>
        ) : (
          <>
            {session.tenant === null && <TextField label="Tenant" value={tenant} onType={setTenant} />}
            <TextField label="Code" placeholder="BCDF-GHJK" value={userCode} onType={setUserCode} />
            <GrantScope grant={grant} onGrant={setGrant} />
          </>
        )}
        <button type="submit" class="primary">
          {found ? 'Approve' : 'Continue'}
        </button>
        {found && (
          <button type="button" onClick={() => setFound(undefined)}>
            Cancel
          </button>
        )}
        <Problem text={problem} />
      </form>
    </Alone>
  );
}
