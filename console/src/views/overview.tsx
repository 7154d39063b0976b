import { formatAge, formatObjects } from '../../../cli/render.ts';
import type { SubscriptionBody } from '../../../lambda/contract.ts';
import type { ReservationBody } from '../../../lambda/frame/contract/reservations.ts';
import { formatAddress, tenantAddress } from '../address.ts';
import type { Listed } from '../api.ts';
import { progressOf, reservationText, type ScanProgress, sortRepos, sortReservations } from '../figures.ts';
import * as overviewParts from '../overview-parts.ts';
import { Button, Card, CsvButton, Cut, inOrder, Share, Title } from '../parts.tsx';
import { useList, useRead } from '../requests.ts';
import { bytesText, scanText, timeText } from '../text.ts';
import { UsageFigures } from '../usage.tsx';
import type { OverviewPart, ViewProps } from '../view-props.ts';
import { FirstPush } from './connect.tsx';
import { LimitNotice } from './limit-notice.tsx';
import { repoColumns } from './repo-columns.tsx';
import { Table } from './table.tsx';
import './overview.css';

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
