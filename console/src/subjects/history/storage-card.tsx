import { useState } from 'preact/hooks';
import { formatCount } from '../../../../cli/render.ts';
import type { RepoBody, SubscriptionBody } from '../../../../lambda/contract.ts';
import type { HistoryBody } from '../../../../lambda/subjects/history/contract.ts';
import { formatAddress, repoAddress } from '../../address.ts';
import { ask } from '../../api.ts';
import { sortRepos } from '../../figures.ts';
import { Card, Choice, CsvButton, Sign } from '../../parts.tsx';
import { useAnswer } from '../../requests.ts';
import { bytesText, dayText, lastDays, percentText, scanText } from '../../text.ts';
import type { OverviewPart, ViewProps } from '../../view-props.ts';
import { AsTable, type Column } from '../../views/table.tsx';
import { Chart, shadeOf } from './chart.tsx';
import { daysAhead, type Point } from './chart-figures.ts';
import './storage-card.css';

type Day = HistoryBody['days'][number];

const ranges = [30, 90, 400] as const;
const kinds = ['total', 'repo'] as const;
type Chosen = { readonly range: (typeof ranges)[number]; readonly kind: (typeof kinds)[number] };

const pointOf = (day: Day, limitBytes: number | null): Point => ({
  day: day.day,
  storedBytes: day.storedBytes,
  usedBytes: Math.max(day.storedBytes, day.maxUsedBytes),
  limitBytes: day.limitBytes === undefined ? limitBytes : day.limitBytes,
  refusals: day.refusals + day.repoRefusals,
  ...(day.sample && { isSample: true }),
});

/** What was stored on each day, with the limit of that day, in all or by repo; and one day to be read. */
function StorageOverTime(props: { tenant: string; history: HistoryBody; repos: readonly RepoBody[] }) {
  const { tenant, history, repos } = props;
  const known = history.days.length;
  const [chosen, setChosen] = useState<Chosen>({
    range: known > 90 ? 400 : known > 30 ? 90 : 30,
    kind: 'total',
  });
  const [at, setAt] = useState<number>();
  const isByRepo = chosen.kind === 'repo';
  const largest = largestOf(repos);
  const weeks = useWeeks(tenant, largest, isByRepo);
  if (known < 2)
    return (
      <Card title="Storage over time">
        <p class="soft">Each daily scan adds a point here. There aren't enough yet.</p>
      </Card>
    );
  const days = history.days.slice(-chosen.range).map((day) => pointOf(day, history.limitBytes));
  const own = days.filter(({ isSample }) => !isSample);
  const layered = isByRepo && weeks ? weekly(own, weeks) : [];
  const points = layered.length > 1 ? layered : days;
  const read = at === undefined ? undefined : points[at];
  const { forecast } = history;
  const ahead = daysAhead(forecast, days.length, history.to);
  const refused = days.filter(({ refusals }) => refusals > 0);
  const keys = isByRepo ? keysOf(read ?? points.at(-1), largest, repos.length) : [];
  return (
    <Card
      title="Storage over time"
      action={
        <Controls
          tenant={tenant}
          days={history.days}
          {...chosen}
          hasRepos={repos.length > 1}
          onChoose={(next) => {
            setChosen(next);
            setAt(undefined);
          }}
        />
      }
    >
      <p class="soft reading">{read ? readingOf(read) : summaryOf(days, own, history)}</p>
      <div class={isByRepo ? 'by-repo' : ''}>
        <Chart
          points={points}
          {...(!isByRepo && { ahead: { days: ahead, bytesPerDay: forecast.bytesPerDay ?? 0 } })}
          at={at}
          onRead={setAt}
          textOf={readingOf}
        />
        {isByRepo && <Key tenant={tenant} keys={keys} />}
      </div>
      <p class="key note">
        {points[0]?.isSample && <Sign kind="sample">Sample data</Sign>}
        {!isByRepo && ahead > 0 && <Sign kind="forecast">Forecast</Sign>}
        {!isByRepo && own.some(({ usedBytes, storedBytes }) => usedBytes > storedBytes) && (
          <Sign kind="pale">Reserved, highest of the day</Sign>
        )}
        {refused.length > 0 && (
          <Sign kind="ring">
            {formatCount(refused.reduce((sum, { refusals }) => sum + refusals, 0))} rejected on{' '}
            {formatCount(refused.length)} {refused.length === 1 ? 'day' : 'days'}
          </Sign>
        )}
      </p>
      {isByRepo ? (
        <AsTable
          label="Weeks"
          columns={weekColumns(keys.map(({ name }) => name).reverse())}
          rows={[...points].reverse()}
          keyOf={({ day }) => day}
        />
      ) : (
        <AsTable
          label="Days"
          columns={dayColumns}
          rows={history.days.slice(-chosen.range).reverse()}
          keyOf={({ day }) => day}
        />
      )}
    </Card>
  );
}

