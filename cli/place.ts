import type { ApiClient } from './api-client.ts';
import { option, required } from './command.ts';
import type { CliContext } from './context.ts';
import { UsageError } from './errors.ts';
import type { RepoPlace } from './lfs-batch.ts';
import { parseRepo, parseTenant } from './options.ts';
import { type ApiOptions, cloneAddress, loginTenant, requireServerOf } from './server.ts';

/** Of commands whose operands are names. What isn't passed is the clone's, or the login's. */

export const ofPlace = {
  tenant: option('--tenant <tenant>', "the tenant (default: the clone's, or your login's)", parseTenant),
  repo: option('--repo <repo>', "the repo (default: the clone's)", parseRepo),
};

/** What can't be undone never takes them from a clone. */
export const explicitPlace = {
  tenant: required(option('--tenant <tenant>', 'the tenant; never that of the clone', parseTenant)),
  repo: required(option('--repo <repo>', 'the repo; never that of the clone', parseRepo)),
};

interface PlaceOptions extends ApiOptions {
  readonly tenant?: string | undefined;
  readonly repo?: string | undefined;
}

/** @returns repo: undefined without one, and with a tenant that isn't the clone's. @throws {UsageError} */
export async function tenantPlaceOf(
  client: ApiClient,
  context: CliContext,
  given: PlaceOptions,
): Promise<{ readonly tenant: string; readonly repo: string | undefined }> {
  const isGiven = given.tenant !== undefined && given.repo !== undefined;
  const clone = isGiven ? undefined : await cloneAddress(context);
  if (clone) requireServerOf(clone, client);
  const tenant = given.tenant ?? clone?.tenant ?? loginTenant(given, context);
  if (tenant === undefined) throw new UsageError('Which tenant? Pass --tenant.');
  return { tenant, repo: given.repo ?? (clone?.tenant === tenant ? clone.repo : undefined) };
}

/** @throws {UsageError} */
export async function placeOf(
  client: ApiClient,
  context: CliContext,
  given: PlaceOptions,
): Promise<RepoPlace> {
  const { tenant, repo } = await tenantPlaceOf(client, context, given);
  if (repo !== undefined) return { tenant, repo };
  throw new UsageError(`Which repo? Pass --repo. List them: lfs-quota repo list ${tenant}`);
}
