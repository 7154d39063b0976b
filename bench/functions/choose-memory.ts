import type { FunctionName } from '../../lambda/routes.ts';
import { mean } from '../statistics.ts';
import type { MeasuredWork } from './measure.ts';

/** The rule of docs/decisions/memory.md. */
export const rule = {
  /** Lambda kills a function that exceeds its memory. So: this many times the highest peak … */
  headroom: 1.5,
  /** … plus what Lambda's own runtime needs. Assumed. */
  runtimeMb: 20,
  /** If someone waits: how much longer than with the most memory a warm call may take, as a factor or in ms. */
  warm: { times: 1.25, slackMs: 50 },
  /** The same for the first call of a process. */
  first: { times: 2, slackMs: 250 },
  /** Costs that differ by less than this factor are equal, because runs differ as much. The smaller memory wins. */
  sameCost: 1.25,
} as const;

export interface Choice {
  readonly function: FunctionName;
  readonly memoryMb: number;
  /** Every other memory: why it is too small, or what it would cost. */
  readonly others: readonly { readonly memoryMb: number; readonly why: string }[];
}

/** Chooses the memory of a function from the measurements of all its work. Undefined if none fits. */
export function chooseMemory(name: FunctionName, measured: readonly MeasuredWork[]): Choice | undefined {
  const own = measured.filter((work) => work.function === name);
  const sizes = [...new Set(own.map((work) => work.memoryMb))].sort((a, b) => a - b);
  const judged = sizes.map((memoryMb) => ({
    memoryMb,
    objection: objectionTo(memoryMb, own),
    cost: relativeCost(memoryMb, own),
  }));
  const allowed = judged.filter(({ objection }) => objection === undefined);
  const leastCost = Math.min(...allowed.map(({ cost }) => cost));
  const chosen = allowed.find(({ cost }) => cost <= rule.sameCost * leastCost);
  if (!chosen) return undefined;
  const others = judged
    .filter(({ memoryMb }) => memoryMb !== chosen.memoryMb)
    .map(({ memoryMb, objection, cost }) => ({
      memoryMb,
      why: objection ?? `costs ${(cost / chosen.cost).toFixed(2)} times as much`,
    }));
  return { function: name, memoryMb: chosen.memoryMb, others };
}

function objectionTo(memoryMb: number, own: readonly MeasuredWork[]): string | undefined {
  const here = own.filter((work) => work.memoryMb === memoryMb);
  // A case that is missing did not survive.
  if (here.length < new Set(own.map((work) => work.case)).size) return 'is too little';
  const peakMb = Math.max(...here.map((work) => work.peakMb));
  if (memoryMb < rule.headroom * (peakMb + rule.runtimeMb)) return `takes ${Math.round(peakMb)} MB`;
  const sizeMost = Math.max(...own.map((work) => work.memoryMb));
  for (const work of here.filter(({ isAwaited }) => isAwaited)) {
    const best = own.find((each) => each.case === work.case && each.memoryMb === sizeMost);
    if (!best) continue;
    const pairs = [
      { what: 'when warm', ms: work.warmMs, bestMs: best.warmMs, most: rule.warm },
      { what: 'at first', ms: work.coldMs, bestMs: best.coldMs, most: rule.first },
    ];
    for (const { what, ms, bestMs, most } of pairs) {
      if (ms > Math.max(most.times * bestMs, bestMs + most.slackMs))
        return `${work.case}: ${Math.round(ms)} ms ${what}, not ${Math.round(bestMs)}`;
    }
  }
  return undefined;
}

/** The cost with this memory, relative to the cheapest memory: the mean over all kinds of work. */
function relativeCost(memoryMb: number, own: readonly MeasuredWork[]): number {
  const names = [...new Set(own.map((work) => work.case))];
  return mean(
    names.map((name) => {
      const ofCase = own.filter((work) => work.case === name);
      const least = Math.min(...ofCase.map((work) => work.dollarsPerMillion));
      const here = ofCase.find((work) => work.memoryMb === memoryMb)?.dollarsPerMillion ?? Number.NaN;
      return here / least;
    }),
  );
}
