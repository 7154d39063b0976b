import type { FunctionComponent } from 'preact';
import { formatAge } from '../../../cli/render.ts';
import type { SubscriptionBody } from '../../../lambda/contract.ts';
import { capitalized, formatAddress, isTabOf, repoAddress, repoTabs, tenantAddress } from '../address.ts';
import { serverUrl } from '../api.ts';
import { growthText } from '../figures.ts';
import { go } from '../navigation.ts';
import { Button, Card, Code, inOrder, Problem, Title } from '../parts.tsx';
import { change, useRead } from '../requests.ts';
import { bytesText, percentText, scanText } from '../text.ts';
import { Figure } from '../usage.tsx';
import type { RepoPills, RepoProps, ViewProps } from '../view-props.ts';
import { DeleteByName } from './delete-by-name.tsx';
import { useDialog } from './dialog.tsx';
import { LimitForm } from './limit-form.tsx';
import { ObjectTable } from './objects.tsx';
import { Pills } from './repo-pills.tsx';
import { cardsOf, partsByName, subjectParts, useGitHosts } from './subject-parts.ts';
import './repo.css';

const freshMs = 10_000;

const tabViews: Readonly<Record<string, FunctionComponent<RepoProps>>> = {
  overview: cardsOf('repo', { 10: Figures }),
  objects: (props) => (
    <section class="card" aria-label="Objects">
      <ObjectTable
        {...props}
        repos={[props.repo.repo]}
        objectCount={props.repo.objectCount ?? 0}
        scannedAt={props.repo.scannedAt ?? ''}
      />
    </section>
  ),
  settings: RepoSettings,
  ...partsByName('tabs'),
};

const pills: RepoPills = { 20: ({ deleting }) => deleting && 'being deleted' };

/** A repo: overview, objects, locks and settings, each with its own address. */
export function Repo(props: ViewProps) {
  const { tenant, address, body, mayManage } = props;
  const name = address.repo ?? '';
  const asked = { tenant, repo: name, key: body.usage?.scannedAt ?? '', againMs: () => freshMs };
  const { body: repo, refusal, read } = useRead('GET /v1/tenants/{tenant}/repos/{repo}', asked);
  const known = repo ?? body.repos.find((each) => each.repo === name);
  const kind = known?.kind;
  const tabs = repoTabs.filter((each) => isTabOf(each, kind) && (each !== 'settings' || mayManage));
  const tab = tabs.find((each) => each === address.tab) ?? 'overview';
  const { dialog, tell } = useDialog();
  const way = kind
    ? {
        title: 'Commands',
        text: (
          <Code
            name="the commands"
            text={['put', 'get']
              .map((act) => `lfs-quota files ${act} FILE --tenant ${tenant} --repo ${name}`)
              .join('\n')}
          />
        ),
      }
    : { title: 'Clone', text: <Clone tenant={tenant} name={name} /> };
  const Tab = tabViews[tab];
  const send: RepoProps['send'] = (body) =>
    change('PATCH /v1/tenants/{tenant}/repos/{repo}', { tenant, repo: name, body }, read);
  return (
    <main>
      <p class="note back">
        <a href={formatAddress(tenantAddress(tenant, 'repos'))}>Repos</a>
      </p>
      <Title
        address={address}
        note={known && <Pills repo={known} own={pills} isTitle />}
        action={<Button text={way.title} onPress={() => tell(way)} />}
      />
      <nav class="tabs" aria-label="Repo">
        {tabs.map((each) => (
          <a
            key={each}
            href={formatAddress(repoAddress(tenant, name, each))}
            {...(each === tab && { 'aria-current': 'page' as const })}
          >
            {capitalized(each)}
          </a>
        ))}
      </nav>
      <Problem text={refusal} />
      {repo && Tab && <Tab {...props} repo={repo} send={send} useGitHosts={useGitHosts} />}
      {dialog}
    </main>
  );
}

const hooks = subjectParts.flatMap(({ useRepoFigure }) => useRepoFigure ?? []);

