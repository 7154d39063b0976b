import { dayOf, monthOf, nextMonthMs } from '../../core/rules/dates.ts';
import { json } from '../../frame/api/http.ts';
import { iso, pageSizeDefault } from '../../frame/contract/fields.ts';
import { listedRepos } from '../../frame/management/access.ts';
import { operationsFor } from '../../frame/management/operations.ts';
import { type DownloadPageBody, downloadContract, downloadCursor } from './contract.ts';
import { listDownloadDays } from './downloads.ts';
import type { DownloadPorts } from './ports.ts';

type Needs = Pick<DownloadPorts, 'downloads'>;

export const downloadOperations = operationsFor<Needs>()(downloadContract, {
  /** By day, repo and token, a page at a time. */
  'GET /v1/tenants/{tenant}/downloads': async (
    deps,
    { tenant: { tenant, downloadLimitBytes }, token, query },
  ) => {
    const nowMs = deps.clock.nowMs();
    const { from = `${monthOf(nowMs)}-01`, to = dayOf(nowMs), limit = pageSizeDefault, cursor, repo } = query;
    const of = listedRepos({ token }, repo);
    if ('refusal' in of) return of.refusal;
    const after = cursor !== undefined && { after: cursor };
    const [sum, page] = await Promise.all([
      deps.downloads.month({ tenant, month: monthOf(nowMs) }),
      listDownloadDays(deps, { tenant, from, to, repos: of.repos, pageSize: limit, ...after }),
    ]);
    const body: DownloadPageBody = {
      month: {
        month: monthOf(nowMs),
        ...sum,
        limitBytes: downloadLimitBytes,
        resetsAt: iso(nextMonthMs(nowMs)),
      },
      downloads: [...page.days],
      nextCursor: page.next && downloadCursor.encode(page.next),
    };
    return json(200, body);
  },
});
