import { useState } from 'preact/hooks';
import { Card, CsvButton } from '../../parts.tsx';
import { bytesText, dayText } from '../../text.ts';
import type { RepoProps } from '../../view-props.ts';
import { AsTable } from '../../views/table.tsx';
import { Chart } from './chart.tsx';
import type { Point } from './chart-figures.ts';
import { weekPoints } from './repo-weeks.ts';

const textOf = ({ day, storedBytes }: Point) => `${dayText(day)}: ${bytesText(storedBytes)}`;

/** What a repo stored at the end of each week. */
export function RepoChart({ tenant, repo, nowMs }: RepoProps) {
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
