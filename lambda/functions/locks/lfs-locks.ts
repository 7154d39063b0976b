import { deployed } from '../../frame/aws/deployed.ts';
import { warmUpTable } from '../../frame/aws/function.ts';
import * as stores from '../../stores.ts';
import { create } from '../../subjects/locks/handler.ts';
import { common, hostUsers, table } from '../parts.ts';

export function locksDeps() {
  const tables = table();
  return {
    ...common(),
    ledger: stores.ledger(tables),
    tokens: stores.tokens(tables),
    ...hostUsers(tables),
    locks: stores.locks(tables),
    audit: stores.audit(tables),
  };
}

export const handler = await deployed(create, locksDeps, warmUpTable);
