import { dayMs, dayOf } from '../../../../lambda/core/rules/dates.ts';
import { bytesText, dayText } from '../../text.ts';
import { dayTicks, lineOf, type Point, ringsOf, stepsOf, ticksOf, topOfPoints } from './chart-figures.ts';
import './chart.css';

/** A forecast, which starts at the last point. */
export interface Ahead {
  readonly days: number;
  readonly bytesPerDay: number;
}

const noAhead: Ahead = { days: 0, bytesPerDay: 0 };

/** Of the height. A tick that is nearer to the limit would cover its text. */
const nearLimit = 0.14;

/** Rings are so many of 1,000 wide. */
const ringWidth = 34;

/**
 * What was stored at each point, the limit of each, what was reserved, rejected pushes and a forecast; and one point to be
 * read, which is the last one if none is.
 *
 * @param props.points two or more, evenly apart.
 * @param props.at the point that is read. undefined: none.
 */
export function Chart(props: {
  points: readonly Point[];
  ahead?: Ahead;
  at: number | undefined;
  onRead: (at: number | undefined) => void;
  /** What is said of a point. */
  textOf: (point: Point) => string;
}) {
  const { points, ahead = noAhead, at, onRead, textOf } = props;
  const last = points.length - 1;
  const days = points.map(({ day }) => day);
  const daysEach = (Date.parse(days[last] ?? '') - Date.parse(days[0] ?? '')) / dayMs / last;
  const end = last + ahead.days / daysEach;
  const latest = points[last];
  const forecastBytes = (latest?.storedBytes ?? 0) + ahead.days * ahead.bytesPerDay;
  const top = topOfPoints(points, forecastBytes);
  const x = (index: number) => (index / end) * 1000;
  const y = (bytes: number) => (1 - bytes / top) * 200;
  const left = (index: number) => ({ left: `${(x(index) / 10).toFixed(2)}%` });
  const place = (bytes: number) => ({ top: `${(y(bytes) / 2).toFixed(2)}%` });
  const limitBytes = latest?.limitBytes ?? null;
  const isLimitSeen = limitBytes !== null && limitBytes <= top;
  const ticks = ticksOf(top).filter(
    (bytes) => !isLimitSeen || Math.abs(bytes - limitBytes) > top * nearLimit,
  );
  const read = at === undefined ? undefined : points[at];
  const until = dayOf(Date.parse(days[last] ?? '') + ahead.days * dayMs);
  return (
    <div class="chart">
      <div class="plot">
        <svg viewBox="0 0 1000 200" preserveAspectRatio="none" aria-hidden="true">
          {ticks.map((bytes) => (
            <path key={bytes} class="grid" d={`M0,${y(bytes)}H1000`} />
          ))}
          <Areas points={points} x={x} y={y} />
          <path class="limit" d={stepsOf(points, x, (bytes) => (bytes <= top ? y(bytes) : -9))} />
          {ahead.days > 0 && latest && (
            <path
              class="forecast"
              d={lineOf([
                [x(last), y(latest.storedBytes)],
                [1000, y(forecastBytes)],
              ])}
            />
          )}
          {ahead.days > 0 && <path class="grid" d={`M${x(last)},0V200`} />}
          {at !== undefined && <path class="cross" d={`M${x(at)},0V200`} />}
        </svg>
        {ticks.map((bytes) => (
          <span key={bytes} class="tick" style={place(bytes)}>
            {bytes === 0 ? '0' : bytesText(bytes)}
          </span>
        ))}
        {isLimitSeen && (
          <span class="tick limit-text" style={place(limitBytes)}>
            limit <br />
            {bytesText(limitBytes)}
          </span>
        )}
        {ringsOf(points, ringWidth / (1000 / end)).map(({ index, count }) => (
          <span
            key={index}
            class="ring"
            style={{ ...left(index), ...place(Math.min(points[index]?.limitBytes ?? top, top)) }}
          >
            {count}
          </span>
        ))}
        {(read ?? latest) && (
          <span class="dot" style={{ ...left(at ?? last), ...place((read ?? latest)?.storedBytes ?? 0) }} />
        )}
        <Reader points={points} width={last / end} at={at} onRead={onRead} textOf={textOf} />
      </div>
      <div class="dates" aria-hidden="true">
        {dayTicks(days).map(({ index, text }) => (
          <span key={index} style={left(index)}>
            {text}
          </span>
        ))}
        <span class="today" style={left(last)}>
          Today
        </span>
        {ahead.days > 0 && end - last > end * 0.12 && (
          <span class="until">{dayText(until).slice(0, -5)}</span>
        )}
      </div>
    </div>
  );
}

/** What is stored, as one area or several; beyond the limit in red; above it what was reserved; and sample data in grey. */
function Areas(props: {
  points: readonly Point[];
  x: (index: number) => number;
  y: (bytes: number) => number;
}) {
  const { points, x, y } = props;
  const places = (of: (point: Point) => number, isSample = false) =>
    points.flatMap((point, index) =>
      (point.isSample ?? false) === isSample ? [[x(index), y(of(point))] as const] : [],
    );
  const band = (lower: (point: Point) => number, upper: (point: Point) => number, isSample?: boolean) =>
    lineOf([...places(upper, isSample), ...places(lower, isSample).reverse()]).replace(/.$/, '$&Z');
  const below = (count: number) => (point: Point) =>
    (point.layers ?? []).slice(0, count).reduce((sum, bytes) => sum + bytes, 0);
  if (points[0]?.layers)
    return (
      <>
        {points[0].layers.map((_, index) => (
          <path key={index} class="layer" style={shadeOf(index)} d={band(below(index), below(index + 1))} />
        ))}
      </>
    );
  const stored = ({ storedBytes }: Point) => storedBytes;
  const allowed = ({ storedBytes, limitBytes }: Point) => Math.min(storedBytes, limitBytes ?? storedBytes);
  return (
    <>
      <path class="pale" d={band(stored, ({ usedBytes }) => usedBytes)} />
      <path class="sample" d={band(() => 0, stored, true)} />
      <path class="area" d={band(() => 0, stored)} />
      <path class="over" d={band(allowed, stored)} />
      <path class="line" d={lineOf(places(stored))} />
    </>
  );
}

/** Of the layers, from the ground up: one colour in six steps. */
export const shadeOf = (index: number) => `--of: ${[100, 84, 68, 52, 38, 24][index]}%`;

/** The crosshair: mouse, touch, arrow keys and screen reader by one control. */
function Reader(props: {
  points: readonly Point[];
  /** Of 1: what is ahead can't be read. */
  width: number;
  at: number | undefined;
  onRead: (at: number | undefined) => void;
  textOf: (point: Point) => string;
}) {
  const { points, width, at, onRead, textOf } = props;
  const last = points.length - 1;
  const point = points[at ?? last];
  return (
    <input
      type="range"
      class="reader"
      style={{ width: `${width * 100}%` }}
      min={0}
      max={last}
      value={at ?? last}
      aria-label="Chart day"
      aria-valuetext={point && textOf(point)}
      onInput={({ currentTarget }) => onRead(Number(currentTarget.value))}
      onPointerMove={({ currentTarget, clientX }) => {
        const { left, width: all } = currentTarget.getBoundingClientRect();
        onRead(Math.min(last, Math.max(0, Math.round(((clientX - left) / all) * last))));
      }}
      onPointerLeave={() => onRead(undefined)}
      onFocus={({ currentTarget }) => {
        if (currentTarget.matches(':focus-visible')) onRead(at ?? last);
      }}
      onBlur={() => onRead(undefined)}
    />
  );
}
