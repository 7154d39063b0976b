import { useState } from 'preact/hooks';
import { formatAge } from '../../../../cli/render.ts';
import type { AnswerTo } from '../../../../cli/routes.ts';
import type {
  OrganizationBody,
  SignedInUserBody,
} from '../../../../lambda/subjects/sign-in/user-contract.ts';
import { Button, Card, Problem } from '../../parts.tsx';
import { change, useRead } from '../../requests.ts';
import type { SubjectParts } from '../../view-props.ts';
import { useDialog } from '../../views/dialog.tsx';
import type { Scope } from '../../views/grant.ts';
import { actColumn, type Column, Line, Table } from '../../views/table.tsx';

type Users = AnswerTo<'GET /v1/tenants/{tenant}/users'>;

const rights = [
  ['', 'none'],
  ['read', 'read'],
  ['write', 'read and write'],
  ['manage', 'manage'],
] as const;

const rightsOf = (chosen: string) => (chosen || null) as Scope | null;
const nameOf = ({ user, hostUser }: SignedInUserBody) => user ?? hostUser;
const open = ({ url }: { url: string }) => location.assign(url);

/** Organizations of git hosts that are let in, and their users who are signed in. Nothing without such a host. */
function Users({ tenant, nowMs }: { tenant: string; nowMs: number }) {
  const hosts = useRead('GET /v1/sign-in', {}).body?.hosts ?? [];
  const route = hosts.length > 0 ? 'GET /v1/tenants/{tenant}/users' : undefined;
  const { body, refusal, read } = useRead(route, { tenant });
  const { dialog, ask } = useDialog();
  const [problem, setProblem] = useState<string>();
  if (hosts.length === 0) return null;
  const end = ({ userId }: SignedInUserBody) =>
    change('DELETE /v1/tenants/{tenant}/users/{userId}', { tenant, userId }, read).then(setProblem);
  /** Asks the host which organizations are whoever has signed in's: that's what can be allowed. */
  const find = async (host: string) => {
    const body = { host, next: `#${tenant}/access`, addsOrganization: true };
    setProblem(await change('POST /v1/sign-in', { body }, open));
  };
  const remove = ({ name, host, organizationId }: OrganizationBody) => {
    const query = { host, organizationId };
    ask({
      title: `Remove ${name}?`,
      action: 'Remove',
      text: <p>Its users are signed out immediately. Tokens still work.</p>,
      run: () => change('DELETE /v1/tenants/{tenant}/organizations', { tenant, query }, read),
    });
  };
  const allow = (yours: Users['yours']) =>
    ask({
      title: 'Allow an organization',
      action: 'Allow',
      start: { index: '0', owners: 'manage', members: 'read' },
      fields: () => [
        {
          name: 'index',
          label: 'Organization',
          options: yours.map(({ host, name }, index) => [String(index), `${host}: ${name}`]),
        },
        { name: 'owners', label: 'Owners', options: rights },
        {
          name: 'members',
          label: 'Members',
          options: rights,
          note: 'With read, members can also push to the linked repos they can push to there.',
        },
      ],
      run: ({ index, owners, members }) => {
        const { host = '', organizationId = '' } = yours[Number(index)] ?? {};
        const body = { host, organizationId, owners: rightsOf(owners), members: rightsOf(members) };
        return change('PUT /v1/tenants/{tenant}/organizations', { tenant, body }, read);
      },
    });
  return (
    <Card
      title="Users"
      note="signed in with a Git host"
      action={
        body && body.yours.length > 0 ? (
          <Button text="Allow organization" onPress={() => allow(body.yours)} />
        ) : (
          hosts.map(({ id }) => <Button key={id} text={`Find in ${id}`} onPress={() => find(id)} />)
        )
      }
    >
      <Problem text={problem ?? refusal} />
      {body?.organizations.map((each) => (
        <Line
          key={`${each.host} ${each.organizationId}`}
          name={`${each.host}: ${each.name}`}
          note={`Owners: ${each.owners ?? 'none'}. Members: ${each.members ?? 'none'}.${each.collaborators ? ' Outside collaborators: their linked repos.' : ''}`}
        >
          <Button text="Remove" kind="quiet" label={`Remove ${each.name}`} onPress={() => remove(each)} />
        </Line>
      ))}
      {body?.organizations.length === 0 && <p class="soft">No organization can sign in yet.</p>}
      {body && body.users.length > 0 && (
        <Table
          columns={[...columnsOf(body.organizations, nowMs), actColumn('Sign out', nameOf, end)]}
          rows={body.users}
          keyOf={({ userId }) => userId}
        />
      )}
      {dialog}
    </Card>
  );
}

const columnsOf = (organizations: readonly OrganizationBody[], nowMs: number): Column<SignedInUserBody>[] => [
  { name: 'Name', of: nameOf },
  { name: 'Scope', of: ({ scope }) => <span class="pill">{scope}</span> },
  {
    name: 'Because',
    kind: 'wide soft',
    of: ({ role, organizationId: id, writeRepos }) => {
      const organization = organizations.find(({ organizationId }) => organizationId === id)?.name ?? id;
      const pushes = writeRepos.length > 0 ? `, can push to ${writeRepos.join(', ')}` : '';
      return `${role} of ${organization}${pushes}`;
    },
  },
  {
    name: 'Last seen',
    kind: 'right middle soft',
    of: ({ lastUsedAt, signedInAt }) => formatAge(lastUsedAt ?? signedInAt, nowMs),
  },
];

const useGitHosts = (tenant: string) =>
  useRead('GET /v1/tenants/{tenant}/users', { tenant }).body?.gitHosts ?? [];

export const signIn: SubjectParts = { access: { 10: Users }, useGitHosts };
