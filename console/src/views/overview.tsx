import { useState } from 'preact/hooks';
import { formatAge, formatCount, formatObjects } from '../../../cli/render.ts';
import type { SubscriptionBody } from '../../../lambda/contract.ts';
import { repoPattern } from '../../../lambda/core/rules/names.ts';
import type { ReservationBody } from '../../../lambda/frame/contract/reservations.ts';
import { formatAddress, repoAddress, tenantAddress } from '../address.ts';
import { type Listed, serverUrl } from '../api.ts';
import { progressOf, reservationText, type ScanProgress, sortRepos, sortReservations } from '../figures.ts';
import { storeLines, trackLines, urlLine } from '../git-lines.ts';
import { noticeOf, type Refusal } from '../notices.ts';
import * as overviewParts from '../overview-parts.ts';
import { Button, Card, Choice, Code, CsvButton, Cut, inOrder, Share, Title } from '../parts.tsx';
import { useList, useRead } from '../requests.ts';
import { bytesText, dayText, scanText, timeText } from '../text.ts';
import { UsageFigures } from '../usage.tsx';
import type { OverviewPart, ViewProps } from '../view-props.ts';
import { repoColumns } from './repo-columns.tsx';
import { Line, Table } from './table.tsx';
import './overview.css';
import './connect.css';

const Cards = inOrder(
  { 20: Largest },
  ...Object.values<OverviewPart>(overviewParts).map(({ cards }) => cards),
);

/** How much, of how much, how old is that, when is it full, what is to be done, which repo is it. */
export function Overview(props: ViewProps) {
  const { tenant, address, live, body, mayManage, nowMs } = props;
  const { usage, repos } = body;
  const isScanning = live.scanningSinceMs !== undefined || body.refreshing || usage === null;
  const progress = useScanProgress(tenant, isScanning);
  const uploads = useUploads(body);
  const isEmpty = usage !== null && usage.objectCount === 0 && repos.length === 0;
  return (
    <main>
      <Title
        address={address}
        note={<Age body={body} isScanning={isScanning} progress={progress} nowMs={nowMs} />}
        {...(mayManage && {
          action: (
            <Button
              text="Scan now"
              isDisabled={live.scanningSinceMs !== undefined}
              onPress={live.scanAgain}
            />
          ),
        })}
      />
      {body.suspended && (
        <div class="notice" role="status">
          <p class="cut">
            <strong>{body.suspended === 'all' ? 'Suspended' : 'Uploads are suspended'}.</strong>{' '}
            {body.suspendedMessage ?? 'Ask the operator of this server.'}
          </p>
        </div>
      )}
      <LimitNotice {...props} />
      <UsageFigures body={body} progress={progress} nowMs={nowMs} />
      {usage !== null && usage.reservedBytes > 0 && (
        <Uploads tenant={tenant} listed={uploads} nowMs={nowMs} />
      )}
      {isEmpty && <FirstPush tenant={tenant} mayManage={mayManage} />}
      <Cards {...props} isEmpty={isEmpty} />
    </main>
  );
}

const largestMax = 5;

/** The largest repos, of what the tenant stores in all. */
function Largest({ tenant, body: { usage, repos }, nowMs }: ViewProps) {
  if (!usage || repos.length === 0) return null;
  const totalBytes = usage.storedBytes;
  const { repo, stored, bar, share, growth } = repoColumns({ tenant, totalBytes, nowMs });
  const largest = sortRepos(repos, { column: 'storedBytes', isDown: true }).slice(0, largestMax);
  return (
    <Card
      title="Largest repos"
      action={
        <a class="note" href={formatAddress(tenantAddress(tenant, 'repos'))}>
          All {scanText(repos.length)}
        </a>
      }
    >
      <Table
        kind="repos"
        columns={[repo, stored, bar, share, growth]}
        rows={largest}
        keyOf={(body) => body.repo}
      />
    </Card>
  );
}

const scanningMs = 2_000;

/** How far the count is while one is under way. It is asked for on its own: the figures may take 20 s to be answered. */
function useScanProgress(tenant: string, isScanning: boolean): ScanProgress | undefined {
  const route = isScanning ? 'GET /v1/tenants/{tenant}/scans' : undefined;
  const { body } = useRead(route, { tenant, isAside: true, againMs: () => scanningMs });
  return body && progressOf(body.scans);
}

const pagesMax = 3;

