import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../../cli/doctor/check.ts';
import type { ProbeTarget } from '../../../../cli/doctor/probe.ts';
import { type CheckGroup, type Examination, examine } from '../../../../cli/doctor/run-checks.ts';
import { type Faults, LyingStore } from '../../../support/lying-store.ts';
import { bucket, credentials } from '../../../support/store-fixture.ts';

/** The doctor takes its credentials by the SDK's own chain, which looks here first. */
export function setCredentials(): void {
  process.env['AWS_ACCESS_KEY_ID'] = credentials.accessKeyId;
  process.env['AWS_SECRET_ACCESS_KEY'] = credentials.secretAccessKey;
}

export function unsetCredentials(): void {
  delete process.env['AWS_ACCESS_KEY_ID'];
  delete process.env['AWS_SECRET_ACCESS_KEY'];
}

interface Examined extends Examination {
  /** The checks with a warning or a failure. */
  readonly found: Readonly<Record<string, Outcome>>;
  readonly store: LyingStore;
  /** What was in the store when the doctor had gone. */
  readonly stored: Awaited<ReturnType<LyingStore['left']>>;
  readonly prefix: string;
}

/** What the doctor finds at a store that misbehaves. */
export async function examineStore(
  faults: Faults = {},
  target: Partial<ProbeTarget> = {},
  options: { signal?: AbortSignal; groups?: readonly CheckGroup[] } = {},
): Promise<Examined> {
  const store = await LyingStore.start(faults);
  const prefix = `p/lfs-quota-doctor-${randomBytes(4).toString('hex')}/`;
  try {
    const usual = {
      bucket,
      prefix,
      region: 'us-east-1',
      isThorough: false,
      largestBytes: undefined,
    };
    const examined = await examine(
      { ...usual, endpoint: store.url, ...target },
      { signal: new AbortController().signal, onResult: () => {}, ...options },
    );
    return { ...examined, found: foundIn(examined), store, stored: await store.left(), prefix };
  } finally {
    await store.stop();
  }
}

export function foundIn({ results }: Examination): Record<string, Outcome> {
  const wrong = results.filter(({ outcome }) => outcome === 'fail' || outcome === 'warning');
  return Object.fromEntries(wrong.map(({ id, outcome }) => [id, outcome]));
}

/** What a check said. */
export function detailOf({ results }: Examination, id: string): string {
  return results.find((result) => result.id === id)?.detail ?? '';
}

/** A listing of nothing. */
export const noKeys =
  '<ListBucketResult><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated></ListBucketResult>';

/** A way to misbehave, and what the doctor finds then: no more and no less. */
export interface Misbehaving {
  /** `a store that …` */
  readonly name: string;
  readonly faults: Faults;
  readonly target?: Partial<ProbeTarget>;
  readonly found: Readonly<Record<string, Outcome>>;
  readonly says?: Readonly<Record<string, RegExp>>;
}

/** A test for each store: among the checks of a group, the doctor finds what is wrong about it, and nothing else. */
export function testStores(group: CheckGroup, stores: readonly Misbehaving[]): void {
  const groups = [...new Set(['access', 'uploads', group, 'traffic'] as const)];
  describe(`${group}: a store that`, () => {
    it.concurrent.each<Misbehaving>(stores)('$name', async (store) => {
      const examined = await examineStore(store.faults, store.target, { groups });
      expect(examined.found).toEqual(store.found);
      for (const [id, pattern] of Object.entries(store.says ?? {}))
        expect(detailOf(examined, id)).toMatch(pattern);
    });
  });
}
