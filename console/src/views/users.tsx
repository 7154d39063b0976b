import { useState } from 'preact/hooks';
import { formatAge } from '../../../cli/render.ts';
import type { OrganizationBody, SignedInUserBody } from '../../../lambda/api/contract/users.ts';
import { ask } from '../api.ts';
import { Card, Problem } from '../parts.tsx';
import { change, useRead } from '../requests.ts';
import { Confirm, FormDialog } from './dialog.tsx';
import { SelectField } from './fields.tsx';
import { TableHead } from './table-head.tsx';

interface Users {
  readonly organizations: readonly OrganizationBody[];
  readonly users: readonly SignedInUserBody[];
  readonly yours: readonly { host: string; organizationId: string; name: string }[];
}

const rights = [
  ['', 'none'],
  ['read', 'read'],
  ['write', 'read and write'],
  ['manage', 'manage'],
] as const;
type Right = (typeof rights)[number][0];

/** Organizations of git hosts that are let in, and their users who are signed in. Nothing without such a host. */
export function Users({ tenant, nowMs }: { tenant: string; nowMs: number }) {
  const path = `/v1/tenants/${tenant}`;
  const hosts = useRead<{ hosts: { id: string }[] }>('/v1/sign-in');
  const hasHosts = (hosts.body?.hosts.length ?? 0) > 0;
  const { body, refusal, read } = useRead<Users>(hasHosts ? `${path}/users` : undefined);
  const [isAllowing, setIsAllowing] = useState(false);
  const [removed, setRemoved] = useState<OrganizationBody>();
  const [problem, setProblem] = useState<string>();
  if (!hasHosts) return null;
  const end = async ({ userId }: SignedInUserBody) => {
    const done = await change(`${path}/users/${userId}`, { method: 'DELETE' });
    setProblem(done.problem);
    read();
  };
  const remove = async ({ host, organizationId }: OrganizationBody) => {
    const query = new URLSearchParams({ host, organizationId });
    const done = await change(`${path}/organizations?${query}`, { method: 'DELETE' });
    if (done.problem === undefined) setRemoved(undefined);
    read();
    return done.problem;
  };
  return (
    <Card
      title="Users"
      note="signed in with a Git host"
      action={
        body && body.yours.length > 0 ? (
          <button type="button" onClick={() => setIsAllowing(true)}>
            Allow organization
          </button>
        ) : (
          hosts.body?.hosts.map(({ id }) => <FindOrganization key={id} tenant={tenant} host={id} />)
        )
      }
    >
      <Problem text={problem ?? refusal} />
      {body?.organizations.map((each) => (
        <Organization
          key={`${each.host} ${each.organizationId}`}
          organization={each}
          onRemove={() => setRemoved(each)}
        />
      ))}
      {body?.organizations.length === 0 && <p class="soft">No organization can sign in yet.</p>}
      {body && body.users.length > 0 && (
        <SignedIn body={body} nowMs={nowMs} onEnd={(user) => void end(user)} />
      )}
      {removed && (
        <Confirm
          title={`Remove ${removed.name}?`}
          action="Remove"
          run={() => remove(removed)}
          onClose={() => setRemoved(undefined)}
        >
          <p>Its users are signed out immediately. Tokens still work.</p>
        </Confirm>
      )}
      {isAllowing && body && (
        <Allow
          path={path}
          yours={body.yours}
          onClose={() => setIsAllowing(false)}
          onAllowed={() => {
            setIsAllowing(false);
            read();
          }}
        />
      )}
    </Card>
  );
}

/** Asks the host which organizations are whoever has signed in's: that's what can be allowed. */
function FindOrganization({ tenant, host }: { tenant: string; host: string }) {
  const find = async () => {
    const body = { host, next: `#${tenant}/access`, addsOrganization: true };
    const outcome = await ask<{ url: string }>('/v1/sign-in', { method: 'POST', body });
    if (outcome.kind === 'ok') location.assign(outcome.body.url);
  };
  return (
    <button type="button" onClick={() => void find()}>
      Find in {host}
    </button>
  );
}

function Organization({ organization, onRemove }: { organization: OrganizationBody; onRemove: () => void }) {
  const { host, name, owners, members, collaborators } = organization;
  return (
    <div class="line">
      <div>
        <p class="strong">
          {host}: {name}
        </p>
        <p class="note">
          Owners: {owners ?? 'none'}. Members: {members ?? 'none'}.
          {collaborators && ' Outside collaborators: their linked repos.'}
        </p>
      </div>
      <button type="button" class="quiet" aria-label={`Remove ${name}`} onClick={onRemove}>
        Remove
      </button>
    </div>
  );
}

function SignedIn(props: { body: Users; nowMs: number; onEnd: (user: SignedInUserBody) => void }) {
  const { body, nowMs, onEnd } = props;
  const nameOf = (id: string) =>
    body.organizations.find(({ organizationId }) => organizationId === id)?.name ?? id;
  return (
    <table>
      <TableHead
        columns={[
          ['Name'],
          ['Scope'],
          ['Because', 'wide'],
          ['Last seen', 'right middle'],
          ['Sign out', 'act'],
        ]}
      />
      <tbody>
        {body.users.map((user) => (
          <tr key={user.userId}>
            <th scope="row">{user.user ?? user.hostUser}</th>
            <td>
              <span class="pill">{user.scope}</span>
            </td>
            <td class="wide soft">
              {user.role} of {nameOf(user.organizationId)}
              {user.writeRepos.length > 0 && `, can push to ${user.writeRepos.join(', ')}`}
            </td>
            <td class="right middle soft">{formatAge(user.lastUsedAt ?? user.signedInAt, nowMs)}</td>
            <td class="right act">
              <button
                type="button"
                class="quiet"
                aria-label={`Sign out ${user.user ?? user.hostUser}`}
                onClick={() => onEnd(user)}
              >
                Sign out
              </button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Allow(props: { path: string; yours: Users['yours']; onClose: () => void; onAllowed: () => void }) {
  const { path, yours, onClose, onAllowed } = props;
  const keyOf = ({ host, organizationId }: Users['yours'][number]) => `${host} ${organizationId}`;
  const [key, setKey] = useState(yours[0] ? keyOf(yours[0]) : '');
  const [owners, setOwners] = useState<Right>('manage');
  const [members, setMembers] = useState<Right>('read');
  const allow = async () => {
    const found = yours.find((each) => keyOf(each) === key);
    const body = {
      host: found?.host,
      organizationId: found?.organizationId,
      owners: owners || null,
      members: members || null,
    };
    const { problem } = await change(`${path}/organizations`, { method: 'PUT', body });
    if (problem === undefined) onAllowed();
    return problem;
  };
  return (
    <FormDialog title="Allow an organization" action="Allow" run={allow} onClose={onClose}>
      <SelectField
        label="Organization"
        value={key}
        options={yours.map((each) => [keyOf(each), `${each.host}: ${each.name}`] as const)}
        onChoose={setKey}
      />
      <SelectField label="Owners" value={owners} options={rights} onChoose={setOwners} />
      <SelectField label="Members" value={members} options={rights} onChoose={setMembers} />
      <p class="note">With read, members can also push to the linked repos they can push to there.</p>
    </FormDialog>
  );
}