function Controls(
  props: Chosen & {
    tenant: string;
    days: readonly Day[];
    hasRepos: boolean;
    onChoose: (chosen: Chosen) => void;
  },
) {
  const { tenant, days, range, kind, hasRepos, onChoose } = props;
  return (
    <>
      {hasRepos && (
        <Choice
          label="Total or repos"
          values={kinds}
          value={kind}
          textOf={(each) => (each === 'total' ? 'Total' : 'By repo')}
          onChoose={(each) => onChoose({ range, kind: each })}
        />
      )}
      <Choice
        label="How many days"
        values={ranges}
        value={range}
        textOf={(each) => `${each} days`}
        onChoose={(each) => onChoose({ range: each, kind })}
      />
      <CsvButton
        name="history"
        tenant={tenant}
        rows={days}
        fields={[
          'day',
          'storedBytes',
          'objectCount',
          'maxStoredBytes',
          'maxUsedBytes',
          'limitBytes',
          'refusals',
          'repoRefusals',
          'carried',
          'sample',
        ]}
      />
    </>
  );
}

const largestMax = 5;

const largestOf = (repos: readonly RepoBody[]) =>
  sortRepos(
    repos.filter(({ repo }) => repo !== ''),
    { column: 'storedBytes', isDown: true },
  ).slice(0, largestMax);

type Weeks = readonly (number | null)[];

/** What each of the largest repos stored week by week, once it is wanted. undefined: not known. */
function useWeeks(tenant: string, largest: readonly RepoBody[], isWanted: boolean) {
  const names = largest.map(({ repo }) => repo);
  const get = async () => {
    const answers = await Promise.all(
      names.map((repo) => ask('GET /v1/tenants/{tenant}/repos/{repo}', { tenant, repo })),
    );
    const body: Weeks[] = answers.map((each) => (each.kind === 'ok' && each.body.weeks) || []);
    return { kind: 'ok', body } as const;
  };
  return useAnswer(isWanted ? `${tenant} ${names.join(' ')}` : undefined, get, { isAside: true }).body;
}

/** The days that end a week, and the last one, with what each of the largest repos had; the rest on top. */
function weekly(days: readonly Point[], weeks: readonly Weeks[]): Point[] {
  const known = Math.min(...weeks.map(({ length }) => length));
  if (known === 0) return [];
  const ends = days.filter(({ day }, index) => isSunday(day) || index === days.length - 1).slice(-known);
  return ends.map((point, index) => {
    const back = ends.length - 1 - index;
    const own = weeks.map((each) => each.at(-1 - back) ?? 0);
    const sum = own.reduce((all, bytes) => all + bytes, 0);
    const from = index === 0 ? 0 : days.indexOf(ends[index - 1] ?? point) + 1;
    const until = days.indexOf(point) + 1;
    return {
      ...point,
      usedBytes: Math.max(point.storedBytes, sum),
      refusals: days.slice(from, until).reduce((all, { refusals }) => all + refusals, 0),
      layers: [...own, Math.max(0, point.storedBytes - sum)],
    };
  });
}

const isSunday = (day: string) => new Date(day).getUTCDay() === 0;

/** What each layer is on a day, the topmost first. */
function keysOf(point: Point | undefined, largest: readonly RepoBody[], count: number) {
  const rest = count - largest.length;
  const names = [
    ...largest.map(({ repo, storedBytes }) => ({ repo, name: repo, storedBytes })),
    { repo: undefined, storedBytes: 0, name: `${formatCount(rest)} other ${rest === 1 ? 'repo' : 'repos'}` },
  ];
  return names
    .map((each, index) => {
      const bytes = point?.layers?.[index] ?? each.storedBytes ?? 0;
      return { ...each, layer: shadeOf(index), bytes, share: percentText(bytes, point?.storedBytes ?? 0) };
    })
    .filter(({ repo }) => repo !== undefined || rest > 0)
    .reverse();
}

