import { useState } from 'preact/hooks';
import type { RepoBody } from '../../../lambda/api/contract/repos.ts';
import type { SubscriptionBody } from '../../../lambda/api/contract/tenants.ts';
import { tenantAddress } from '../address.ts';
import { go } from '../navigation.ts';
import { Card, Choice } from '../parts.tsx';
import { change } from '../requests.ts';
import { bytesText } from '../text.ts';
import { DeleteByName } from './delete-by-name.tsx';
import { Confirm, FormDialog } from './dialog.tsx';
import { TextField } from './fields.tsx';
import { Gc } from './gc.tsx';
import { LimitForm } from './limit-form.tsx';

/** Proposed for a repo that becomes public. */
const ceilingBytes = 100 * 1024 ** 3;

type Send = (body: object) => Promise<string | undefined>;

/** What is decided of a repo. */
export function RepoSettings(props: {
  tenant: string;
  /** Of the tenant. */
  body: SubscriptionBody;
  repo: RepoBody;
  isOperator: boolean;
  nowMs: number;
  onChanged: () => void;
}) {
  const { tenant, body, repo, isOperator, nowMs, onChanged } = props;
  const path = `/v1/tenants/${tenant}/repos/${repo.repo}`;
  const send: Send = async (changed) => {
    const { problem } = await change(path, { method: 'PATCH', body: changed });
    if (problem === undefined) onChanged();
    return problem;
  };
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
      <PublicAccess repo={repo} isOperator={isOperator} send={send} />
      <GitHost repo={repo} send={send} />
      <Gc tenant={tenant} repo={repo.repo} nowMs={nowMs} />
      <DeleteByName
        title="Delete this repo"
        name={repo.repo}
        path={path}
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
  const now = publicRead ? 'Public' : 'Private';
  const [chosen, setChosen] = useState<(typeof access)[number]>();
  const [isAsking, setIsAsking] = useState(false);
  const choose = (value: (typeof access)[number]) => {
    if (value === 'Private' && publicRead) setIsAsking(true);
    else setChosen(value);
  };
  const save = async (monthlyLimitBytes: number | null | undefined) => {
    const problem = await send({
      publicRead: monthlyLimitBytes === undefined ? null : { monthlyLimitBytes },
    });
    if (problem !== undefined) return problem;
    setChosen(undefined);
    setIsAsking(false);
    return undefined;
  };
  const value = chosen ?? now;
  return (
    <Card title="Public access">
      <Choice name="access" label="Access" values={access} value={value} onChoose={choose} />
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
          save={save}
        />
      )}
      {isAsking && (
        <Confirm
          title="Make it private?"
          action="Make private"
          keep="Keep public"
          run={() => save(undefined)}
          onClose={() => setIsAsking(false)}
        >
          <p>Downloads without a token fail within 30 minutes.</p>
        </Confirm>
      )}
    </Card>
  );
}

function GitHost({ repo, send }: { repo: RepoBody; send: Send }) {
  const { gitHost } = repo;
  const [isOpen, setIsOpen] = useState(false);
  const [host, setHost] = useState('github');
  const [name, setName] = useState('');
  const close = () => setIsOpen(false);
  const set = async (value: object | null) => {
    const problem = await send({ gitHost: value });
    if (problem === undefined) close();
    return problem;
  };
  return (
    <Card title="Git host">
      <p>
        {gitHost
          ? `Linked to ${gitHost.repo} on ${gitHost.host}: its users log in with their tokens for it.`
          : 'Link a repository on GitHub, GitLab or Gitea: its users need no token from here.'}
      </p>
      <p class="under">
        <button type="button" onClick={() => setIsOpen(true)}>
          {gitHost ? 'Unlink…' : 'Link…'}
        </button>
      </p>
      {isOpen && gitHost && (
        <Confirm title="Unlink this repo?" action="Unlink" run={() => set(null)} onClose={close}>
          <p>Its users on {gitHost.host} lose access immediately. Tokens still work.</p>
        </Confirm>
      )}
      {isOpen && !gitHost && (
        <FormDialog
          title="Link a repository"
          action="Link"
          run={() => set({ host: host.trim(), repo: name.trim() })}
          onClose={close}
        >
          <TextField label="Git host" value={host} onType={setHost} note="Its id in the server's settings." />
          <TextField label="Repository" placeholder="owner/name" value={name} onType={setName} isFirst />
        </FormDialog>
      )}
    </Card>
  );
}
