import { useState } from 'preact/hooks';
import type { SentTo } from '../../../cli/routes.ts';
import type { RepoBody } from '../../../lambda/frame/contract/repos.ts';
import { tenantAddress } from '../address.ts';
import { go } from '../navigation.ts';
import { Button, Card, Choice } from '../parts.tsx';
import { change, useRead, useSaved } from '../requests.ts';
import { Gc } from '../subjects/gc/gc.tsx';
import { bytesText } from '../text.ts';
import type { ViewProps } from '../view-props.ts';
import { DeleteByName } from './delete-by-name.tsx';
import { useDialog } from './dialog.tsx';
import { LimitForm } from './limit-form.tsx';

/** Proposed for a repo that becomes public. */
const ceilingBytes = 100 * 1024 ** 3;

type Changed = SentTo<'PATCH /v1/tenants/{tenant}/repos/{repo}'>;
type Send = (body: Changed) => Promise<string | undefined>;

/** What is decided of a repo. */
export function RepoSettings(props: ViewProps & { repo: RepoBody; onChanged: () => void }) {
  const { tenant, session, body, repo, nowMs, onChanged } = props;
  const place = { tenant, repo: repo.repo };
  const send: Send = (body) =>
    change('PATCH /v1/tenants/{tenant}/repos/{repo}', { ...place, body }, onChanged);
  return (
    <>
      <Card title="Storage limit">
        <LimitForm
          label={`Limit of ${repo.repo}`}
          of={repo.repo}
          limitBytes={repo.limitBytes}
          usedBytes={repo.storedBytes ?? 0}
          used="in use"
          below="Pushes to it fail until you delete that much. Downloads still work."
          save={(limitBytes) => send({ limitBytes })}
        />
        {body.limitBytes !== null && (
          <p class="note">
            Pushes must also fit the {bytesText(body.limitBytes)} of {tenant}.
          </p>
        )}
      </Card>
      <PublicAccess repo={repo} isOperator={session.kind === 'operator'} send={send} />
      <GitHost tenant={tenant} repo={repo} send={send} />
      <Gc tenant={tenant} repo={repo.repo} nowMs={nowMs} />
      <DeleteByName
        title="Delete this repo"
        name={repo.repo}
        request={(asked, then) =>
          change('DELETE /v1/tenants/{tenant}/repos/{repo}', { ...place, ...asked }, then)
        }
        note="Pushes and pulls fail immediately. You can't undo this."
        nowMs={nowMs}
        onDeleted={() => go(tenantAddress(tenant, 'repos'))}
      />
    </>
  );
}

const access = ['Private', 'Public'] as const;

function PublicAccess({ repo, isOperator, send }: { repo: RepoBody; isOperator: boolean; send: Send }) {
  const { publicRead } = repo;
  const [chosen, setChosen] = useState<(typeof access)[number]>();
  const { dialog, ask } = useDialog();
  const [isPublic, setIsPublic] = useSaved(publicRead !== undefined);
  const save = async (publicRead: Changed['publicRead']) => {
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
          mayBeNone={isOperator}
          save={(monthlyLimitBytes) => save({ monthlyLimitBytes })}
        />
      )}
      {dialog}
    </Card>
  );
}

/** Which repository of a git host it is linked to. Nothing without such a host. */
function GitHost({ tenant, repo, send }: { tenant: string; repo: RepoBody; send: Send }) {
  const { gitHost } = repo;
  const hosts = useRead('GET /v1/tenants/{tenant}/users', { tenant }).body?.gitHosts ?? [];
  const { dialog, ask } = useDialog();
  const link = () =>
    ask({
      title: 'Link a repository',
      action: 'Link',
      start: { host: hosts[0] ?? '', name: '' },
      fields: () => [
        { name: 'host', label: 'Git host', options: hosts.map((each) => [each, each]) },
        { name: 'name', label: 'Repository', placeholder: 'owner/name', isRequired: true },
      ],
      run: ({ host, name }) => send({ gitHost: { host, repo: name.trim() } }),
    });
  const unlink = () =>
    ask({
      title: 'Unlink this repo?',
      action: 'Unlink',
      text: <p>Its users on {gitHost?.host} lose access immediately. Tokens still work.</p>,
      run: () => send({ gitHost: null }),
    });
  if (hosts.length === 0 && !gitHost) return null;
  return (
    <Card title="Git host">
      <p>
        {gitHost
          ? `Linked to ${gitHost.repo} on ${gitHost.host}: its users log in with their tokens for it.`
          : 'Link a repository on GitHub, GitLab or Gitea: its users need no token from here.'}
      </p>
      <p class="under">
        <Button text={gitHost ? 'Unlink…' : 'Link…'} onPress={gitHost ? unlink : link} />
      </p>
      {dialog}
    </Card>
  );
}
