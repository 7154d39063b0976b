import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { isFarBehind, measuredOnceBecause } from './far-behind.ts';
import { latenciesOf } from './latency.ts';
import { measureRound, type Workshop } from './measure-round.ts';
import type { LatencyMode, PushOptions } from './options.ts';
import { orderOfRound } from './order.ts';
import { presignOnly } from './presign-server.ts';
import { type DoneStep, formatProgress, type Step } from './progress.ts';
import { type Phase, phases, type Sample } from './sample.ts';
import type { ServerKind } from './server.ts';
import type { MeasuredPhase } from './summary.ts';

type Print = (text: string) => void;
type Samples = ReadonlyMap<Phase, Sample>;

interface Run {
  readonly shop: Workshop;
  readonly options: PushOptions;
  readonly servers: readonly ServerKind[];
  readonly print: Print;
  readonly beganMs: number;
  readonly done: (DoneStep & { readonly round: number })[];
  /** Peers that failed, with the reason. */
  readonly givenUp: Map<string, string>;
  /** What was left out of the later rounds, with the reason. */
  readonly measuredOnce: Map<string, string>;
}

/**
 * All cases, latencies and rounds. A peer that fails is given up, and one that is far behind is measured once: `notes`
 * names both.
 */
export async function measureAll(
  shop: Workshop,
  input: { options: PushOptions; servers: readonly ServerKind[]; print: Print },
): Promise<{ measured: readonly MeasuredPhase[]; notes: readonly string[] }> {
  const { options, servers } = input;
  const records = { done: [], givenUp: new Map(), measuredOnce: new Map() };
  const run: Run = { shop, ...input, ...records, beganMs: performance.now() };
  const measured: MeasuredPhase[] = [];
  for (const one of options.cases) {
    const source = join(shop.folder, 'source');
    await shop.client.createSource(source, one);
    for (const latency of options.latencies) {
      const taken = new Map(servers.map(({ name }): [string, Samples[]] => [name, []]));
      for (let round = 0; round < options.rounds; round += 1)
        await measureServers(run, { one, source, latency, round, taken });
      measured.push(...phasesOf(taken, { case: one.name, latency }));
    }
    rmSync(source, { recursive: true, force: true });
  }
  return { measured, notes: [...run.givenUp.values(), ...run.measuredOnce.values()] };
}

/** One round: the servers take turns, so that other load on the machine affects all alike. */
async function measureServers(
  run: Run,
  place: {
    one: PushOptions['cases'][number];
    source: string;
    latency: LatencyMode;
    round: number;
    taken: ReadonlyMap<string, Samples[]>;
  },
): Promise<void> {
  const { one, source, latency, round, taken } = place;
  const stepOf = (server: ServerKind) => ({ case: one.name, latency, server: server.name, round });
  const servers = run.servers.filter((server) => !isDropped(run, stepOf(server)));
  for (const server of orderOfRound(servers, round)) {
    const step = stepOf(server);
    const beganMs = performance.now();
    try {
      const id = nextId();
      const at = { server, case: one, source, latencies: latenciesOf[latency], id };
      const samples = await measureRound(run.shop, at);
      taken.get(server.name)?.push(samples);
      if (isFarBehind(server, samples, taken.get(presignOnly.name)?.[0]))
        run.measuredOnce.set(keyOf(step), measuredOnceBecause(step));
      run.done.push({ ...step, tookMs: performance.now() - beganMs });
      run.print(`${describe(step, samples)} (${progressOf(run)})`);
    } catch (error) {
      if (!server.isPeer) throw error;
      run.givenUp.set(server.name, givenUpBecause(server, error));
      run.print(givenUpBecause(server, error));
    }
  }
}

/** Whether a round is left out. */
function isDropped(run: Run, step: Step): boolean {
  return run.givenUp.has(step.server) || run.measuredOnce.has(keyOf(step));
}

const keyOf = ({ case: name, latency, server }: Step) => JSON.stringify([name, latency, server]);

function progressOf(run: Run): string {
  const { options, servers, done, beganMs } = run;
  const all = options.cases.flatMap((one) =>
    options.latencies.flatMap((latency) =>
      servers.flatMap(({ name }) =>
        Array.from({ length: options.rounds }, (_, round) => ({
          case: one.name,
          latency,
          server: name,
          round,
        })),
      ),
    ),
  );
  const isDone = (step: (typeof all)[number]) =>
    done.some((each) => each.round === step.round && keyOf(each) === keyOf(step));
  const left = all.filter((step) => !isDone(step) && !isDropped(run, step));
  return formatProgress({ done, left, goneMs: performance.now() - beganMs });
}

let roundsSoFar = 0;

/** Also a part of the names of remotes, which a client remembers. */
function nextId(): string {
  roundsSoFar += 1;
  return `round-${roundsSoFar}`;
}

/** A client names every URL that failed: the beginning tells enough. */
function givenUpBecause({ name }: ServerKind, error: unknown): string {
  return `${name} was given up: ${String(error).slice(0, 500)}`;
}

function phasesOf(
  taken: ReadonlyMap<string, readonly Samples[]>,
  place: { case: string; latency: LatencyMode },
): MeasuredPhase[] {
  return phases.flatMap((phase) =>
    [...taken].flatMap(([server, all]) => {
      const rounds = all.flatMap((round) => round.get(phase) ?? []);
      return rounds.length > 0 ? [{ ...place, phase, server, rounds }] : [];
    }),
  );
}

function describe(step: Step & { round: number }, samples: Samples): string {
  const walls = [...samples].map(([phase, { wallMs }]) => `${phase} ${(wallMs / 1000).toFixed(1)} s`);
  return `${step.case}, latency ${step.latency}, round ${step.round + 1}, ${step.server}: ${walls.join(', ')}`;
}
