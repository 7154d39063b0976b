import type { CoreDeps } from '../core/ledger/core-deps.ts';
import { getSubscription, type SubscriptionDeps } from '../core/ledger/get-subscription.ts';
import { allPages } from '../core/rules/async.ts';
import type { FunctionPorts } from '../core/rules/clock-and-log.ts';
import { dayMs, dayOf } from '../core/rules/dates.ts';
import type { AccessPorts } from '../frame/access/ports.ts';
import { ifChanged, json } from '../frame/api/http.ts';
import { problem, respondProblem } from '../frame/api/problems.ts';
import { deployed } from '../frame/aws/deployed.ts';
import { guard, type HttpHandler, warmUpTableAndScan, withMetrics } from '../frame/aws/function.ts';
import { firstIssue } from '../frame/contract/json.ts';
import { tenantContract } from '../frame/contract/tenants.ts';
import {
  authenticateReader,
  isManager,
  noteUse,
  readableTenant,
  seesRepo,
} from '../frame/management/access.ts';
import { subscriptionBody } from '../frame/management/tenants.ts';
import * as stores from '../stores.ts';
import { alertsOfCounts } from '../subjects/alerts/seams.ts';
import type { DownloadPorts } from '../subjects/downloads/ports.ts';
import { forecastFrom, forecastNow } from '../subjects/history/history.ts';
import type { HistoryPorts } from '../subjects/history/ports.ts';
import { refusalBodies } from '../subjects/history/routes.ts';
import { lastRefusalsOf } from '../subjects/history/rules/history.ts';
import { historyOfCounts } from '../subjects/history/seams.ts';
import { admin, bucketClient, heard, objectStore, queue, scanning, table } from './parts.ts';

const contract = tenantContract['GET /v1/tenants/{tenant}/subscription'];

/** GET /v1/tenants/{tenant}/subscription: a tenant's limit and usage. 202 while a reconcile still runs. */
export function create(
  deps: SubscriptionDeps &
    Pick<AccessPorts, 'admin' | 'tokens'> &
    Pick<DownloadPorts, 'publicReads'> &
    HistoryPorts &
    FunctionPorts,
): HttpHandler {
  const handle: HttpHandler = async (event) => {
    const beganMs = deps.clock.nowMs();
    const reader = await authenticateReader(deps, event);
    if (!reader.ok) return reader.response;
    const accessEndedMs = deps.clock.nowMs();
    const today = dayOf(beganMs);
    const [record, repos, publicReads, noted] = await Promise.all([
      deps.ledger.readTenant(reader.name),
      allPages(deps.ledger.repos(reader.name)),
      deps.publicReads.list(reader.name),
      deps.history.days({ tenant: reader.name, from: forecastFrom(today), to: today }),
      noteUse(deps, reader),
    ]);
    const access = readableTenant(record, reader);
    if (!access.ok) return access.response;
    const cacheEndedMs = deps.clock.nowMs();
    const query = contract.query.safeParse(event.queryStringParameters ?? {});
    if (!query.success) return problem('invalid-query', `${firstIssue(query.error)}.`);
    const refresh = isManager(access) && query.data.refresh === true;
    const { taken, ...watched } = watchLists(deps);
    const cached = { tenant: access.tenant, repos };
    const subscription = await getSubscription({ ...deps, ...watched }, { cached, refresh });
    const endedMs = deps.clock.nowMs();
    const { beganMs: listsBeganMs = endedMs, endedMs: listsEndedMs = endedMs } = taken;
    deps.log.info('subscription', {
      tenant: access.tenant.tenant,
      source: subscription.source,
      refreshing: subscription.refreshing,
      objectCount: subscription.tenant.scanned?.objectCount ?? null,
      lists: taken.lists,
      accessMs: accessEndedMs - beganMs,
      cacheMs: cacheEndedMs - accessEndedMs,
      // The lease, and what the ledger has. Without a LIST of its own: another reconcile that it waited for.
      planMs: listsBeganMs - cacheEndedMs,
      listMs: listsEndedMs - listsBeganMs,
      commitMs: endedMs - listsEndedMs,
      totalMs: endedMs - beganMs,
    });
    const isShown = (repo: string) => seesRepo(reader, repo);
    const seen = subscription.repos.filter(({ repo }) => isShown(repo));
    const lastRefusals = refusalBodies(lastRefusalsOf(noted, beganMs - dayMs), isShown);
    const forecast = forecastNow({ tenant: subscription.tenant, noted, today });
    const body = subscriptionBody(
      { ...subscription, repos: seen, publicReads },
      { forecast, lastRefusals, today },
    );
    return subscription.refreshing ? json(202, body) : ifChanged(event, json(200, body));
  };
  return guard(deps, respondProblem, withMetrics(deps.metrics, handle));
}

/** Notes the LISTs that were answered, and from when to when they ran. */
function watchLists({ listing, scan, clock }: Pick<CoreDeps, 'listing' | 'scan' | 'clock'>) {
  const taken: { lists: number; beganMs?: number; endedMs?: number } = { lists: 0 };
  const watch = async <T>(list: () => Promise<T>, listsOf = (_: T) => 1) => {
    taken.beganMs ??= clock.nowMs();
    try {
      const result = await list();
      taken.lists += listsOf(result);
      return result;
    } finally {
      taken.endedMs = clock.nowMs();
    }
  };
  const listPage: typeof listing.listPage = (request) => watch(() => listing.listPage(request));
  const listFolders: typeof listing.listFolders = (request) => watch(() => listing.listFolders(request));
  const watched: typeof scan.scan = async (input) =>
    watch(
      () => scan.scan(input),
      (done) => done.requests,
    );
  return { taken, listing: { listPage, listFolders }, scan: { scan: watched } };
}

export function subscriptionDeps() {
  const [tables, client] = [table(), bucketClient()];
  const deps = heard(tables);
  return {
    ...deps,
    ...scanning(client),
    store: objectStore(client),
    listeners: [historyOfCounts(deps), alertsOfCounts(deps)],
    publicReads: stores.publicReads(tables),
    tokens: stores.tokens(tables),
    admin: admin(),
    queue: queue(),
  };
}

export const handler = await deployed(create, subscriptionDeps, warmUpTableAndScan);
