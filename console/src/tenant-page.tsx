import { useState } from 'preact/hooks';
import { formatAge, formatObjects, formatUntil } from '../../cli/render.ts';
import type { ReservationBody } from '../../lambda/api/contract/reservations.ts';
import type { SessionBody } from '../../lambda/api/contract/sessions.ts';
import type { SubscriptionBody } from '../../lambda/api/contract/tenants.ts';
import type { TokenBody } from '../../lambda/api/contract/tokens.ts';
import { repoPattern } from '../../lambda/rules/names.ts';
import { type Listed, useNow } from './api.ts';
import { History } from './chart.tsx';
import { Downloads } from './downloads.tsx';
import { reservationText, type ScanProgress, sortReservations, stateOf } from './figures.ts';
import { Objects } from './objects.tsx';
import { Card, Code, CsvButton, Cut } from './parts.tsx';
import { Repos } from './repos.tsx';
import { type TenantView, useScanProgress, useTenant } from './subscription.ts';
import { bytesText, dayText, timeText } from './text.ts';
import { Tokens } from './tokens.tsx';
import { Limit, scanText, UsageFigures } from './usage.tsx';

/** What is new or changed of a kind of files becomes objects. */
const firstPush = [
  'git lfs install',
  'git lfs track "*.psd"',
  'git add .',
  'git commit -m "Large files to git-lfs"',
  'git push origin HEAD',
].join('\n');

/** How a repository gets to store its objects here, in three steps. */
function Connect({ tenant, isFirst }: { tenant: string; isFirst: boolean }) {
  const [name, setName] = useState('my-repo');
  const isName = repoPattern.test(name);
  const repo = isName ? name : 'my-repo';
  const config = `git config -f .lfsconfig lfs.url ${location.origin}/${tenant}/${repo}/info/lfs`;
  return (
    <Card
      title={isFirst ? 'Your first push' : 'Connect a repository'}
      {...(isFirst && { note: 'three steps; this page shows the result' })}
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
          <p>In the Git repository, once for everyone who clones it</p>
          <Code name="the address of the repo" text={config} />
        </li>
        <li>
          <p>Push; where git asks for a password, paste a token</p>
          <Code name="a first push" text={firstPush} />
        </li>
      </ol>
      {isFirst && (
        <p class="waiting soft">
          <span aria-hidden="true" /> Waiting for your first push…
        </p>
      )}
    </Card>
  );
}

/** Leads to what can be deleted. */
function toLargest() {
  const target = document.getElementById('largest');
  target?.scrollIntoView({ block: 'start' });
  target?.querySelector('h2')?.focus();
}

/** What is to be done about the limit, if anything. */
function LimitNotice({ body }: { body: SubscriptionBody }) {
  const { usage, limitBytes, forecast } = body;
  const state = stateOf(body);
  if (state === 'fine' || usage === null || limitBytes === null) return null;
  const freeBytes = limitBytes - usage.storedBytes - usage.reservedBytes;
  const full = forecast.fullOn === null ? '' : ` Full on ${dayText(forecast.fullOn)} at this pace.`;
  return (
    <div class={`notice ${state}`} role="status">
      <p>
        {state === 'over' ? (
          <>
            <strong>Storage limit reached. Pushes fail.</strong>{' '}
            {freeBytes < 0 ? `Delete ${bytesText(-freeBytes)} or more` : 'Free up space'}, or get a higher
            limit. Downloads still work.
          </>
        ) : (
          <>
            <strong>{bytesText(freeBytes)} are left.</strong>
            {full} Pushes fail then; downloads still work.
          </>
        )}
      </p>
      <button type="button" onClick={toLargest}>
        What to delete
      </button>
    </div>
  );
}

/** That there was no answer. What is shown stays. */
function LostNotice({ view, onAsk }: { view: TenantView; onAsk: () => void }) {
  const nowMs = useNow(1000);
  const { againAtMs } = view;
  if (againAtMs === undefined) return null;
  return (
    <div class="notice lost">
      <p>
        <strong role="status">Can't reach the server.</strong> {view.body && 'Showing older data. '}
        <span>Retrying {formatUntil(new Date(Math.max(againAtMs, nowMs)).toISOString(), nowMs)}.</span>
      </p>
      <button type="button" onClick={onAsk}>
        Retry now
      </button>
    </div>
  );
}

const rowsMax = 8;

