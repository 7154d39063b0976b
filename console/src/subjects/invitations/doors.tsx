import { useEffect, useState } from 'preact/hooks';
import type { AnswerTo, SentTo } from '../../../../cli/routes.ts';
import type { SessionBody } from '../../../../lambda/frame/contract/sessions.ts';
import { ask, serverUrl } from '../../api.ts';
import { trackLines, urlLine } from '../../git-lines.ts';
import { Alone, Button, Code, Problem } from '../../parts.tsx';
import { change } from '../../requests.ts';
import { dayText, scopeText } from '../../text.ts';
import type { DoorProps } from '../../view-props.ts';
import { type Field, Form } from '../../views/form.tsx';
import { type Scope, scopeField } from '../../views/grant.ts';
import { cloneLines } from './clone-lines.ts';

const newKey = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

type Joined = AnswerTo<'POST /v1/invitations/accept'>;

/** Accepts an invitation on a click, and shows its token once with the lines to clone. */
export function Join({ onSignedIn }: DoorProps) {
  // The address loses it once it is used.
  const [secret] = useState(location.hash.slice('#_join/'.length));
  const tenant = secret.split('.')[0] ?? '';
  const [joined, setJoined] = useState<Joined>();
  // Sent again, it gets the same token.
  const [requestKey] = useState(newKey);
  const accept = ({ user }: { user: string }) =>
    change('POST /v1/invitations/accept', { body: { secret, user }, requestKey }, (made) => {
      history.replaceState(null, '', location.pathname);
      setJoined(made);
    });
  if (joined) return <Welcome joined={joined} onSignedIn={onSignedIn} />;
  return (
    <Alone title={`Join ${tenant}`}>
      <p>You're invited to store large files here. Joining creates your access token.</p>
      <Form
        action="Join"
        start={{ user: '' }}
        fields={() => [
          {
            name: 'user',
            label: 'Your name',
            note: 'Shown on file locks, unless your admin chose another.',
            isRequired: true,
          },
        ]}
        run={accept}
      />
      <p class="note">
        The link works once. In a terminal, use it with <code>lfs-quota login LINK</code>.
      </p>
    </Alone>
  );
}

function Welcome({ joined, onSignedIn }: { joined: Joined; onSignedIn: (session: SessionBody) => void }) {
  const { tenant, token, user, repos, scope, expiresAt } = joined;
  const repo = repos?.length === 1 ? repos[0] : undefined;
  const [problem, setProblem] = useState<string>();
  const open = async () => {
    const outcome = await ask('POST /v1/session', { token });
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
        {scope !== 'read' && (
          <li>
            <p>
              If the repository has no .lfsconfig yet, run this in it once.
              {!repo && ' Replace REPO with its name.'}
            </p>
            <Code name="the configuration" text={`${urlLine(serverUrl, tenant, repo)}\n${trackLines}`} />
          </li>
        )}
      </ol>
      <p class="note under">
        As {user}, you can {scopeText[scope]} {repos?.join(', ') ?? 'all repos'}
        {expiresAt !== null && `, until ${dayText(expiresAt.slice(0, 10))}`}.
      </p>
      <p class="under">
        <Button text="Open the console" onPress={open} />
      </p>
      <Problem text={problem} />
    </Alone>
  );
}

/** Signs in by the one-time link of an app. The address loses it before. */
export function Open() {
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    const secret = location.hash.slice('#_open/'.length);
    const show = (hash: string) => history.replaceState(null, '', hash);
    show('#_open/');
    const then = ({ tenant }: { tenant: string }) => {
      show(`#${tenant}`);
      location.reload();
    };
    void change('POST /v1/console-links/open', { body: { secret } }, then).then(setProblem);
  }, []);
  return (
    <Alone title="Console">
      <Problem text={problem} />
    </Alone>
  );
}

const approval = 'POST /v1/tenants/{tenant}/device';
type Approved = AnswerTo<typeof approval>;

const note = "The machine's user, and owner of its locks.";
const userField = { name: 'user', label: 'User', note, isRequired: true } as const;

/** Logs in a command line by the code of its link: first it's looked at, then approved. */
function Approval({ session, code }: { session: SessionBody; code: string }) {
  const [typed, setTyped] = useState({ tenant: session.tenant ?? '', userCode: code });
  const [found, setFound] = useState<Approved>();
  const [problem, setProblem] = useState<string>();
  const [isDone, setIsDone] = useState(false);
  const send = (
    { tenant, userCode }: typeof typed,
    dryRun: true | undefined,
    grant: Omit<SentTo<typeof approval>, 'userCode'>,
    then: (body: Approved) => void,
  ) => {
    const body = { userCode: userCode.trim(), ...grant };
    return change(approval, { tenant: tenant.trim(), query: { dryRun }, body }, then);
  };
  const look = (values: typeof typed) => {
    setTyped(values);
    return send(values, true, {}, setFound);
  };
  useEffect(() => {
    if (code !== '' && session.tenant !== null) void look(typed).then(setProblem);
  }, []);
  const fields: readonly Field<keyof typeof typed>[] = [
    ...(session.tenant === null ? [{ name: 'tenant', label: 'Tenant', isRequired: true } as const] : []),
    { name: 'userCode', label: 'Code', placeholder: 'BCDF-GHJK', isRequired: true },
  ];
  if (!found)
    return (
      <Alone title="Command line">
        <Form action="Continue" start={typed} fields={() => fields} run={look}>
          <Problem text={problem} />
        </Form>
      </Alone>
    );
  if (isDone)
    return (
      <Alone title="Logged in">
        <p role="status">{found.machine} is logged in. You can close this page.</p>
      </Alone>
    );
  const { machine, scope, repos, user, address, expiresAt } = found;
  const mayChoose = session.kind === 'operator' || session.scope === 'manage';
  const rights = mayChoose
    ? ''
    : ` to ${scopeText[scope]} ${repos?.join(', ') ?? 'all repos'} as ${user ?? 'you'}`;
  return (
    <Alone title="Command line">
      <p>
        <strong>{machine}</strong> gets a token{rights}, until {dayText(expiresAt.slice(0, 10))}. Its login
        came from {address ?? 'an unknown address'}, and it shows{' '}
        <strong>{typed.userCode.toUpperCase()}</strong>.
      </p>
      <p class="notice under">
        Approve it only if you see this code on that machine. Anyone who sent you this link gets this access.
      </p>
      <p class="note">Otherwise, close this page. The login expires automatically.</p>
      <Form
        key="approve"
        action="Approve"
        start={{ user: session.user ?? '', scope }}
        fields={() => (mayChoose ? [userField, scopeField] : [])}
        run={({ user, scope: chosen }) =>
          send(typed, undefined, mayChoose ? { user, scope: chosen as Scope } : {}, () => setIsDone(true))
        }
      />
    </Alone>
  );
}

export const Device = ({ session, signIn }: DoorProps) =>
  session ? <Approval session={session} code={location.hash.split('/')[1] ?? ''} /> : signIn;
