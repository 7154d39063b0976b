import { formatCount, formatObjects } from '../../cli/render.ts';
import type { SubscriptionBody } from '../../lambda/api/contract/tenants.ts';
import { type ScanProgress, stateOf } from './figures.ts';
import { Bar } from './parts.tsx';
import { bytesText, forecastNote, percentText, timeText } from './text.ts';

type Usage = NonNullable<SubscriptionBody['usage']>;

/** The one large figure, the bar and what its parts are. */
export function UsageFigures(props: {
  body: SubscriptionBody;
  progress: ScanProgress | undefined;
  nowMs: number;
}) {
  const { body, progress, nowMs } = props;
  const { usage, limitBytes } = body;
  if (usage === null) return <NotScanned limitBytes={limitBytes} progress={progress} />;
  const usedBytes = usage.storedBytes + usage.reservedBytes;
  const shownBytes = limitBytes === null ? usage.storedBytes : usedBytes;
  const [figure = '', unit = ''] = bytesText(shownBytes).split('\u00a0');
  return (
    <div class="usage">
      <p class="figure">
        <span class="number">{figure}</span> <span class="unit">{unit}</span>{' '}
        <span class="of">
          {limitBytes === null ? 'stored, without a limit' : `of ${bytesText(limitBytes)}`}
        </span>
        {limitBytes !== null && <strong>{percentText(usedBytes, limitBytes)}</strong>}
      </p>
      {limitBytes !== null && (
        <Bar
          parts={{ stored: usage.storedBytes, reserved: usage.reservedBytes, limit: limitBytes }}
          isNear={stateOf(body) === 'near'}
          label={
            `${bytesText(usage.storedBytes)} stored and ${bytesText(usage.reservedBytes)} reserved ` +
            `of ${bytesText(limitBytes)}, ${percentText(usedBytes, limitBytes)}`
          }
        />
      )}
      <Legend body={body} usage={usage} nowMs={nowMs} />
    </div>
  );
}

function NotScanned(props: { limitBytes: number | null; progress: ScanProgress | undefined }) {
  const { limitBytes, progress } = props;
  return (
    <div class="usage">
      <p class="figure">
        <span class="number words">Calculating usage…</span>
        <span class="of">{limitBytes === null ? 'no limit' : `limit ${bytesText(limitBytes)}`}</span>
      </p>
      {limitBytes !== null && (
        <div class="bar">
          <svg aria-hidden="true">
            <rect class="track" width="100%" height="100%" />
          </svg>
        </div>
      )}
      <p class="soft">First scan in progress.</p>
      <p class="soft so-far">{progress && `${formatObjects(progress.objectCount)} scanned so far`}</p>
    </div>
  );
}

function Legend({ body, usage, nowMs }: { body: SubscriptionBody; usage: Usage; nowMs: number }) {
  const { limitBytes, forecast, repos, reposTruncated } = body;
  const where = reposTruncated
    ? ''
    : ` in ${formatCount(repos.length)} ${repos.length === 1 ? 'repo' : 'repos'}`;
  const { storedBytes, reservedBytes, reservedUntil, objectCount } = usage;
  const until = reservedUntil === null ? '' : `, until ${timeText(reservedUntil, nowMs)}`;
  const free = limitBytes === null ? null : limitBytes - storedBytes - reservedBytes;
  return (
    <dl class="legend">
      <Entry
        kind={stateOf(body) === 'near' ? 'near-fill' : 'fill'}
        name="Stored"
        value={bytesText(storedBytes)}
        note={formatObjects(objectCount) + where}
      />
      <Entry
        kind="striped"
        name="Reserved"
        value={bytesText(reservedBytes)}
        note={reservedBytes === 0 ? 'no uploads in progress' : `for uploads in progress${until}`}
      />
      {free !== null && free >= 0 && (
        <Entry kind="track" name="Free" value={bytesText(free)} note={forecastNote(forecast)} />
      )}
      {free !== null && free < 0 && (
        <Entry kind="over" name="Over" value={bytesText(-free)} note="to delete before pushes work again" />
      )}
    </dl>
  );
}

function Entry(props: { kind: string; name: string; value: string; note: string }) {
  const { kind, name, value, note } = props;
  return (
    <div>
      <dt>
        <svg class="swatch" aria-hidden="true">
          <rect class={kind} width="100%" height="100%" />
        </svg>
        {name}
      </dt>
      <dd class="value">{value}</dd>
      <dd class="note">{note}</dd>
    </div>
  );
}
