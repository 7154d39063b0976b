import { useState } from 'preact/hooks';
import { Card, Choice } from '../../parts.tsx';
import { useRead, useSaved } from '../../requests.ts';
import { bytesText, lastDays } from '../../text.ts';
import type { RepoProps, SubjectParts, ViewProps } from '../../view-props.ts';
import { useDialog } from '../../views/dialog.tsx';
import { LimitForm } from '../../views/limit-form.tsx';
import { changeTenant } from '../../views/settings-change.ts';

/** Proposed for a repo that becomes public. */
const ceilingBytes = 100 * 1024 ** 3;

const access = ['Private', 'Public'] as const;

function PublicAccess({ repo, session, send }: RepoProps) {
  const { publicRead } = repo;
  const [chosen, setChosen] = useState<(typeof access)[number]>();
  const { dialog, ask } = useDialog();
  const [isPublic, setIsPublic] = useSaved(publicRead !== undefined);
  const save = async (publicRead: Parameters<RepoProps['send']>[0]['publicRead']) => {
    const problem = await send({ publicRead });
    if (problem !== undefined) return problem;
    setIsPublic(publicRead !== null);
    setChosen(undefined);
  };
  const choose = (value: (typeof access)[number]) => {
    if (value === 'Public' || !isPublic) return setChosen(value);
    ask({
      title: 'Make it private?',
      action: 'Make private',
      keep: 'Keep public',
      text: <p>Downloads without a token fail within 30 minutes.</p>,
      run: () => save(null),
    });
  };
  const value = chosen ?? (isPublic ? 'Public' : 'Private');
  return (
    <Card title="Public access">
      <Choice label="Access" values={access} value={value} onChoose={choose} />
      <p class="note">
        {value === 'Public'
          ? 'Anyone can download without a token, up to a monthly limit. Pushes still need a token.'
          : 'Downloads and pushes need a token.'}
      </p>
      {value === 'Public' && (
        <LimitForm
          label="Monthly limit"
          of={repo.repo}
          limitBytes={publicRead?.monthlyLimitBytes}
          start={ceilingBytes}
          usedBytes={publicRead?.month?.bytes ?? 0}
          used="downloaded this month"
          below="Anonymous downloads fail until the month ends. Tokens still work."
          mayBeNone={session.kind === 'operator'}
          save={(monthlyLimitBytes) => save({ monthlyLimitBytes })}
        />
      )}
      {dialog}
    </Card>
  );
}

/** What a tenant's downloads of a month are limited to. */
function MonthlyLimit(props: ViewProps) {
  const { tenant, session, body } = props;
  const route = session.kind === 'operator' ? 'GET /v1/tenants/{tenant}/downloads' : undefined;
  const { body: downloads } = useRead(route, { tenant, query: { limit: 1 } });
  return (
    downloads && (
      <Card title="Download limit">
        <LimitForm
          label="Downloads per month"
          of={tenant}
          limitBytes={body.downloadLimitBytes}
          usedBytes={downloads.month.bytes}
          used="downloaded this month"
          below="Downloads fail until the month ends. Pushes still work."
          save={(downloadLimitBytes) => changeTenant(props, { downloadLimitBytes })}
        />
      </Card>
    )
  );
}

const figureDays = 30;

function useRepoFigure({ tenant, repo, nowMs }: RepoProps) {
  const [from] = lastDays(figureDays, nowMs);
  const query = { repo: repo.repo, from, limit: 1000 };
  const { body: page } = useRead('GET /v1/tenants/{tenant}/downloads', { tenant, query });
  const bytes = page?.downloads.reduce((sum, each) => sum + each.bytes, 0);
  return {
    name: 'Downloads, 30 days',
    value: bytes === undefined ? '–' : `${bytesText(bytes)}${page?.nextCursor ? '+' : ''}`,
  };
}

export const downloads: SubjectParts = {
  settings: { 20: MonthlyLimit },
  repoSettings: { 20: PublicAccess },
  repoKinds: { 10: ['Public', ({ publicRead }) => publicRead !== undefined] },
  useRepoFigure,
};
