import { useState } from 'preact/hooks';
import type { SessionBody } from '../../../lambda/api/contract/sessions.ts';
import type { TokenBody } from '../../../lambda/api/contract/tokens.ts';
import type { Listed } from '../api.ts';
import { type Download, largestBy, lastDays, type Sum, sumsByDay } from '../figures.ts';
import { Card, Choice, CsvButton, Cut } from '../parts.tsx';
import { downloadDays } from '../subscription.ts';
import { bytesText, dayText, percentText, scanText, tokenName } from '../text.ts';

const rowsMax = 5;

const groupings = ['repo', 'token', 'day'] as const;
type Grouping = (typeof groupings)[number];

/** What was offered in the last days: on which, of which repos, and to whom. */
export function Downloads(props: {
  tenant: string;
  listed: Listed<Download>;
  session: SessionBody;
  /** Those that are known, by which the names of tokens are. */
  tokens: readonly TokenBody[];
}) {
  const { tenant, listed, session, tokens } = props;
  const downloads = listed.items;
  const [by, setBy] = useState<Grouping>('repo');
  const byDay = sumsByDay(downloads, lastDays(downloadDays, Date.now()));
  const total = byDay.reduce((sum, { bytes }) => sum + bytes, 0);
  const nameOf = (key: string) => {
    if (by === 'day') return dayText(key);
    if (by === 'repo') return key;
    if (key === 'public') return 'anonymous (public repos)';
    return tokenName([...tokens, session].find(({ tokenId }) => tokenId === key) ?? nobody(key));
  };
  const sums = by === 'day' ? [...byDay].reverse() : largestBy(downloads, by === 'repo' ? 'repo' : 'tokenId');
  return (
    <Card
      title="Downloads"
      note={`${bytesText(total)} offered in ${downloadDays} days`}
      action={
        <CsvButton
          name="downloads"
          tenant={tenant}
          rows={downloads}
          fields={['day', 'repo', 'tokenId', 'bytes', 'objects']}
        />
      }
    >
      <div class="halves">
        <Bars sums={byDay} />
        <div>
          <Choice
            name="downloads"
            label="Downloads by"
            values={groupings}
            value={by}
            textOf={(each) => `By ${each}`}
            onChoose={setBy}
          />
          <SumTable
            sums={by === 'day' ? sums : sums.slice(0, rowsMax)}
            total={total}
            by={by}
            nameOf={nameOf}
          />
          {by !== 'day' && sums.length > rowsMax && (
            <p class="note under">And {scanText(sums.length - rowsMax)} more.</p>
          )}
        </div>
      </div>
      <Cut isCut={listed.isCut} count={downloads.length} />
    </Card>
  );
}

/** A token that is not known any more, or is not shown to whoever has signed in. */
const nobody = (tokenId: string) => ({ tokenId, label: null, user: null });

function SumTable(props: {
  sums: readonly Sum[];
  total: number;
  by: Grouping;
  nameOf: (key: string) => string;
}) {
  const { sums, total, by, nameOf } = props;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard.
    <section class="scroll" tabIndex={0} aria-label={`Downloads by ${by}`}>
      <table>
        <thead>
          <tr>
            <th scope="col">{by === 'day' ? 'Day' : `Most by ${by}`}</th>
            <th scope="col" class="right">
              {by === 'day' ? 'Issued' : `${downloadDays} days`}
            </th>
            <th scope="col" class="right">
              Share
            </th>
          </tr>
        </thead>
        <tbody>
          {sums.map(({ key, bytes }) => (
            <tr key={key}>
              <th scope="row">{nameOf(key)}</th>
              <td class="right strong">{bytesText(bytes)}</td>
              <td class="right soft">{percentText(bytes, total)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Bars({ sums }: { sums: readonly Sum[] }) {
  const most = sums.reduce((best, sum) => (sum.bytes > best.bytes ? sum : best), { key: '', bytes: 0 });
  const width = 100 / sums.length;
  return (
    <div class="days">
      <p class="hidden">
        Highest on {dayText(most.key)}: {bytesText(most.bytes)}.
      </p>
      <svg aria-hidden="true">
        {sums.map(({ key, bytes }, index) => (
          <rect
            key={key}
            class="fill"
            x={`${(index * width).toFixed(2)}%`}
            y={`${(100 - (bytes / most.bytes) * 100).toFixed(2)}%`}
            width={`${(width * 0.82).toFixed(2)}%`}
            height={`${((bytes / most.bytes) * 100).toFixed(2)}%`}
          />
        ))}
      </svg>
      <p class="note ends">
        <span>{dayText(sums[0]?.key ?? '')}</span>
        <span>today</span>
      </p>
    </div>
  );
}
