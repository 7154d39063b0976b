import type { AuditEntry } from '../../../domain/audit.ts';
import type { AuditEntryBody } from './schemas.ts';

export function auditEntryBody({ tenant: _, atMs, ...entry }: AuditEntry): AuditEntryBody {
  // To the millisecond: what happened in one second has an order.
  const body = { time: new Date(atMs).toISOString(), ...entry };
  return body as AuditEntryBody;
}