function Key({ tenant, keys }: { tenant: string; keys: ReturnType<typeof keysOf> }) {
  return (
    <ul class="layers">
      {keys.map(({ repo, name, layer, bytes, share }) => (
        <li key={name} class="cut">
          <svg class="swatch" width="10" height="10" aria-hidden="true">
            <rect class="layer" style={layer} width="100%" height="100%" />
          </svg>
          {repo ? <a href={formatAddress(repoAddress(tenant, repo))}>{name}</a> : <span>{name}</span>}
          <strong>{bytesText(bytes)}</strong>
          <span class="note right">{share}</span>
        </li>
      ))}
    </ul>
  );
}

/** @param own of the points, those that aren't sample data. */
function summaryOf(points: readonly Point[], own: readonly Point[], { forecast }: HistoryBody): string {
  const sample = points[points.length - own.length - 1];
  const before = sample ? `Sample data until ${dayText(sample.day)}. ` : '';
  if (own.length < 2) return before;
  const grown = (own.at(-1)?.storedBytes ?? 0) - (own[0]?.storedBytes ?? 0);
  const how = grown === 0 ? 'No growth' : `${grown > 0 ? 'Grew' : 'Shrank'} by ${bytesText(Math.abs(grown))}`;
  const full =
    forecast.fullOn === null || forecast.bytesPerDay === null || forecast.bytesPerDay <= 0
      ? ''
      : ` At the pace of the last 60 days, it's full on ${dayText(forecast.fullOn)}.`;
  return `${before}${how} in ${own.length} days.${full}`;
}

function readingOf({ day, storedBytes, usedBytes, limitBytes, refusals, isSample }: Point): string {
  const free = typeof limitBytes === 'number' ? limitBytes - storedBytes : undefined;
  return [
    `${isSample ? 'Sample data, ' : ''}${dayText(day)}: ${bytesText(storedBytes)} stored`,
    ...(usedBytes > storedBytes ? [`up to ${bytesText(usedBytes - storedBytes)} reserved`] : []),
    ...(free === undefined ? [] : [`${bytesText(Math.abs(free))} ${free < 0 ? 'over the limit' : 'free'}`]),
    ...(refusals === 0 ? [] : [`${formatCount(refusals)} rejected`]),
  ].join(', ');
}

const right = { kind: 'right' };

const dayColumns: Column<Day>[] = [
  { name: 'Day', of: ({ day, sample }) => `${dayText(day)}${sample ? ' (sample)' : ''}` },
  { ...right, name: 'Stored', of: ({ storedBytes }) => bytesText(storedBytes) },
  { ...right, name: 'Objects', of: ({ objectCount }) => scanText(objectCount) },
  {
    ...right,
    name: 'Highest',
    of: ({ storedBytes, maxUsedBytes }) => bytesText(Math.max(storedBytes, maxUsedBytes)),
  },
  {
    ...right,
    name: 'Limit',
    of: ({ limitBytes }) => (typeof limitBytes === 'number' ? bytesText(limitBytes) : '–'),
  },
  { ...right, name: 'Rejected', of: ({ refusals, repoRefusals }) => scanText(refusals + repoRefusals) },
];

/** @param names of the layers. */
const weekColumns = (names: readonly string[]): Column<Point>[] => [
  { name: 'Week until', of: ({ day }) => dayText(day) },
  { ...right, name: 'Stored', of: ({ storedBytes }) => bytesText(storedBytes) },
  ...names.map((name, index) => ({
    ...right,
    name,
    of: ({ layers }: Point) => bytesText(layers?.[index] ?? 0),
  })),
];

function StorageCard({ tenant, live, body: { repos }, isEmpty }: ViewProps & { isEmpty: boolean }) {
  const known = live.beside?.['history'] as HistoryBody | undefined;
  if (!known || (isEmpty && known.days.length < 2)) return null;
  return <StorageOverTime tenant={tenant} history={known} repos={repos} />;
}

export const history: OverviewPart = { cards: { 10: StorageCard }, ask: historyFor };

const daysMax = 400;

/** The history changes with a scan, with the limit, and with a rejected push. */
async function historyFor(known: unknown, before: SubscriptionBody | undefined, now: SubscriptionBody) {
  const isKnown =
    known &&
    before?.usage?.scannedAt === now.usage?.scannedAt &&
    before?.limitBytes === now.limitBytes &&
    before?.lastRefusals[0]?.at === now.lastRefusals[0]?.at;
  if (isKnown) return known;
  const [from] = lastDays(daysMax, Date.now());
  const outcome = await ask('GET /v1/tenants/{tenant}/history', { tenant: now.tenant, query: { from } });
  return outcome.kind === 'ok' ? outcome.body : known;
}
