import { parseArgs } from 'node:util';
import { type PushCase, pushCases, scaleCase } from './cases.ts';

/** Round trips between client and servers: as far as a nearby cloud region, or none. */
export type LatencyMode = 'on' | 'off';

export interface PushOptions {
  readonly rounds: number;
  readonly cases: readonly PushCase[];
  readonly latencies: readonly LatencyMode[];
  /** Measure servers of others, too. */
  readonly peers: boolean;
  /** Measure an older commit of this project, too. */
  readonly before: boolean;
  /** The JSON of an earlier run, whose cases are printed beside those of this one. */
  readonly add: string | undefined;
}

const roundsMax = 50;

/**
 * Reads the options of the benchmark.
 *
 * @throws {Error} that says what is allowed.
 */
export function readOptions(args: readonly string[]): PushOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string', default: '3' },
      cases: { type: 'string', default: Object.keys(pushCases).join(',') },
      latency: { type: 'string', default: 'both' },
      peers: { type: 'string', default: 'on' },
      before: { type: 'boolean', default: false },
      scale: { type: 'string', default: '1' },
      add: { type: 'string' },
    },
  });
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > roundsMax)
    throw new Error(`--rounds takes a whole number from 1 to ${roundsMax}, not '${values.rounds}'.`);
  const scale = Number(values.scale);
  if (!(scale > 0 && scale <= 1))
    throw new Error(`--scale takes a number above 0, up to 1, not '${values.scale}'.`);
  const names = values.cases.split(',').map((name) => chosen('--cases', name.trim(), Object.keys(pushCases)));
  const latency = chosen('--latency', values.latency, ['both', 'on', 'off']);
  return {
    rounds,
    cases: names.flatMap((name) => pushCases[name] ?? []).map((one) => scaleCase(one, scale)),
    latencies: latency === 'both' ? ['on', 'off'] : [latency === 'on' ? 'on' : 'off'],
    peers: chosen('--peers', values.peers, ['on', 'off']) === 'on',
    before: values.before,
    add: values.add,
  };
}

function chosen(option: string, value: string, allowed: readonly string[]): string {
  if (!allowed.includes(value))
    throw new Error(`${option} takes ${allowed.join(', ')}; '${value}' is none of them.`);
  return value;
}