/** Uploads in progress, if the figures tell of some. They change the figures, so these are asked for with them. */
function useUploads({ tenant, usage }: SubscriptionBody): Listed<ReservationBody> | undefined {
  const isAny = usage !== null && usage.reservedBytes > 0;
  const route = isAny ? 'GET /v1/tenants/{tenant}/reservations' : undefined;
  const key = `${usage?.reservedBytes} ${usage?.scannedAt}`;
  return useList(route, 'reservations', { tenant, pagesMax, key }).body;
}

const rowsMax = 8;

/** What is promised to uploads under way, of which repo, and until when. */
function Uploads(props: {
  tenant: string /** undefined: not known yet. */;
  listed: Listed<ReservationBody> | undefined;
  nowMs: number;
}) {
  const { tenant, listed, nowMs } = props;
  // Of the same height, so that nothing moves.
  if (!listed) return <p class="soft uploads">Uploads in progress…</p>;
  const sorted = sortReservations(listed.items);
  const more = sorted.length - rowsMax;
  const open = sorted.filter(({ arrived }) => !arrived).length;
  return (
    <details class="uploads">
      <summary>
        {scanText(open)} {open === 1 ? 'upload' : 'uploads'} in progress
      </summary>
      <div class="head">
        <p class="note">Reserved until they finish or expire.</p>
        <CsvButton
          name="reservations"
          tenant={tenant}
          rows={sorted}
          fields={[
            'repo',
            'state',
            'arrived',
            'objectCount',
            'bytes',
            'createdAt',
            'expiresAt',
            'reservedUntil',
          ]}
        />
      </div>
      <Table
        columns={[
          { name: 'Repo', of: ({ repo }) => repo },
          { name: 'Upload', kind: 'middle soft', of: reservationText },
          { name: 'Objects', kind: 'right wide', of: ({ objectCount }) => scanText(objectCount) },
          { name: 'Size', kind: 'right strong', of: ({ bytes }) => bytesText(bytes) },
          { name: 'Until', kind: 'right soft', of: ({ reservedUntil }) => timeText(reservedUntil, nowMs) },
        ]}
        rows={sorted.slice(0, rowsMax)}
        keyOf={({ id }) => id}
      />
      <p class="note under">{more > 0 && `And ${scanText(more)} more.`}</p>
      <Cut isCut={listed.isCut} count={sorted.length} />
    </details>
  );
}

/** How old the figures are and where they come from; or how far a count is. */
function Age(props: {
  body: SubscriptionBody;
  isScanning: boolean;
  progress: ScanProgress | undefined;
  nowMs: number;
}) {
  const { body, isScanning, progress, nowMs } = props;
  if (!isScanning) {
    const { usage } = body;
    return (
      usage && <p class="note">Updated {formatAge(usage.scannedAt, nowMs)}, from the bucket's own listing</p>
    );
  }
  return (
    <p class="note counting">
      <span>
        <span role="status">{progress?.isPaused ? 'Scan paused' : 'Scanning'}</span>
        {progress
          ? ` ${progress.what}: ${(progress.share * 100).toFixed(1)}\u00a0%, ${formatObjects(progress.objectCount)} so far`
          : '…'}
      </span>
      <progress class="hidden" aria-label="Scan" value={progress?.share} />
      <Share of={1} bytes={progress?.share ?? 0} />
    </p>
  );
}

/** What is to be done about the limit, if anything. */
function LimitNotice({ body, session, mayManage, nowMs }: ViewProps) {
  const notice = noticeOf(body, nowMs);
  if (!notice) return null;
  const isFull = notice.kind === 'near' && notice.freeBytes === 0;
  const { tenant } = body;
  const { limitContactUrl } = session;
  return (
    <div class={`notice ${isFull ? 'over' : notice.kind}`} role="status">
      {notice.kind === 'rejected' && <Rejected tenant={tenant} refusal={notice.refusal} nowMs={nowMs} />}
      {notice.kind === 'near' && (
        <p>
          <strong>{isFull ? 'No space left.' : `${bytesText(notice.freeBytes)} left.`}</strong>{' '}
          {notice.freeBytes > 0 &&
            notice.fullOn !== null &&
            `At this pace, it's full on ${dayText(notice.fullOn)}. `}
          {isFull ? 'Uploads are rejected' : 'Then uploads are rejected'}; downloads still work.
        </p>
      )}
      {notice.kind === 'over' && (
        <p>
          <strong>Uploads are rejected.</strong> {tenant} uses {bytesText(notice.overBytes)} more than its
          limit of {bytesText(notice.limitBytes)}. Downloads still work.
        </p>
      )}
      <p class="row actions">
        {session.kind === 'operator' ? (
          <a href={formatAddress(tenantAddress(tenant, 'settings'))}>Raise the limit</a>
        ) : (
          limitContactUrl !== null && <a href={limitContactUrl}>Ask for more space</a>
        )}
        {mayManage ? (
          <a href={formatAddress(tenantAddress(tenant, 'objects'))}>Find what to delete</a>
        ) : (
          limitContactUrl === null && 'Ask your admin for more space.'
        )}
      </p>
    </div>
  );
}

