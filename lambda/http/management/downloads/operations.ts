import { dayOf, monthOf, nextMonthMs } from '../../../domain/calendar.ts';
import { monthlyOffer } from '../../../use-cases/downloads/meter-offer.ts';
import { json } from '../../respond.ts';
import { readerAccess, seesRepo } from '../access.ts';
import { encodeCursor } from '../cursor.ts';
import { iso } from '../fields.ts';
import { noBody, type Operations, operation } from '../operation.ts';
import { pageSizeDefault } from '../queries.ts';
import { downloadQuery } from './requests.ts';
import type { DownloadPageBody } from './schemas.ts';

/** By day, repo and token, a page at a time. Of other repos than are asked for nothing is shown, so a page may be short. */
const listDownloads = operation(
  { access: readerAccess, query: downloadQuery, body: noBody },
  async (deps, { tenant: { tenant, downloadLimitBytes }, token, query }) => {
    const nowMs = deps.clock.nowMs();
    const { from = `${monthOf(nowMs)}-01`, to = dayOf(nowMs), limit = pageSizeDefault, cursor, repo } = query;
    const after = cursor !== undefined && { after: cursor };
    const [sum, page] = await Promise.all([
      monthlyOffer(deps, { tenant, atMs: nowMs }),
      deps.downloads.days({ tenant, from, to, pageSize: limit, ...after }),
    ]);
    const seen = page.days.filter(
      (each) => seesRepo({ token }, each.repo) && (repo === undefined || each.repo === repo),
    );
    const body: DownloadPageBody = {
      month: {
        month: monthOf(nowMs),
        ...sum,
        limitBytes: downloadLimitBytes,
        resetsAt: iso(nextMonthMs(nowMs)),
      },
      downloads: [...seen],
      nextCursor: page.next === null ? null : encodeCursor(page.next),
    };
    return json(200, body);
  },
);

export const downloadOperations = {
  'GET /v1/tenants/{tenant}/downloads': listDownloads,
} satisfies Operations;
