import { createHash } from 'node:crypto';

/** Names that the backend, its seed and the events share. */
export const tenant = 'acme';
export const repo = 'app';
export const token = `lfsq_${'b'.repeat(40)}`;
export const verifyToken = `lfsv_${'v'.repeat(40)}`;
export const adminToken = 'bench-admin-token';
export const tableName = 'lfs-quota';

/** Size of every object that is requested by its oid. */
export const storedBytes = 1000;

/** Whether the store has this object. It answers 404 for all others. */
export function isStored(oid: string): boolean {
  return oid.startsWith('5');
}

/** Random object ids, all of them stored or none: see {@link isStored}. */
export function oids(input: { count: number; seed: string; stored: boolean }): string[] {
  const { count, seed, stored } = input;
  return Array.from({ length: count }, (_, index) => {
    const hash = createHash('sha256').update(`${seed}#${index}`).digest('hex');
    return (stored ? '5' : 'a') + hash.slice(1);
  });
}

/** A stored object with a reservation. */
export const [verifiedOid = ''] = oids({ count: 1, seed: 'verified', stored: true });
