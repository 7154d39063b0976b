import { useState } from 'preact/hooks';
import { formatCount, formatObjects } from '../../cli/render.ts';
import type { SubscriptionBody } from '../../lambda/api/contract/tenants.ts';
import { formatBytes, parseSize } from '../../lambda/rules/sizes.ts';
import { ask } from './api.ts';
import { barOf, type Parts, type ScanProgress } from './figures.ts';
import { Card, Problem } from './parts.tsx';
import { bytesText, forecastNote, notDone, percentText, timeText } from './text.ts';

type Usage = NonNullable<SubscriptionBody['usage']>;

const percent = (share: number) => `${(share * 100).toFixed(3)}%`;

/** One bar: stored, reserved, and what is beyond the limit. */
export function Bar({ parts, label, isSmall = false }: { parts: Parts; label: string; isSmall?: boolean }) {
  const { stored, reserved, over, limit } = barOf(parts);
  const used = parts.stored + parts.reserved;
  const max = Math.max(used, parts.limit, 1);
  return (
    <div class={isSmall ? 'bar small' : 'bar'}>
      <meter class="hidden" min={0} max={max} value={used} aria-label="Used" aria-valuetext={label}>
        {label}
      </meter>
      <svg aria-hidden="true">
        <defs>
          <pattern
            id="stripes"
            width="6"
            height="6"
            patternUnits="userSpaceOnUse"
            patternTransform="rotate(45)"
          >
            <rect class="pale" width="6" height="6" />
            <rect class="fill" width="2.5" height="6" />
          </pattern>
        </defs>
        <rect class="track" width="100%" height="100%" />
        <rect class="fill" width={percent(stored)} height="100%" />
        {reserved > 0 && <rect class="striped" x={percent(stored)} width={percent(reserved)} height="100%" />}
        {over > 0 && <rect class="over" x={percent(limit)} width={percent(over)} height="100%" />}
      </svg>
      {over > 0 && <span class="marker" style={{ left: percent(limit) }} />}
    </div>
  );
}

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
          {limitBytes === null ? 'stored, without a limit' : `used of ${bytesText(limitBytes)}`}
        </span>
        {limitBytes !== null && <strong>{percentText(usedBytes, limitBytes)}</strong>}
      </p>
      {limitBytes !== null && (
        <Bar
          parts={{ stored: usage.storedBytes, reserved: usage.reservedBytes, limit: limitBytes }}
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
  const { limitBytes, forecast } = body;
  const { storedBytes, reservedBytes, reservedUntil, objectCount } = usage;
  const until = reservedUntil === null ? '' : `, until ${timeText(reservedUntil, nowMs)}`;
  const free = limitBytes === null ? null : limitBytes - storedBytes - reservedBytes;
  return (
    <dl class="legend">
      <Entry kind="stored" name="Stored" value={bytesText(storedBytes)} note={formatObjects(objectCount)} />
      <Entry
        kind="reserved"
        name="Reserved"
        value={bytesText(reservedBytes)}
        note={reservedBytes === 0 ? 'no uploads in progress' : `uploads in progress${until}`}
      />
      {free !== null && free >= 0 && (
        <Entry kind="free" name="Free" value={bytesText(free)} note={forecastNote(forecast)} />
      )}
      {free !== null && free < 0 && (
        <Entry kind="beyond" name="Over" value={bytesText(-free)} note="to delete before pushes work again" />
      )}
    </dl>
  );
}

function Entry(props: { kind: string; name: string; value: string; note: string }) {
  const { kind, name, value, note } = props;
  return (
    <div>
      <dt>
        <svg class={`swatch ${kind}`} aria-hidden="true">
          <rect width="100%" height="100%" />
        </svg>
        {name}
      </dt>
      <dd class="value">{value}</dd>
      <dd class="note">{note}</dd>
    </div>
  );
}

/** `1,204`, or a dash for what is not known. */
export const scanText = (count: number | null) => (count === null ? '–' : formatCount(count));

/** A limit as it was typed. An empty field is never "unlimited": that's the box's. */
export interface TypedLimit {
  readonly size: string;
  readonly isUnlimited: boolean;
}

/** The limit that was typed, null for unlimited, or a problem to show. */
export function readLimit({ size, isUnlimited }: TypedLimit): { bytes: number | null } | { problem: string } {
  return isUnlimited ? { bytes: null } : parseSize(size);
}

export function LimitField(props: { typed: TypedLimit; onType: (typed: TypedLimit) => void }) {
  const { typed, onType } = props;
  return (
    <>
      <label for="limit">Storage limit</label>
      <input
        id="limit"
        type="text"
        autocomplete="off"
        disabled={typed.isUnlimited}
        value={typed.size}
        onInput={({ currentTarget }) => onType({ ...typed, size: currentTarget.value })}
      />
      <label>
        <input
          type="checkbox"
          checked={typed.isUnlimited}
          onChange={({ currentTarget }) => onType({ ...typed, isUnlimited: currentTarget.checked })}
        />{' '}
        Unlimited
      </label>
    </>
  );
}

const typedOf = (limitBytes: number | null): TypedLimit => ({
  size: limitBytes === null ? '' : formatBytes(limitBytes),
  isUnlimited: limitBytes === null,
});

/** The operator's: how much a tenant may store. */
export function Limit(props: {
  tenant: string;
  limitBytes: number | null;
  storedBytes: number;
  onChanged: () => void;
}) {
  const { tenant, limitBytes, storedBytes, onChanged } = props;
  const now = typedOf(limitBytes);
  const [typed, setTyped] = useState(now);
  const [said, setSaid] = useState<string>();
  const [isWarned, setIsWarned] = useState(false);
  const textOf = ({ size, isUnlimited }: TypedLimit) => isUnlimited || size.trim();
  const type = (next: TypedLimit) => {
    setTyped(next);
    setIsWarned(false);
  };
  const change = async (event: Event) => {
    event.preventDefault();
    const limit = readLimit(typed);
    if ('problem' in limit) return setSaid(limit.problem);
    const { bytes } = limit;
    if (bytes !== null && bytes < storedBytes && !isWarned) {
      setIsWarned(true);
      return setSaid(`Pushes fail until you delete ${bytesText(storedBytes - bytes)}.`);
    }
    const outcome = await ask(`/v1/tenants/${tenant}`, { method: 'PATCH', body: { limitBytes: bytes } });
    if (outcome.kind !== 'ok') return setSaid(outcome.kind === 'refused' ? outcome.detail : notDone);
    setSaid(undefined);
    type(typedOf(bytes));
    onChanged();
  };
  return (
    <Card title="Limit" note={limitBytes === null ? 'unlimited' : bytesText(limitBytes)}>
      <form class="fields" onSubmit={(event) => void change(event)}>
        <LimitField typed={typed} onType={type} />
        <button type="submit" class={isWarned ? 'bad' : ''} disabled={textOf(typed) === textOf(now)}>
          {isWarned ? 'Save anyway' : 'Save'}
        </button>
        <Problem text={said} />
      </form>
    </Card>
  );
}
