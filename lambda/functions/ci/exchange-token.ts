import { deployed } from '../../frame/aws/deployed.ts';
import { warmUpTable } from '../../frame/aws/function.ts';
import * as stores from '../../lists/stores.ts';
import { common, publicUrl, table } from '../../parts.ts';
import { create } from '../../subjects/ci/handler.ts';
import { createIdentityVerifier } from '../../subjects/ci/identity-verifier.ts';
import { createDynamoDbExchangeRules } from '../../subjects/ci/rule-store.ts';
import { stageIssuers } from './parts.ts';

export function exchangeDeps() {
  const tables = table();
  return {
    ...common(),
    publicUrl: publicUrl(),
    identities: createIdentityVerifier(stageIssuers().issuers),
    requestKeys: stores.requestKeys(tables),
    exchangeRules: createDynamoDbExchangeRules(tables),
    ledger: stores.ledger(tables),
    tokens: stores.tokens(tables),
    audit: stores.audit(tables),
  };
}

export const handler = await deployed(create, exchangeDeps, warmUpTable);
