import { encodeCursor, pageSizeDefault } from '../../../api/contract/fields.ts';
import { json } from '../../../api/http.ts';
import { auditAccess } from '../../../api/management/access.ts';
import { tenantNotFound } from '../../../api/problems.ts';
import { auditKeptMs } from '../../../domain/audit.ts';
import { dayAfterMs } from '../../../domain/calendar.ts';
import { noBody, type Operations, operation } from '../operation.ts';
import { auditEntryBody } from './bodies.ts';
import { auditQuery } from './requests.ts';

/**
 * The newest first, a page at a time. Of other actions than are asked for nothing is shown, so a page may be short. What is
 * older than it is kept for is left out, wherever nothing removes it.
 */
const listAudit = operation(
  { access: auditAccess, query: auditQuery, body: noBody },
  async (deps, { name: tenant, isKnown, query }) => {
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
    return json(200, {
      entries: seen.map(auditEntryBody),
      nextCursor: next === null ? null : encodeCursor(next),
    });
  },
);

export const auditOperations = {
  'GET /v1/tenants/{tenant}/audit': listAudit,
} satisfies Operations;
