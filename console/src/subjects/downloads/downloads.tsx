import { useState } from 'preact/hooks';
import { Bar, Card, Choice, CsvButton, Cut, percent, Sign } from '../../parts.tsx';
import { useList, useRead } from '../../requests.ts';
import { bytesText, dayText, lastDays, percentText, scanText, tokenName } from '../../text.ts';
import type { OverviewPart, ViewProps } from '../../view-props.ts';
import { AsTable } from '../../views/table.tsx';
import {
  type Download,
  type DownloadMonth,
  expectedBytes,
  largestBy,
  type Sum,
  sumsByDay,
} from './download-figures.ts';
import './downloads.css';

/** `2026-11` → `November`. */
const monthText = (month: string) =>
  new Intl.DateTimeFormat('en-GB', { month: 'long', timeZone: 'UTC' }).format(new Date(`${month}-01`));

const shownDays = 30;
const pagesMax = 30;
const tokenPagesMax = 10;
const rowsMax = 5;

/** The month against its limit; and what was offered in the last days. */
function Downloads(props: ViewProps) {
  const { tenant, nowMs } = props;
  const days = lastDays(shownDays, nowMs);
  const route = 'GET /v1/tenants/{tenant}/downloads';
  const { body: known } = useList(route, 'downloads', { tenant, query: { from: days[0] }, pagesMax });
  // Nothing waits for it.
  const { body: page } = useRead(route, { tenant, query: { limit: 1 }, isAside: true });
  if (!known || !page || (known.items.length === 0 && page.month.limitBytes === null)) return null;
  const { items: downloads } = known;
  const { month } = page;
  const byDay = sumsByDay(downloads, days);
  const publicByDay = sumsByDay(
    downloads.filter(({ tokenId }) => tokenId === 'public'),
    days,
  );
  const isPublic = publicByDay.some(({ bytes }) => bytes > 0);
  const shareBytes = month.limitBytes === null ? undefined : evenShare(month.limitBytes, month.resetsAt);
  return (
    <Card
      title="Downloads"
      action={
        <CsvButton
          name="downloads"
          tenant={tenant}
          rows={downloads}
          fields={['day', 'repo', 'tokenId', 'bytes', 'objects']}
        />
      }
    >
      <Month month={month} expected={expectedBytes(month, byDay, nowMs)} />
      {shareBytes !== undefined && (
        <p class="soft">
          The line is an even share of the limit, {bytesText(shareBytes)} a day. It resets on{' '}
          {dayText(month.resetsAt.slice(0, 10)).slice(0, -5)} (UTC).
        </p>
      )}
      <Bars sums={byDay} publicSums={publicByDay} shareBytes={shareBytes} />
      <p class="key note">
        {isPublic && <Sign kind="fill">With a token</Sign>}
        {isPublic && <Sign kind="pale">Public</Sign>}
        {shareBytes !== undefined && <Sign kind="even">Even share</Sign>}
      </p>
      <Sums {...props} downloads={downloads} byDay={byDay} />
      <Cut isCut={known.isCut} count={downloads.length} />
    </Card>
  );
}

/** Of each day of the month that ends then. */
const evenShare = (limitBytes: number, resetsAt: string) =>
  Math.round(limitBytes / new Date(Date.parse(resetsAt) - 1).getUTCDate());

function Month({ month, expected }: { month: DownloadMonth; expected: number }) {
  const { bytes, limitBytes } = month;
  const name = monthText(month.month);
  const text = limitBytes === null ? `in ${name}` : `of ${bytesText(limitBytes)} in ${name}`;
  return (
    <>
      <p>
        <strong>{bytesText(bytes)}</strong> <span class="soft">{text}</span>
        <span class="soft">, {bytesText(expected)} expected</span>
      </p>
      {limitBytes !== null && (
        <Bar
          isSmall
          parts={{
            stored: bytes,
            reserved: Math.max(0, expected - bytes),
            limit: Math.max(limitBytes, expected),
          }}
          label={percentText(bytes, limitBytes)}
        />
      )}
    </>
  );
}

