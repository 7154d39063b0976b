import { createHash } from 'node:crypto';

/** Names that the backend, its seed and the events of the cases share. */
export const tenant = 'acme';
export const repo = 'app';
export const token = `lfsq_${'b'.repeat(40)}`;
export const verifyToken = `lfsv_${'v'.repeat(40)}`;
export const adminToken = 'bench-admin-token';
export const tableName = 'lfs-quota';

/** Size of every object that is asked for by itself. */
export const storedBytes = 1000;

/** The store answers HEAD of these, and 404 to all others. */
export function isStored(oid: string): boolean {
  return oid.startsWith('5');
}

/** Object ids that are alike in nothing but what {@link isStored} says of them. */
export function oids(input: { count: number; seed: string; stored: boolean }): string[] {
  const { count, seed, stored } = input;
  return Array.from({ length: count }, (_, index) => {
    const hash = createHash('sha256').update(`${seed}#${index}`).digest('hex');
    return (stored ? '5' : 'a') + hash.slice(1);
  });
}

/** Tenants besides, all due, for the schedule and for lists. */
export const dueTenants = Array.from(
  { length: 100 },
  (_, index) => `due-${index.toString().padStart(3, '0')}`,
);

/** The oid that a reservation is there for, and that is stored. */
export const [verifiedOid = ''] = oids({ count: 1, seed: 'verified', stored: true });
