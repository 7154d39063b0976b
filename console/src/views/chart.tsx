import { useState } from 'preact/hooks';
import { formatObjects } from '../../../cli/render.ts';
import type { HistoryBody } from '../../../lambda/api/contract/history.ts';
import { dayTicks, ticksOf, topOf } from '../figures.ts';
import { Card, Choice, CsvButton } from '../parts.tsx';
import { bytesText, dayText } from '../text.ts';

type Day = HistoryBody['days'][number];

const ranges = [30, 90, 400] as const;

/** What was stored on each day, with the limit, and one day to be read. */
export function History({ tenant, history }: { tenant: string; history: HistoryBody }) {
  const [range, setRange] = useState<number>(
    history.days.length > 90 ? 400 : history.days.length > 30 ? 90 : 30,
  );
  const [at, setAt] = useState<number>();
  const days = history.days.slice(-range);
  if (days.length < 2)
    return (
      <Card title="Stored over time">
        <p class="soft">Each daily scan adds a point here. There aren't enough yet.</p>
      </Card>
    );
  const day = at === undefined ? undefined : days[at];
  return (
    <Card
      title="Stored over time"
      action={
        <CsvButton
          name="history"
          tenant={tenant}
          rows={history.days}
          fields={['day', 'storedBytes', 'objectCount', 'maxStoredBytes', 'refusals', 'carried']}
        />
      }
    >
      <div class="caption">
        <p class="soft">{day ? readingOf(day) : summaryOf(days)}</p>
        <Choice
          name="range"
          label="How many days"
          values={ranges}
          value={range}
          textOf={(each) => `${each} days`}
          onChoose={(each) => {
            setRange(each);
            setAt(undefined);
          }}
        />
      </div>
      <Chart days={days} limitBytes={history.limitBytes} at={at} onRead={setAt} />
      <DayTable days={days} />
    </Card>
  );
}

function summaryOf(days: readonly Day[]): string {
  const [first, last] = [days[0], days.at(-1)];
  const grown = (last?.storedBytes ?? 0) - (first?.storedBytes ?? 0);
  const what =
    grown === 0 ? 'The same as' : `${grown > 0 ? 'Grew' : 'Shrank'} by ${bytesText(Math.abs(grown))} in`;
  return grown === 0
    ? `${what} ${days.length} days ago; each point is one day's last scan.`
    : `${what} ${days.length} days; each point is one day's last scan.`;
}

function readingOf({ day, storedBytes, objectCount, refusals }: Day): string {
  const rejected = refusals === 0 ? '' : `, ${refusals} rejected`;
  return `${dayText(day)}: ${bytesText(storedBytes)} in ${formatObjects(objectCount)}${rejected}`;
}

function Chart(props: {
  days: readonly Day[];
  limitBytes: number | null;
  at: number | undefined;
  onRead: (at: number | undefined) => void;
}) {
  const { days, limitBytes, at, onRead } = props;
  const most = Math.max(...days.map(({ storedBytes }) => storedBytes));
  const top = topOf(most, limitBytes);
  const last = days.length - 1;
  const x = (index: number) => (index / last) * 1000;
  const y = (bytes: number) => (1 - bytes / top) * 200;
  const line = days
    .map(({ storedBytes }, index) => `${x(index).toFixed(1)},${y(storedBytes).toFixed(1)}`)
    .join('L');
  const isLimitSeen = limitBytes !== null && limitBytes <= top;
  const place = (bytes: number) => ({ top: `${(y(bytes) / 2).toFixed(2)}%` });
  const read = days[at ?? last];
  return (
    <div class="chart">
      <div class="plot">
        <svg viewBox="0 0 1000 200" preserveAspectRatio="none" aria-hidden="true">
          {ticksOf(top).map((bytes) => (
            <path key={bytes} class="grid" d={`M0,${y(bytes)}H1000`} />
          ))}
          <path class="area" d={`M0,200L${line}L1000,200Z`} />
          <path class="line" d={`M${line}`} />
          {isLimitSeen && <path class="limit" d={`M0,${y(limitBytes)}H1000`} />}
          {at !== undefined && <path class="cross" d={`M${x(at)},0V200`} />}
        </svg>
        {ticksOf(top).map((bytes) => (
          <span key={bytes} class="tick" style={place(bytes)}>
            {bytes === 0 ? '0' : bytesText(bytes)}
          </span>
        ))}
        {isLimitSeen && (
          <span
            class={
              y(limitBytes) > 24 && (days[last]?.storedBytes ?? 0) > limitBytes * 0.9
                ? 'tick limit-text left'
                : 'tick limit-text'
            }
            style={place(limitBytes)}
          >
            limit {bytesText(limitBytes)}
          </span>
        )}
        {at !== undefined && read && (
          <span class="dot" style={{ left: `${x(at) / 10}%`, ...place(read.storedBytes) }} />
        )}
        <Reader days={days} at={at} onRead={onRead} text={read ? readingOf(read) : ''} />
      </div>
      <div class="dates" aria-hidden="true">
        {dayTicks(days.map(({ day }) => day)).map(({ index, text }) => (
          <span key={index} style={{ left: `${x(index) / 10}%` }}>
            {text}
          </span>
        ))}
      </div>
    </div>
  );
}

/** The crosshair: mouse, touch, arrow keys and screen reader by one control. */
function Reader(props: {
  days: readonly Day[];
  at: number | undefined;
  text: string;
  onRead: (at: number | undefined) => void;
}) {
  const { days, at, text, onRead } = props;
  const last = days.length - 1;
  return (
    <input
      type="range"
      class="reader"
      min={0}
      max={last}
      value={at ?? last}
      aria-label="Chart day"
      aria-valuetext={text}
      onInput={({ currentTarget }) => onRead(Number(currentTarget.value))}
      onPointerMove={({ currentTarget, clientX }) => {
        const { left, width } = currentTarget.getBoundingClientRect();
        onRead(Math.min(last, Math.max(0, Math.round(((clientX - left) / width) * last))));
      }}
      onPointerLeave={() => onRead(undefined)}
      onFocus={({ currentTarget }) => {
        if (currentTarget.matches(':focus-visible')) onRead(at ?? last);
      }}
      onBlur={() => onRead(undefined)}
    />
  );
}

function DayTable({ days }: { days: readonly Day[] }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>Show as table</summary>
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard.
        <section class="scroll" tabIndex={0} aria-label="Days">
          <table>
            <thead>
              <tr>
                <th scope="col">Day</th>
                <th scope="col" class="right">
                  Stored
                </th>
                <th scope="col" class="right">
                  Objects
                </th>
                <th scope="col" class="right">
                  Rejected
                </th>
              </tr>
            </thead>
            <tbody>
              {[...days].reverse().map(({ day, storedBytes, objectCount, refusals }) => (
                <tr key={day}>
                  <th scope="row">{dayText(day)}</th>
                  <td class="right">{bytesText(storedBytes)}</td>
                  <td class="right">{objectCount.toLocaleString('en-US')}</td>
                  <td class="right">{refusals}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </details>
  );
}
