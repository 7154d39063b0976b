import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { getSubscription, type SubscriptionDeps } from '../../core/ledger/get-subscription.ts';
import { allPages } from '../../core/rules/async.ts';
import type { FunctionPorts } from '../../core/rules/clock-and-log.ts';
import { dayOf } from '../../core/rules/dates.ts';
import type { AccessPorts } from '../access/ports.ts';
import { ifChanged, json } from '../api/http.ts';
import { problem, respondProblem } from '../api/problems.ts';
import { guard, type HttpHandler, withMetrics } from '../aws/function.ts';
import { firstIssue } from '../contract/json.ts';
import { subscriptionQuery } from '../contract/tenants.ts';
import {
  authenticateReader,
  isManager,
  noteUse,
  readableTenant,
  refuseBeyondPrefix,
  seesRepo,
} from './access.ts';
import { partsOfMany } from './repos.ts';
import type { ManagementPorts } from './seams.ts';
import { subscriptionBody } from './tenants.ts';

/** GET /v1/tenants/{tenant}/subscription: a tenant's limit and usage. 202 while a reconcile still runs. */
export function create(
  deps: SubscriptionDeps &
    Pick<AccessPorts, 'admin' | 'tokens'> &
    Pick<ManagementPorts, 'repoParts' | 'subscriptionParts'> &
    FunctionPorts,
): HttpHandler {
  const handle: HttpHandler = async (event) => {
    const beganMs = deps.clock.nowMs();
    const reader = await authenticateReader(deps, event);
    if (!reader.ok) return reader.response;
    const refusal = refuseBeyondPrefix(reader, 'others');
    if (refusal) return refusal;
    const accessEndedMs = deps.clock.nowMs();
    const { name } = reader;
    const [record, repos, ofRepo, , ...ofTenant] = await Promise.all([
      deps.ledger.readTenant(name),
      allPages(deps.ledger.repos(name)),
      partsOfMany(deps.repoParts, { tenant: name, in: 'subscription' }),
      noteUse(deps, reader),
      ...deps.subscriptionParts.map((part) => part({ tenant: name, nowMs: beganMs })),
    ]);
    const access = readableTenant(record, reader);
    if (!access.ok) return access.response;
    const cacheEndedMs = deps.clock.nowMs();
    const query = subscriptionQuery.safeParse(event.queryStringParameters ?? {});
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
    const said = ofTenant.map((of) => of(subscription.tenant, isShown));
    const body = subscriptionBody(
      { ...subscription, repos: seen },
      { ofTenant: Object.assign({}, ...said), ofRepo, today: dayOf(beganMs) },
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
