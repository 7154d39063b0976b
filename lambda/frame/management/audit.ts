import { dayAfterMs } from '../../core/rules/dates.ts';
import { type AuditEntry, auditKeptMs } from '../access/rules/audit.ts';
import { json } from '../api/http.ts';
import { tenantNotFound } from '../api/problems.ts';
import { type AuditEntryBody, auditContract } from '../contract/audit.ts';
import { encodeCursor, pageSizeDefault } from '../contract/fields.ts';
import { operationsFor } from './operations.ts';
import type { ManagementPorts } from './seams.ts';

type Needs = Pick<ManagementPorts, 'auditParts'>;

export const auditOperations = operationsFor<Needs>()(auditContract, {
  /**
   * The newest first, a page at a time. Of other actions than are asked for nothing is shown, so a page may be short. What is
   * older than it is kept for is left out, wherever nothing removes it.
   */
  'GET /v1/tenants/{tenant}/audit': async (deps, { name: tenant, isKnown, query }) => {
    const { from, to, action, limit = pageSizeDefault, cursor } = query;
    const nowMs = deps.clock.nowMs();
    const keptSinceMs = nowMs - auditKeptMs;
    const { entries, next } = await deps.audit.list({
      tenant,
      fromMs: from === undefined ? keptSinceMs : Math.max(Date.parse(from), keptSinceMs),
      untilMs: dayAfterMs(to === undefined ? nowMs : Date.parse(to)),
      pageSize: limit,
      ...(cursor !== undefined && { before: cursor }),
    });
    // A tenant that was never there may have been asked for.
    if (!isKnown && entries.length === 0) return tenantNotFound();
    const seen = entries.filter((entry) => action === undefined || entry.action === action);
    let known: readonly AuditEntry[] = seen;
    for (const part of deps.auditParts) known = await part({ tenant, entries: known });
    return json(200, {
      entries: known.map(auditEntryBody),
      nextCursor: next === null ? null : encodeCursor(next),
    });
  },
});

function auditEntryBody({ tenant: _, atMs, ...entry }: AuditEntry): AuditEntryBody {
  // To the millisecond: what happened in one second has an order.
  const body = { time: new Date(atMs).toISOString(), ...entry };
  return body as AuditEntryBody;
}
