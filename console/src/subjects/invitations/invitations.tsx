import { useState } from 'preact/hooks';
import { formatUntil } from '../../../../cli/render.ts';
import type { InvitationBody } from '../../../../lambda/subjects/invitations/contract.ts';
import { Button, Card, Problem } from '../../parts.tsx';
import { change, useRead } from '../../requests.ts';
import { scopeText } from '../../text.ts';
import type { SubjectParts, ViewProps } from '../../view-props.ts';
import { useDialog } from '../../views/dialog.tsx';
import { grantBody, grantFields, usualGrant } from '../../views/grant.ts';
import { Line } from '../../views/table.tsx';
import { Device, Join, Open } from './doors.tsx';

/** One-time links by which somebody gets a token. */
function Invitations({ tenant, repos, nowMs }: ViewProps & { repos: readonly string[] }) {
  const { body, refusal, read } = useRead('GET /v1/tenants/{tenant}/invitations', { tenant });
  const { dialog, ask, tellSecret } = useDialog();
  const [problem, setProblem] = useState<string>();
  const revoke = ({ invitationId }: InvitationBody) =>
    change('DELETE /v1/tenants/{tenant}/invitations/{invitationId}', { tenant, invitationId }, read).then(
      setProblem,
    );
  const invite = () =>
    ask({
      title: 'Invite someone',
      action: 'Create invitation',
      start: { user: '', ...usualGrant },
      fields: (values) => [
        { name: 'user', label: 'Name', note: 'Owner of their locks. Empty: they choose.' },
        ...grantFields(values, { repos, mayNever: false }),
      ],
      run: ({ user, ...grant }) => {
        const body = {
          ...grantBody(grant),
          expiresInSeconds: Number(grant.seconds),
          ...(user.trim() && { user: user.trim() }),
        };
        return change('POST /v1/tenants/{tenant}/invitations', { tenant, body }, ({ link }) => {
          tellSecret('Send this link', 'the link', link);
          read();
        });
      },
    });
  return (
    <Card title="Invitations" action={<Button text="Invite" kind="primary" onPress={invite} />}>
      <Problem text={problem ?? refusal} />
      {body?.invitations.map((invitation) => {
        const { invitationId, user, scope, repos: own, expiresAt } = invitation;
        return (
          <Line
            key={invitationId}
            name={user ?? 'Anyone with the link'}
            note={`${scopeText[scope]}, ${own?.join(', ') ?? 'all repos'}, link expires ${formatUntil(expiresAt, nowMs)}`}
          >
            <Button
              text="Revoke"
              kind="quiet"
              label={`Revoke invitation of ${user ?? invitationId.slice(0, 8)}`}
              onPress={() => revoke(invitation)}
            />
          </Line>
        );
      })}
      {body?.invitations.length === 0 && (
        <p class="soft">None open. An invitation is a link that works once.</p>
      )}
      {dialog}
    </Card>
  );
}

export const invitations: SubjectParts = {
  access: { 20: Invitations },
  doors: { join: Join, open: Open, device: Device },
};
