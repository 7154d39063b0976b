import { createHash } from 'node:crypto';
import type { StoredObject } from '../../../../lambda/subjects/exports/rules/objects.ts';
import { Random } from '../../random.ts';

/** A distribution of object sizes. */
interface ObjectSet {
  readonly name: string;
  /** Bytes of the next object. */
  readonly sizeOf: (random: Random) => number;
}

const megabyte = 1e6;

function normal(random: Random): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random.next()));
  return radius * Math.cos(2 * Math.PI * random.next());
}

/** @param median in megabytes. */
function logNormal(median: number, sigma: number): ObjectSet {
  return {
    name: `log-normal ${median} MB σ ${sigma}`,
    sizeOf: (random) => Math.round(median * megabyte * Math.exp(sigma * normal(random))),
  };
}

/** The sizes of a public challenge: 3,000 objects of about 5 MB. */
export const challenge: ObjectSet = {
  name: 'challenge',
  sizeOf: (random) => Math.round(megabyte * Math.min(8, Math.max(2, 5 + normal(random)))),
};

export const objectSets: readonly ObjectSet[] = [
  challenge,
  logNormal(1, 2),
  logNormal(5, 1.5),
  logNormal(20, 1.5),
  logNormal(70, 1),
];

/** Objects of a set as a listing would give them, in the order of their oids. */
export function makeObjects(
  set: ObjectSet,
  { count, seed }: { count: number; seed: number },
): StoredObject[] {
  const random = new Random(seed);
  const oids = Array.from({ length: count }, (_, index) =>
    createHash('sha256').update(`${seed}/${index}`).digest('hex'),
  ).sort();
  return oids.map((oid) => ({
    oid,
    sizeBytes: set.sizeOf(random),
    etag: `"${oid.slice(0, 32)}"`,
    key: `acme/app/${oid}`,
  }));
}