function Bars(props: { sums: readonly Sum[]; publicSums: readonly Sum[]; shareBytes: number | undefined }) {
  const { sums, publicSums, shareBytes = 0 } = props;
  const most = Math.max(shareBytes, 1, ...sums.map(({ bytes }) => bytes));
  const width = 1 / sums.length;
  const even = percent(1 - shareBytes / most);
  const rect = (kind: string, index: number, bytes: number) => (
    <rect
      class={kind}
      x={percent(index * width)}
      y={percent(1 - bytes / most)}
      width={percent(width * 0.82)}
      height={percent(bytes / most)}
    />
  );
  return (
    <div class="days">
      <svg aria-hidden="true">
        {sums.map(({ key, bytes }, index) => (
          <g key={key}>
            {rect('fill', index, bytes)}
            {rect('pale', index, publicSums[index]?.bytes ?? 0)}
          </g>
        ))}
        {shareBytes > 0 && <line class="even" x2="100%" y1={even} y2={even} />}
      </svg>
      <p class="row apart note">
        <span>{dayText(sums[0]?.key ?? '').slice(0, -5)}</span>
        <span>Today</span>
      </p>
    </div>
  );
}

const groupings = ['repo', 'token', 'day'] as const;
type Grouping = (typeof groupings)[number];

/** The same as a table: by repo, by token or by day. */
function Sums(props: ViewProps & { downloads: readonly Download[]; byDay: readonly Sum[] }) {
  const { tenant, downloads, byDay, session, mayManage } = props;
  const [by, setBy] = useState<Grouping>('repo');
  const isNamed = by === 'token' && mayManage;
  const { body: tokens } = useList(isNamed ? 'GET /v1/tenants/{tenant}/tokens' : undefined, 'tokens', {
    tenant,
    pagesMax: tokenPagesMax,
  });
  const nameOf = (key: string) => {
    if (by === 'day') return dayText(key);
    if (by === 'repo') return key;
    if (key === 'public') return 'anonymous (public repos)';
    return tokenName(
      [...(tokens?.items ?? []), session].find(({ tokenId }) => tokenId === key) ?? nobody(key),
    );
  };
  const isByDay = by === 'day';
  const sums = isByDay ? [...byDay].reverse() : largestBy(downloads, by === 'repo' ? 'repo' : 'tokenId');
  const total = byDay.reduce((sum, { bytes }) => sum + bytes, 0);
  return (
    <AsTable
      label={`Downloads by ${by}`}
      columns={[
        { name: isByDay ? 'Day' : `Most by ${by}`, of: ({ key }) => nameOf(key) },
        {
          name: isByDay ? 'Issued' : `${shownDays} days`,
          kind: 'right strong',
          of: ({ bytes }) => bytesText(bytes),
        },
        { name: 'Share', kind: 'right soft', of: ({ bytes }) => percentText(bytes, total) },
      ]}
      rows={isByDay ? sums : sums.slice(0, rowsMax)}
      keyOf={({ key }) => key}
      below={
        !isByDay &&
        sums.length > rowsMax && <p class="note under">And {scanText(sums.length - rowsMax)} more.</p>
      }
    >
      <Choice
        label="Downloads by"
        values={groupings}
        value={by}
        textOf={(each) => `By ${each}`}
        onChoose={setBy}
      />
    </AsTable>
  );
}

/** A token that is not known any more, or is not shown to whoever has signed in. */
const nobody = (tokenId: string) => ({ tokenId, label: null, user: null });

export const downloads: OverviewPart = {
  repoPills: { 10: ({ publicRead }, isTitle) => (publicRead ? 'public' : isTitle && 'private') },
  cards: { 30: ({ isEmpty, ...props }) => (isEmpty ? null : <Downloads {...props} />) },
};
