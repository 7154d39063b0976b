import { useState } from 'preact/hooks';
import { formatAge, formatObjects } from '../../../cli/render.ts';
import type { ReservationBody } from '../../../lambda/api/contract/reservations.ts';
import type { SubscriptionBody } from '../../../lambda/api/contract/tenants.ts';
import { repoPattern } from '../../../lambda/rules/names.ts';
import { formatAddress, tenantAddress } from '../address.ts';
import type { Listed } from '../api.ts';
import { reservationText, type ScanProgress, sortReservations, stateOf } from '../figures.ts';
import { Card, Code, CsvButton, Cut, Title } from '../parts.tsx';
import { useScanProgress } from '../subscription.ts';
import { bytesText, dayText, scanText, timeText } from '../text.ts';
import { UsageFigures } from '../usage.tsx';
import type { ViewProps } from '../view-props.ts';
import { History } from './chart.tsx';
import { Downloads } from './downloads.tsx';

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
      <a href={formatAddress(tenantAddress(body.tenant, 'objects'))}>What to delete</a>
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
export function Overview({ tenant, session, address, live, body, mayManage, nowMs }: ViewProps) {
  const { usage, repos } = body;
  const isScanning = live.scanningSinceMs !== undefined || body.refreshing || usage === null;
  const progress = useScanProgress(tenant, isScanning);
  const isEmpty = usage !== null && usage.objectCount === 0 && repos.length === 0;
  return (
    <main>
      <Title
        address={address}
        note={<Age body={body} isScanning={isScanning} progress={progress} nowMs={nowMs} />}
        {...(mayManage && {
          action: (
            <button type="button" onClick={live.scanAgain} disabled={live.scanningSinceMs !== undefined}>
              Scan now
            </button>
          ),
        })}
      />
      <LimitNotice body={body} />
      <UsageFigures body={body} progress={progress} nowMs={nowMs} />
      {isEmpty && <Connect tenant={tenant} isFirst />}
      {!isEmpty && live.history && <History tenant={tenant} history={live.history} />}
      {usage && live.reservations && live.reservations.items.length > 0 && (
        <Reservations
          tenant={tenant}
          listed={live.reservations}
          reservedBytes={usage.reservedBytes}
          nowMs={nowMs}
        />
      )}
      {live.downloads && live.downloads.items.length > 0 && (
        <Downloads tenant={tenant} listed={live.downloads} session={session} tokens={[]} />
      )}
      {!isEmpty && <Connect tenant={tenant} isFirst={false} />}
    </main>
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
