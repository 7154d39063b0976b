import * as stores from '../stores.ts';
import { common, hostUsers, table } from './parts.ts';

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
