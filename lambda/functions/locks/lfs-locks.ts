import { deployed } from '../../frame/aws/deployed.ts';
import { warmUpTable } from '../../frame/aws/function.ts';
import * as stores from '../../lists/stores.ts';
import { common, hostUsers, table } from '../../parts.ts';
import { hostLogin } from '../../subjects/hosts/seams.ts';
import { create } from '../../subjects/locks/handler.ts';

export function locksDeps() {
  const tables = table();
  const deps = { ...common(), ledger: stores.ledger(tables) };
  return {
    ...deps,
    tokens: stores.tokens(tables),
    logins: [hostLogin({ ...deps, ...hostUsers(tables) })],
    locks: stores.locks(tables),
    audit: stores.audit(tables),
  };
}

export const handler = await deployed(create, locksDeps, warmUpTable);