/** What it stores of its limit, and what happened in the last days. */
function Figures(props: RepoProps) {
  const { repo, body, nowMs } = props;
  const { storedBytes, objectCount, limitBytes, scannedAt } = repo;
  const more = hooks.map((useRepoFigure) => useRepoFigure(props));
  if (storedBytes === null)
    return <p class="soft">{repo.uploading ? 'Uploads are in progress.' : 'Not scanned yet.'}</p>;
  const growth = growthText(repo, nowMs);
  const within = limitBytes === null ? withinTenant(storedBytes, body) : undefined;
  const entries = [
    ...(within?.entries ?? []),
    { name: 'Objects', value: scanText(objectCount) },
    { name: `Last 30 days${growth.since && ` (${growth.since})`}`, value: growth.text },
    ...more,
    { name: 'Updated', value: scannedAt === null ? '–' : formatAge(scannedAt, nowMs) },
  ];
  return (
    <Figure
      bytes={storedBytes}
      of={limitBytes === null ? (within?.of ?? '') : `of ${bytesText(limitBytes)}`}
      {...(limitBytes !== null && { parts: { stored: storedBytes, reserved: 0, limit: limitBytes } })}
      {...(within && { parts: within.parts, isPart: true })}
      entries={entries}
    />
  );
}

/** A repo without a limit of its own has a part of the tenant's, with the other repos. */
function withinTenant(stored: number, { tenant, usage, limitBytes }: SubscriptionBody) {
  const totalBytes = Math.max(stored, usage?.storedBytes ?? 0);
  if (totalBytes === 0) return undefined;
  const left = Math.max(0, (limitBytes ?? 0) - totalBytes - (usage?.reservedBytes ?? 0));
  return {
    of: `${percentText(stored, totalBytes)} of what ${tenant} stores`,
    parts: { stored, reserved: totalBytes - stored, limit: Math.max(limitBytes ?? 0, totalBytes) },
    entries: [
      { kind: 'pale', name: 'Other repos', value: bytesText(totalBytes - stored) },
      ...(limitBytes === null ? [] : [{ kind: 'track', name: `Free in ${tenant}`, value: bytesText(left) }]),
    ],
  };
}

/** The lines for teammates who join later, and for who sets the repo up. */
function Clone({ tenant, name }: { tenant: string; name: string }) {
  return (
    <>
      <p>If .lfsconfig is in the repository, teammates need two lines:</p>
      <Code name="the clone" text={'git lfs install\ngit clone YOUR-REPOSITORY-URL'} />
      <p>When Git asks for a password, paste your token. If .lfsconfig is missing, commit it once:</p>
      <Code
        name="the configuration"
        text={`git config -f .lfsconfig lfs.url ${serverUrl}/${tenant}/${name}/info/lfs\ngit add .lfsconfig`}
      />
    </>
  );
}

function RepoSettings(props: RepoProps) {
  return props.repo.kind ? <Own {...props} /> : <All {...props} />;
}

const cards = { 10: Limit, 90: Delete };
const Own = inOrder<RepoProps>(cards);
/** Those of the subjects are of Git LFS. */
const All = cardsOf('repoSettings', cards);

function Limit({ tenant, body, repo, send }: RepoProps) {
  return (
    <Card title="Storage limit">
      <LimitForm
        label={`Limit of ${repo.repo}`}
        of={repo.repo}
        limitBytes={repo.limitBytes}
        usedBytes={repo.storedBytes ?? 0}
        used="in use"
        below="Uploads to it fail until you delete that much. Downloads still work."
        save={(limitBytes) => send({ limitBytes })}
      />
      {body.limitBytes !== null && (
        <p class="note">
          Uploads must also fit the {bytesText(body.limitBytes)} of {tenant}.
        </p>
      )}
    </Card>
  );
}

function Delete({ tenant, repo: { repo }, nowMs }: RepoProps) {
  return (
    <DeleteByName
      title="Delete this repo"
      name={repo}
      request={(asked, then) =>
        change('DELETE /v1/tenants/{tenant}/repos/{repo}', { tenant, repo, ...asked }, then)
      }
      note="Uploads and downloads fail immediately. You can't undo this."
      nowMs={nowMs}
      onDeleted={() => go(tenantAddress(tenant, 'repos'))}
    />
  );
}
