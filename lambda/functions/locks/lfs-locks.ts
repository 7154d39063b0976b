import { allOf, each } from '../../core/rules/lists.ts';
import { deployed } from '../../frame/aws/deployed.ts';
import { warmUpTable } from '../../frame/aws/function.ts';
import * as logins from '../../lists/logins.ts';
import * as stores from '../../lists/stores.ts';
import { common, table } from '../../parts.ts';
import { create } from '../../subjects/locks/handler.ts';
import { createDynamoDbLocks } from '../../subjects/locks/lock-store.ts';
import * as loginParts from '../needs/logins.ts';

export function locksDeps() {
  const tables = table();
  const deps = { ...common(), ledger: stores.ledger(tables) };
  return {
    ...deps,
    tokens: stores.tokens(tables),
    logins: each(logins, { ...deps, ...allOf(loginParts, tables) }),
    locks: createDynamoDbLocks(tables),
    audit: stores.audit(tables),
  };
}

export const handler = await deployed(create, locksDeps, warmUpTable);