/** What is promised to uploads under way, of which repo, and until when. */
function Reservations(props: {
  tenant: string;
  listed: Listed<ReservationBody>;
  reservedBytes: number;
  nowMs: number;
}) {
  const { tenant, listed, reservedBytes, nowMs } = props;
  const sorted = sortReservations(listed.items);
  const more = sorted.length - rowsMax;
  return (
    <Card
      title="Reserved"
      note={<span role="status">{bytesText(reservedBytes)} uploading</span>}
      action={
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
      }
    >
      <table>
        <thead>
          <tr>
            <th scope="col">Repo</th>
            <th scope="col" class="middle">
              Upload
            </th>
            <th scope="col" class="right wide">
              Objects
            </th>
            <th scope="col" class="right">
              Size
            </th>
            <th scope="col" class="right">
              Until
            </th>
          </tr>
        </thead>
        <tbody>
          {sorted.slice(0, rowsMax).map((reservation) => (
            <tr key={reservation.id}>
              <th scope="row">{reservation.repo}</th>
              <td class="middle soft">{reservationText(reservation)}</td>
              <td class="right wide">{scanText(reservation.objectCount)}</td>
              <td class="right strong">{bytesText(reservation.bytes)}</td>
              <td class="right soft">{timeText(reservation.reservedUntil, nowMs)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="note under">
        {more > 0 && `And ${scanText(more)} more. `}
        Reserved for uploads in progress, until they finish or expire. You can't cancel them.
      </p>
      <Cut isCut={listed.isCut} count={sorted.length} />
    </Card>
  );
}

/** How much, of how much, how old is that, when is it full, what is to be done, which repo is it. */
export function TenantPage({ tenant, session }: { tenant: string; session: SessionBody }) {
  const view = useTenant(tenant);
  const nowMs = useNow(10_000);
  const { body, refusal } = view;
  const isScanning =
    view.scanningSinceMs !== undefined || (body !== undefined && (body.refreshing || body.usage === null));
  const progress = useScanProgress(tenant, isScanning);
  const mayManage = session.kind === 'operator' || session.scope === 'manage';
  return (
    <main>
      {session.kind === 'operator' && (
        <p class="back">
          <a href="#/">All tenants</a>
        </p>
      )}
      <div class="title">
        <h1>{tenant}</h1>
        {body?.plan && <span class="pill">{body.plan}</span>}
        <div class="end">
          {body && <Age body={body} isScanning={isScanning} progress={progress} nowMs={nowMs} />}
          {mayManage && (
            <button
              type="button"
              onClick={view.scanAgain}
              disabled={!body || view.scanningSinceMs !== undefined}
            >
              Scan now
            </button>
          )}
        </div>
      </div>
      <LostNotice view={view} onAsk={view.askNow} />
      {refusal !== undefined && (
        <p class="notice bad">{refusal} Check the URL, or sign in with another token.</p>
      )}
      {body ? (
        <Figures
          key={tenant}
          view={view}
          progress={progress}
          body={body}
          nowMs={nowMs}
          session={session}
          mayManage={mayManage}
        />
      ) : (
        refusal === undefined && <Loading />
      )}
    </main>
  );
}

function Figures(props: {
  view: TenantView & { askNow: () => void };
  progress: ScanProgress | undefined;
  body: SubscriptionBody;
  nowMs: number;
  session: SessionBody;
  mayManage: boolean;
}) {
  const { view, progress, body, nowMs, session, mayManage } = props;
  const { tenant, usage, repos } = body;
  const isEmpty = usage !== null && usage.objectCount === 0 && repos.length === 0;
  const objectCount = usage?.objectCount ?? 0;
  const [tokens, setTokens] = useState<readonly TokenBody[]>([]);
  return (
    <>
      <LimitNotice body={body} />
      <UsageFigures body={body} progress={progress} nowMs={nowMs} />
      {isEmpty && <Connect tenant={tenant} isFirst />}
      {!isEmpty && view.history && <History tenant={tenant} history={view.history} />}
      {usage && view.reservations && view.reservations.items.length > 0 && (
        <Reservations
          tenant={tenant}
          listed={view.reservations}
          reservedBytes={usage.reservedBytes}
          nowMs={nowMs}
        />
      )}
      {repos.length > 0 && <Repos body={body} isForSome={session.repos !== null} nowMs={nowMs} />}
      {view.downloads && view.downloads.items.length > 0 && (
        <Downloads tenant={tenant} listed={view.downloads} session={session} tokens={tokens} />
      )}
      <div class={mayManage && objectCount > 0 ? 'pair' : ''}>
        {objectCount > 0 && (
          <Objects
            tenant={tenant}
            objectCount={objectCount}
            scannedAt={usage?.scannedAt ?? ''}
            repos={session.repos}
            mayDelete={mayManage}
            nowMs={nowMs}
          />
        )}
        {mayManage && <Tokens tenant={tenant} session={session} nowMs={nowMs} onRead={setTokens} />}
      </div>
      {session.kind === 'operator' && (
        <Limit
          tenant={tenant}
          limitBytes={body.limitBytes}
          storedBytes={usage?.storedBytes ?? 0}
          onChanged={view.askNow}
        />
      )}
      {!isEmpty && <Connect tenant={tenant} isFirst={false} />}
    </>
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
      <progress aria-label="Scan" {...(progress && { value: progress.share, max: 1 })} />
    </p>
  );
}

/** The page's shape, of the same heights. */
function Loading() {
  return (
    <div class="loading" aria-busy="true">
      <p class="hidden" role="status">
        Loading
      </p>
      <div class="usage">
        <p class="figure">
          <span class="number">–</span>
        </p>
        <div class="bar">
          <svg aria-hidden="true">
            <rect class="track" width="100%" height="100%" />
          </svg>
        </div>
        <div class="legend" />
      </div>
      <div class="card tall" />
      <div class="card tall" />
    </div>
  );
}
