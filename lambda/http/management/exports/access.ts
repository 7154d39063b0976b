import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { type Access, readerAccess } from '../../../api/management/access.ts';
import { problem } from '../../../api/problems.ts';
import type { Deps } from '../../../use-cases/deps.ts';
import type { ManagementDeps } from '../operation.ts';
import { openReaderAccess } from '../operation.ts';

/** Whether the stage has workers for exports. */
export function makesExports({ exportSettings }: Pick<Deps, 'exportSettings'>): boolean {
  return exportSettings.pace.workers > 0;
}

type AccessRule<A extends object> = (
  deps: ManagementDeps,
  event: APIGatewayProxyEventV2,
) => Promise<Access<A>>;

function ifMade<A extends object>(access: AccessRule<A>): AccessRule<A> {
  return async (deps, event) => {
    const granted = await access(deps, event);
    if (!granted.ok || makesExports(deps)) return granted;
    const detail = 'This stage makes no exports: its setting exports.workers is 0. Ask whoever runs it.';
    return { ok: false, response: problem('exports-off', detail) };
  };
}

/** Lets the operator, and any token of the tenant, see its exports. */
export const exportsAccess = ifMade(readerAccess);

/** The same to begin one, for a tenant that is not being deleted. */
export const openExportsAccess = ifMade(openReaderAccess);
