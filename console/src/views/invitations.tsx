import { useState } from 'preact/hooks';
import { formatUntil } from '../../../cli/render.ts';
import type { InvitationBody } from '../../../lambda/api/contract/invitations.ts';
import { Card, Problem } from '../parts.tsx';
import { change, useRead } from '../requests.ts';
import { scopeText } from '../text.ts';
import { FormDialog } from './dialog.tsx';
import { TextField } from './fields.tsx';
import { GrantFields, grantBody, lifetimes, usualGrant } from './grant.tsx';
import { Secret } from './secret.tsx';

/** One-time links by which somebody gets a token. */
export function Invitations(props: { tenant: string; repos: readonly string[]; nowMs: number }) {
  const { tenant, repos, nowMs } = props;
  const path = `/v1/tenants/${tenant}/invitations`;
  const { body, refusal, read } = useRead<{ invitations: InvitationBody[] }>(path);
  const [isInviting, setIsInviting] = useState(false);
  const [link, setLink] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const revoke = async ({ invitationId }: InvitationBody) => {
    const done = await change(`${path}/${invitationId}`, { method: 'DELETE' });
    setProblem(done.problem);
    read();
  };
  return (
    <Card
      title="Invitations"
      action={
        <button type="button" class="primary" onClick={() => setIsInviting(true)}>
          Invite
        </button>
      }
    >
      <Problem text={problem ?? refusal} />
      {body?.invitations.map((invitation) => (
        <div class="line" key={invitation.invitationId}>
          <div>
            <p class="strong">{invitation.user ?? 'Anyone with the link'}</p>
            <p class="note">
              {scopeText[invitation.scope]}, {invitation.repos?.join(', ') ?? 'all repos'}, expires{' '}
              {formatUntil(invitation.expiresAt, nowMs)}
            </p>
          </div>
          <button
            type="button"
            class="quiet"
            aria-label={`Revoke invitation of ${invitation.user ?? invitation.invitationId.slice(0, 8)}`}
            onClick={() => void revoke(invitation)}
          >
            Revoke
          </button>
        </div>
      ))}
      {body?.invitations.length === 0 && (
        <p class="soft">None open. An invitation is a link that works once.</p>
      )}
      {isInviting && (
        <Invite
          path={path}
          repos={repos}
          onClose={() => setIsInviting(false)}
          onMade={(made) => {
            setIsInviting(false);
            setLink(made);
            read();
          }}
        />
      )}
      {link !== undefined && (
        <Secret title="Send this link" name="the link" secret={link} onDone={() => setLink(undefined)} />
      )}
    </Card>
  );
}

function Invite(props: {
  path: string;
  repos: readonly string[];
  onClose: () => void;
  onMade: (link: string) => void;
}) {
  const { path, repos, onClose, onMade } = props;
  const [user, setUser] = useState('');
  const [grant, setGrant] = useState(usualGrant);
  const invite = async () => {
    const { expiresInSeconds, ...rest } = grantBody(grant);
    const body = {
      ...rest,
      expiresInSeconds: expiresInSeconds ?? undefined,
      ...(user.trim() && { user: user.trim() }),
    };
    const done = await change<{ link: string }>(path, { method: 'POST', body });
    if (done.body) onMade(done.body.link);
    return done.problem;
  };
  return (
    <FormDialog title="Invite someone" action="Create invitation" run={invite} onClose={onClose}>
      <TextField
        label="Name"
        value={user}
        onType={setUser}
        note="Owner of their locks. Empty: they choose."
        isFirst
      />
      <GrantFields
        grant={grant}
        onGrant={setGrant}
        repos={repos}
        times={lifetimes.filter(([time]) => time !== '')}
      />
    </FormDialog>
  );
}
