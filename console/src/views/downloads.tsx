import { useEffect, useState } from 'preact/hooks';
import type { DownloadPageBody } from '../../../lambda/api/contract/downloads.ts';
import type { TokenBody } from '../../../lambda/api/contract/tokens.ts';
import { ask, askPages, type Listed } from '../api.ts';
import {
  type Download,
  type DownloadMonth,
  expectedBytes,
  largestBy,
  lastDays,
  type Sum,
  sumsByDay,
} from '../download-figures.ts';
import { Bar, Card, Choice, CsvButton, Cut, percent, Sign } from '../parts.tsx';
import { bytesText, dayText, monthText, percentText, scanText, tokenName } from '../text.ts';
import type { ViewProps } from '../view-props.ts';
import { FoldedTable } from './folded-table.tsx';

const shownDays = 30;
const pagesMax = 30;
const tokenPagesMax = 10;
const rowsMax = 5;

/** What was offered in the last days, as it was when the page was opened. undefined: not known. */
function useDownloads(tenant: string) {
  const [known, setKnown] = useState<Listed<Download> & { month: DownloadMonth }>();
  useEffect(() => {
    const path = `/v1/tenants/${tenant}/downloads`;
    const [from] = lastDays(shownDays, Date.now());
    const read = async () => {
      const [listed, first] = await Promise.all([
        askPages<Download, 'downloads'>(`${path}?from=${from}`, 'downloads', { pagesMax }),
        ask<DownloadPageBody>(`${path}?limit=1`),
      ]);
      if (listed && first.kind === 'ok') setKnown({ ...listed, month: first.body.month });
    };
    void read();
  }, [tenant]);
  return known;
}

/** The month against its limit; and what was offered in the last days. */
export function Downloads({ tenant, session, mayManage, nowMs }: ViewProps) {
  const known = useDownloads(tenant);
  if (!known || (known.items.length === 0 && known.month.limitBytes === null)) return null;
  const { items: downloads, month } = known;
  const days = lastDays(shownDays, nowMs);
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
        {isPublic && (
          <>
            <Sign kind="fill">With a token</Sign>
            <Sign kind="pale">Public</Sign>
          </>
        )}
        {shareBytes !== undefined && <Sign kind="even">Even share</Sign>}
      </p>
      <Sums tenant={tenant} downloads={downloads} byDay={byDay} session={session} mayManage={mayManage} />
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
      <p class="note ends">
        <span>{dayText(sums[0]?.key ?? '').slice(0, -5)}</span>
        <span>Today</span>
      </p>
    </div>
  );
}

const groupings = ['repo', 'token', 'day'] as const;
type Grouping = (typeof groupings)[number];

/** The same as a table: by repo, by token or by day. */
function Sums(props: {
  tenant: string;
  downloads: readonly Download[];
  byDay: readonly Sum[];
  session: ViewProps['session'];
  mayManage: boolean;
}) {
  const { tenant, downloads, byDay, session, mayManage } = props;
  const [by, setBy] = useState<Grouping>('repo');
  const [tokens, setTokens] = useState<readonly TokenBody[]>();
  const isNamed = by === 'token' && mayManage;
  useEffect(() => {
    if (!isNamed || tokens) return;
    void askPages<TokenBody, 'tokens'>(`/v1/tenants/${tenant}/tokens`, 'tokens', {
      pagesMax: tokenPagesMax,
    }).then((found) => setTokens(found?.items));
  }, [isNamed]);
  const nameOf = (key: string) => {
    if (by === 'day') return dayText(key);
    if (by === 'repo') return key;
    if (key === 'public') return 'anonymous (public repos)';
    return tokenName([...(tokens ?? []), session].find(({ tokenId }) => tokenId === key) ?? nobody(key));
  };
  const sums = by === 'day' ? [...byDay].reverse() : largestBy(downloads, by === 'repo' ? 'repo' : 'tokenId');
  const total = byDay.reduce((sum, { bytes }) => sum + bytes, 0);
  const isCut = by !== 'day' && sums.length > rowsMax;
  return (
    <FoldedTable
      label={`Downloads by ${by}`}
      columns={by === 'day' ? ['Day', 'Issued', 'Share'] : [`Most by ${by}`, `${shownDays} days`, 'Share']}
      rows={() =>
        sums
          .slice(0, isCut ? rowsMax : undefined)
          .map(({ key, bytes }) => [nameOf(key), bytesText(bytes), percentText(bytes, total)])
      }
      above={
        <Choice
          name="downloads"
          label="Downloads by"
          values={groupings}
          value={by}
          textOf={(each) => `By ${each}`}
          onChoose={setBy}
        />
      }
      below={isCut && <p class="note under">And {scanText(sums.length - rowsMax)} more.</p>}
    />
  );
}

/** A token that is not known any more, or is not shown to whoever has signed in. */
const nobody = (tokenId: string) => ({ tokenId, label: null, user: null });
