import { useEffect, useState } from 'preact/hooks';
import { dayOf } from '../../../../lambda/core/rules/dates.ts';
import type { TenantBody } from '../../../../lambda/frame/contract/tenants.ts';
import type { HistoryBody } from '../../../../lambda/subjects/history/contract.ts';
import { formatAddress, tenantAddress } from '../../address.ts';
import { ask } from '../../api.ts';
import { stateOf } from '../../figures.ts';
import { Card, CsvButton } from '../../parts.tsx';
import { bytesText, dayText } from '../../text.ts';
import type { RepoProps, SubjectParts, TenantsPart } from '../../view-props.ts';
import { AsTable } from '../../views/table.tsx';
import { Chart } from './chart.tsx';
import type { Point } from './chart-figures.ts';
import { addedByWeek, weekPoints } from './repo-weeks.ts';

/** Today's rejected pushes and the forecast of the tenants that are shown: the list doesn't have them. */
function useOutlook(tenants: readonly TenantBody[]): ReadonlyMap<string, HistoryBody> {
  const [known, setKnown] = useState<ReadonlyMap<string, HistoryBody>>(new Map());
  const names = tenants.filter(({ limitBytes }) => limitBytes !== null).map(({ tenant }) => tenant);
  useEffect(() => {
    const today = dayOf(Date.now());
    for (const tenant of names)
      void ask('GET /v1/tenants/{tenant}/history', { tenant, query: { from: today } }).then((outcome) => {
        if (outcome.kind === 'ok') setKnown((before) => new Map(before).set(tenant, outcome.body));
      });
  }, [names.join(' ')]);
  return known;
}

function useTenants(shown: readonly TenantBody[]): TenantsPart {
  const outlook = useOutlook(shown);
  const fullOnOf = (body: TenantBody) => {
    const fullOn = outlook.get(body.tenant)?.forecast.fullOn;
    return stateOf(body) === 'over' ? 'full' : fullOn ? dayText(fullOn) : '–';
  };
  return {
    columns: { 70: { name: 'Full on', kind: 'right wide soft', of: fullOnOf } },
    markOf: (body) => {
      const today = outlook.get(body.tenant)?.days.at(-1);
      const rejected = today ? today.refusals + today.repoRefusals : 0;
      return (
        rejected > 0 && (
          <a
            class={`pill ${stateOf(body) === 'over' ? 'bad' : 'near'}`}
            href={formatAddress(tenantAddress(body.tenant))}
          >
            {rejected} rejected today
          </a>
        )
      );
    },
  };
}

/** What each week added: bars up, and deletes down. */
function Weeks({ weeks }: { weeks: readonly (number | null)[] }) {
  const added = addedByWeek(weeks);
  const most = Math.max(1, ...added.map((bytes) => Math.abs(bytes ?? 0)));
  const width = 100 / Math.max(1, added.length);
  return (
    <svg width="7rem" height="22" aria-hidden="true">
      {added.map((bytes, index) => {
        const height = (Math.abs(bytes ?? 0) / most) * 60;
        return (
          <rect
            key={index}
            class="fill"
            x={`${index * width}%`}
            y={`${(bytes ?? 0) < 0 ? 60 : 60 - height}%`}
            width={`${width * 0.75}%`}
            height={`${(bytes ?? 0) < 0 ? height * (40 / 60) : height}%`}
          />
        );
      })}
    </svg>
  );
}

export const history: SubjectParts = {
  repo: { 20: RepoChart },
  repoColumns: {
    50: { name: 'Added weekly', kind: 'wide', of: ({ weeks }) => weeks && <Weeks weeks={weeks} /> },
  },
  useTenants,
};

const textOf = ({ day, storedBytes }: Point) => `${dayText(day)}: ${bytesText(storedBytes)}`;

/** What a repo stored at the end of each week. */
function RepoChart({ tenant, repo, nowMs }: RepoProps) {
  const points = weekPoints(repo.weeks ?? [], { limitBytes: repo.limitBytes, nowMs });
  const [at, setAt] = useState<number>();
  const read = at === undefined ? undefined : points[at];
  const [first] = points;
  // One point is no line.
  if (points.length < 2 || !first) return null;
  const grown = (points.at(-1)?.storedBytes ?? 0) - first.storedBytes;
  return (
    <Card
      title="Storage by week"
      action={
        <CsvButton
          name={`${repo.repo} weeks`}
          tenant={tenant}
          rows={points}
          fields={['day', 'storedBytes']}
        />
      }
    >
      <p class="caption">
        {read
          ? textOf(read)
          : `${grown < 0 ? 'Shrank' : 'Grew'} by ${bytesText(Math.abs(grown))} since ${dayText(first.day)}.`}
      </p>
      <Chart points={points} at={at} onRead={setAt} textOf={textOf} />
      <AsTable
        label="Weeks"
        columns={[
          { name: 'Week until', of: ({ day }) => dayText(day) },
          { name: 'Stored', kind: 'right', of: ({ storedBytes }) => bytesText(storedBytes) },
        ]}
        rows={[...points].reverse()}
        keyOf={({ day }) => day}
      />
    </Card>
  );
}
