import { formatNumber, formatTable } from '../../cost/tables.ts';
import { batch, createTenant, startStack } from './embedded-stack.ts';

/** What one-object batches of a tenant take, alone and while a neighbour sends the largest batches. */
export interface NeighbourResult {
  readonly objects: number;
  /** Medians, in ms. */
  readonly aloneMs: number;
  readonly besideMs: number;
  /** Of a hundred, one takes longer. */
  readonly aloneP99Ms: number;
  readonly besideP99Ms: number;
  readonly largeBatchMs: number;
}

const largeBatches = 30;
const aloneBatches = 300;

/**
 * Two tenants of one `npm start`: one sends a one-object batch after another, at first alone, then beside another that
 * sends 30 batches of the most objects. All in one run, because only their ratio says much.
 */
export async function benchNeighbour(
  print: (text: string) => void,
  options: readonly string[],
): Promise<NeighbourResult> {
  const objects = Number(options.find((option) => option.startsWith('--objects='))?.slice(10) ?? 1000);
  const stack = await startStack();
  try {
    const [small, large] = await Promise.all([
      createTenant(stack.url, 'small'),
      createTenant(stack.url, 'large'),
    ]);
    await repeat(10, () => batch(small, 1));
    await batch(large, objects);
    const aloneMs = await repeat(aloneBatches, () => batch(small, 1));
    let ended = false;
    const others = repeat(largeBatches, () => batch(large, objects)).finally(() => {
      ended = true;
    });
    const besideMs: number[] = [];
    while (!ended) besideMs.push(await batch(small, 1));
    const result = {
      objects,
      aloneMs: median(aloneMs),
      besideMs: median(besideMs),
      aloneP99Ms: quantile(aloneMs, 0.99),
      besideP99Ms: quantile(besideMs, 0.99),
      largeBatchMs: median(await others),
    };
    const { aloneP99Ms, besideP99Ms } = result;
    const row = [result.aloneMs, result.besideMs, aloneP99Ms, besideP99Ms, result.largeBatchMs].map((ms) =>
      ms.toFixed(1),
    );
    const header = ['objects', 'alone', 'beside', 'p99 alone', 'p99 beside', 'large batch', '×', '× p99'];
    const ratios = [result.besideMs / result.aloneMs, besideP99Ms / aloneP99Ms].map((ratio) =>
      ratio.toFixed(1),
    );
    print(
      `One-object batches beside a tenant of large ones, ms\n${formatTable(header, [[formatNumber(objects), ...row, ...ratios]])}\n`,
    );
    return result;
  } finally {
    await stack.stop();
  }
}

async function repeat(times: number, run: () => Promise<number>): Promise<number[]> {
  const all: number[] = [];
  for (let time = 0; time < times; time += 1) all.push(await run());
  return all;
}

const median = (values: readonly number[]) => quantile(values, 0.5);

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;
}
