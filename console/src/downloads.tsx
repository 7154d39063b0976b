import { type Download, largestBy, lastDays, type Sum, sumsByDay } from './download-sums.ts';
import { Card } from './parts.tsx';
import { downloadDays } from './subscription.ts';
import { bytesText, dayText, percentText } from './text.ts';

const rowsMax = 5;

/** What was handed out in the last days, and of which repos most. */
export function Downloads({ downloads }: { downloads: readonly Download[] }) {
  const byDay = sumsByDay(downloads, lastDays(downloadDays, Date.now()));
  const total = byDay.reduce((sum, { bytes }) => sum + bytes, 0);
  return (
    <Card title="Downloads" note={`${bytesText(total)} handed out in ${downloadDays} days`}>
      <div class="halves">
        <Bars sums={byDay} />
        <table>
          <thead>
            <tr>
              <th scope="col">Most by repo</th>
              <th scope="col" class="right">
                {downloadDays} days
              </th>
              <th scope="col" class="right">
                Share
              </th>
            </tr>
          </thead>
          <tbody>
            {largestBy(downloads, 'repo')
              .slice(0, rowsMax)
              .map(({ key, bytes }) => (
                <tr key={key}>
                  <th scope="row">{key}</th>
                  <td class="right strong">{bytesText(bytes)}</td>
                  <td class="right soft">{percentText(bytes, total)}</td>
                </tr>
              ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

function Bars({ sums }: { sums: readonly Sum[] }) {
  const most = sums.reduce((best, sum) => (sum.bytes > best.bytes ? sum : best), { key: '', bytes: 0 });
  const width = 100 / sums.length;
  return (
    <div class="days">
      <p class="hidden">
        Most was handed out on {dayText(most.key)}: {bytesText(most.bytes)}.
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