/** With the number that is in Git's message. */
function Rejected({ tenant, refusal, nowMs }: { tenant: string; refusal: Refusal; nowMs: number }) {
  const { at, repo, user, files, atLeast, bytes, shortBytes, limit } = refusal;
  const least = atLeast ? 'at least ' : '';
  return (
    <div>
      <p>
        <strong>A push was rejected today at {timeText(at, nowMs)}.</strong> It needed {least}
        {bytesText(shortBytes)} more than {limit === 'repo' ? "the repo's limit" : 'was free'}: {least}
        {formatCount(files)} {files === 1 ? 'file' : 'files'}, {bytesText(bytes)}, to{' '}
        {repo ? <a href={formatAddress(repoAddress(tenant, repo))}>{repo}</a> : tenant}
        {user !== null && ` by ${user}`}.
      </p>
      <p>Nothing was lost: push again when there's space.</p>
    </div>
  );
}

const ways = ['git', 'cli'] as const;

/** How a repository gets to store its objects here, in three steps; and what comes next. */
function FirstPush({ tenant, mayManage }: { tenant: string; mayManage: boolean }) {
  const [name, setName] = useState('my-repo');
  const [way, setWay] = useState<(typeof ways)[number]>('git');
  const isName = repoPattern.test(name);
  const repo = isName ? name : 'my-repo';
  const line = way === 'git' ? urlLine(serverUrl, tenant, repo) : `lfs-quota connect ${tenant} ${repo}`;
  const access = formatAddress(tenantAddress(tenant, 'access'));
  return (
    <>
      <Card
        title="Connect a repository"
        note="about a minute"
        action={
          <Choice
            label="Program"
            values={ways}
            value={way}
            textOf={(each) => (each === 'git' ? 'Plain git' : 'lfs-quota CLI')}
            onChoose={setWay}
          />
        }
      >
        <ol class="steps">
          <li>
            <label for="repo-name">Repo name</label>
            <input
              id="repo-name"
              type="text"
              spellcheck={false}
              autocomplete="off"
              value={name}
              aria-invalid={!isName}
              aria-describedby="repo-rule"
              onInput={({ currentTarget }) => setName(currentTarget.value)}
            />
            <p class="note" id="repo-rule">
              {isName ? '' : 'Letters, digits, dots, hyphens and underscores, without .git at the end.'}
            </p>
          </li>
          <li>
            <p>In your Git repository, once for everyone who clones it</p>
            <Code name="the address of the repo" text={line} />
          </li>
          <li>
            <p>Pick the files, commit and push</p>
            <Code
              name="a first push"
              text={`${way === 'git' ? storeLines(location.origin) : 'git lfs install'}\n${trackLines}`}
            />
            {way === 'git' && (
              <p class="note">
                When Git asks for {location.host}, enter any name, and paste{' '}
                {mayManage ? <a href={access}>a token</a> : 'your token'} as password.
              </p>
            )}
          </li>
        </ol>
        <p class="waiting soft">
          <i class="light" aria-hidden="true" /> Waiting for the first push. This page updates automatically.
        </p>
      </Card>
      {mayManage && (
        <Card title="Next steps">
          <ul>
            <Step href={access} name="Invite your team" note="A link for one user." action="Invite" />
            <Step
              href={access}
              name="Let CI pull without a secret"
              note="A rule for GitHub Actions or GitLab, and a workflow to copy."
              action="Add a rule"
            />
            <Step
              href={formatAddress(tenantAddress(tenant, 'settings'))}
              name="Get notified before it's full"
              note="At 80%, at 90%, and when a push is rejected."
              action="Set up"
            />
          </ul>
        </Card>
      )}
    </>
  );
}

function Step(props: { href: string; name: string; note: string; action: string }) {
  const { href, name, note, action } = props;
  return (
    <li>
      <Line name={name} note={note}>
        <a class="button" href={href} aria-label={`${action}: ${name}`}>
          {action}
        </a>
      </Line>
    </li>
  );
}
