import { dayAfterMs } from '../../core/rules/dates.ts';
import type { ExportPorts } from '../../subjects/exports/ports.ts';
import type { ExportJob } from '../../subjects/exports/rules/job.ts';
import { type AuditEntry, auditKeptMs } from '../access/rules/audit.ts';
import { json } from '../api/http.ts';
import { tenantNotFound } from '../api/problems.ts';
import { type AuditEntryBody, auditContract } from '../contract/audit.ts';
import { encodeCursor, pageSizeDefault } from '../contract/fields.ts';
import { operationsFor } from './operations.ts';

type Needs = Pick<ExportPorts, 'exportJobs'>;

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
    const exportIds = [...new Set(seen.flatMap(startedBy))];
    const jobs = await deps.exportJobs.readSome({ tenant, exportIds });
    return json(200, {
      entries: seen.map((entry) => auditEntryBody(withEnd(entry, jobs))),
      nextCursor: next === null ? null : encodeCursor(next),
    });
  },
});

const startedBy = ({ action, after }: AuditEntry) =>
  action === 'export.start' && after ? [String(after['exportId'])] : [];

/** How an export that was started is now, or ended. Of one that isn't kept any more, nothing tells that. */
function withEnd(entry: AuditEntry, jobs: readonly ExportJob[]): AuditEntry {
  if (entry.action !== 'export.start' || entry.after === null) return entry;
  const { state: _, ...after } = entry.after;
  const job = jobs.find(({ exportId }) => exportId === after['exportId']);
  return { ...entry, after: { ...after, ...(job && { state: job.state }) } };
}

function auditEntryBody({ tenant: _, atMs, ...entry }: AuditEntry): AuditEntryBody {
  // To the millisecond: what happened in one second has an order.
  const body = { time: new Date(atMs).toISOString(), ...entry };
  return body as AuditEntryBody;
}
