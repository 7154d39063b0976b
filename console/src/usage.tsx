import { formatCount, formatObjects } from '../../cli/render.ts';
import type { SubscriptionBody } from '../../lambda/contract.ts';
import type { Outlook } from '../../lambda/frame/contract/outlook.ts';
import { type Parts, type ScanProgress, stateOf } from './figures.ts';
import { Bar } from './parts.tsx';
import { bytesText, dayText, forecastNote, percentText, timeText } from './text.ts';
import './usage.css';

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
  return (
    <Figure
      bytes={limitBytes === null ? usage.storedBytes : usedBytes}
      of={limitBytes === null ? 'stored, without a limit' : `of ${bytesText(limitBytes)}`}
      {...(limitBytes !== null && {
        parts: { stored: usage.storedBytes, reserved: usage.reservedBytes, limit: limitBytes },
      })}
      isNear={stateOf(body) === 'near'}
      entries={entriesOf(body, usage, nowMs)}
    />
  );
}

function NotScanned(props: { limitBytes: number | null; progress: ScanProgress | undefined }) {
  const { limitBytes, progress } = props;
  return (
    <div class="usage">
      <p class="figure">
        <span class="number words">Calculating usage…</span>
        <span class="of soft">{limitBytes === null ? 'no limit' : `limit ${bytesText(limitBytes)}`}</span>
      </p>
      {limitBytes !== null && (
        <Bar parts={{ stored: 0, reserved: 0, limit: limitBytes }} label="not scanned yet" />
      )}
      <p class="soft">First scan in progress.</p>
      <p class="soft so-far">{progress && `${formatObjects(progress.objectCount)} scanned so far`}</p>
    </div>
  );
}

function entriesOf(body: SubscriptionBody & Outlook, usage: Usage, nowMs: number): Entry[] {
  const { limitBytes, forecast, repos, reposTruncated } = body;
  const where = reposTruncated
    ? ''
    : ` in ${formatCount(repos.length)} ${repos.length === 1 ? 'repo' : 'repos'}`;
  const { storedBytes, reservedBytes, reservedUntil, objectCount, olderThanYear: old } = usage;
  const until = reservedUntil === null ? '' : `, until ${timeText(reservedUntil, nowMs)}`;
  const free = limitBytes === null ? undefined : limitBytes - storedBytes - reservedBytes;
  const entries = [
    {
      kind: stateOf(body) === 'near' ? 'near-fill' : 'fill',
      name: 'Stored',
      value: bytesText(storedBytes),
      note: formatObjects(objectCount) + where,
      // Later scans might not list all repos.
      ...(old &&
        old.bytes > 0 && {
          more: `${bytesText(old.bytes)} older than a year on ${dayText(old.at.slice(0, 10))}`,
        }),
    },
    {
      kind: 'striped',
      name: 'Reserved',
      value: bytesText(reservedBytes),
      note: reservedBytes === 0 ? 'no uploads in progress' : `for uploads in progress${until}`,
    },
  ];
  if (free === undefined) return entries;
  const last =
    free < 0
      ? { kind: 'over', name: 'Over', value: bytesText(-free), note: 'to delete before pushes work again' }
      : {
          kind: 'track',
          name: 'Free',
          value: bytesText(free),
          ...(forecast && { note: forecastNote(forecast) }),
        };
  return [...entries, last];
}

interface Entry {
  readonly name: string;
  readonly value: string;
  /** Of its part of the bar. */
  readonly kind?: string;
  readonly note?: string;
  readonly more?: string;
}

/** One large figure, of which whole, and what else is known of it. */
export function Figure(props: {
  bytes: number;
  of: string;
  /** None: of no whole. */
  parts?: Parts;
  isNear?: boolean;
  /** It has no limit of its own: `parts.reserved` is what others have of that one. */
  isPart?: boolean;
  entries: readonly Entry[];
}) {
  const { bytes, of, parts, isNear = false, isPart = false, entries } = props;
  const [figure = '', unit = ''] = bytesText(bytes).split('\u00a0');
  const share = parts && !isPart && percentText(bytes, parts.limit);
  const label = [`${bytesText(bytes)} ${of}`, ...(share ? [share] : [])].join(', ');
  return (
    <div class={isPart ? 'usage part' : 'usage'}>
      <p class="figure">
        <span class="number">{figure}</span> <span class="unit">{unit}</span>{' '}
        <span class="of soft">{of}</span>
        {share && <strong>{share}</strong>}
      </p>
      {parts && <Bar parts={parts} isNear={isNear} label={label} />}
      <dl class="legend">
        {entries.map(({ name, value, kind, note, more }) => (
          <div key={name}>
            <dt class="row note">
              {kind && (
                <svg class="swatch" width="10" height="10" aria-hidden="true">
                  <rect class={kind} width="100%" height="100%" />
                </svg>
              )}
              {name}
            </dt>
            <dd class="value">{value}</dd>
            {note && <dd class="note">{note}</dd>}
            {more && <dd class="note">{more}</dd>}
          </div>
        ))}
      </dl>
    </div>
  );
}
