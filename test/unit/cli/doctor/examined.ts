import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../../cli/doctor/check.ts';
import type { ProbeTarget } from '../../../../cli/doctor/probe.ts';
import { type CheckGroup, type Examination, examine } from '../../../../cli/doctor/run-checks.ts';
import { FakeS3, fakeBucket, fakeCredentials, type Misbehaviour } from '../../../support/fake-s3/server.ts';

/** Several stores are examined at a time. */
const timeoutMs = 120_000;

/** The doctor takes its credentials by the SDK's own chain, which looks here first. */
export function setCredentials(credentials = fakeCredentials): void {
  process.env['AWS_ACCESS_KEY_ID'] = credentials.accessKeyId;
  process.env['AWS_SECRET_ACCESS_KEY'] = credentials.secretAccessKey;
}

export function unsetCredentials(): void {
  delete process.env['AWS_ACCESS_KEY_ID'];
  delete process.env['AWS_SECRET_ACCESS_KEY'];
}

export interface Examined extends Examination {
  /** The checks with a warning or a failure. */
  readonly found: Readonly<Record<string, Outcome>>;
  readonly store: FakeS3;
  readonly prefix: string;
}

/** What the doctor finds at a store that misbehaves. Without other orders the store has no parts: they take most of the time. */
export async function examineFake(
  faults: Misbehaviour,
  target: Partial<ProbeTarget> = {},
  options: { signal?: AbortSignal; groups?: readonly CheckGroup[] } = {},
): Promise<Examined> {
  const store = new FakeS3({ multipart: { hasNoParts: true }, ...faults });
  const prefix = `p/lfs-quota-doctor-${randomBytes(4).toString('hex')}/`;
  const endpoint = await store.listen();
  try {
    const usual = {
      bucket: fakeBucket,
      prefix,
      region: 'us-east-1',
      isThorough: false,
      largestBytes: undefined,
    };
    const examined = await examine(
      { ...usual, endpoint, ...target },
      { signal: new AbortController().signal, onResult: () => {}, ...options },
    );
    return { ...examined, found: foundIn(examined), store, prefix };
  } finally {
    await store.close();
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

/** The checks with a warning or a failure, but for that about parts at a store without them. */
function foundBesideParts({ found }: Examined, { faults }: Misbehaving): Record<string, Outcome> {
  const { multipart, ...others } = found;
  return faults.multipart === undefined || multipart === undefined ? others : { multipart, ...others };
}

/** A listing of nothing. */
export const noKeys =
  '<ListBucketResult><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated></ListBucketResult>';

/** A way to misbehave, and what the doctor finds then: no more and no less. */
export interface Misbehaving {
  /** `a store that …` */
  readonly name: string;
  readonly faults: Misbehaviour;
  readonly target?: Partial<ProbeTarget>;
  readonly found: Readonly<Record<string, Outcome>>;
  readonly says?: Readonly<Record<string, RegExp>>;
}

/** A test for each store: among the checks of a group, the doctor finds what is wrong about it, and nothing else. */
export function testStores(group: CheckGroup, stores: readonly Misbehaving[]): void {
  const groups = [...new Set(['access', 'uploads', group, 'traffic'] as const)];
  describe(`${group}: a store that`, () => {
    it.concurrent.each<Misbehaving>(stores)('$name', { timeout: timeoutMs }, async (store) => {
      const examined = await examineFake(store.faults, store.target, { groups });
      expect(foundBesideParts(examined, store)).toEqual(store.found);
      for (const [id, pattern] of Object.entries(store.says ?? {}))
        expect(detailOf(examined, id)).toMatch(pattern);
    });
  });
}
