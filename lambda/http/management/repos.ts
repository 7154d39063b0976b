import { readRepos } from '../../use-cases/recounts/get-subscription.ts';
import { json } from '../respond.ts';
import { adminTenantAccess, readerAccess } from './access.ts';
import type { Operation } from './operation.ts';
import { reposBody } from './responses.ts';

export const listRepos: Operation = async (deps, event) => {
  const access = await readerAccess(deps, event);
  if (!access.ok) return access.response;
  return json(200, { repos: reposBody(await readRepos(deps, access.tenant.tenant)) });
};

/** Queues a full recount. */
export const requestRecount: Operation = async (deps, event) => {
  const access = await adminTenantAccess(deps, event);
  if (!access.ok) return access.response;
  const { tenant } = access.tenant;
  await deps.queue.request({ tenant, reason: 'manual', full: true });
  return json(202, { tenant, queued: true });
};
