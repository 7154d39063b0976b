import { cloudPrices, s3Prices } from '../../cost/prices.ts';
import { type ApiTally, type StoreTally, total } from './tally.ts';

/** What counted requests cost, in dollars. Neither storage, traffic nor compute. */
export interface RequestDollars {
  /** All requests to the store, those of the client and those of the server, at the prices of S3. */
  readonly store: number;
  /** Requests to the API, as an HTTP API with Lambda functions charges them, and sends to a FIFO queue. */
  readonly api: number;
}

export function requestDollars(input: {
  api: ApiTally;
  store: StoreTally;
  queueSends: number;
}): RequestDollars {
  // Deletes are free.
  const { clientPut, clientGet, serverHead, serverList, serverPut, serverGet } = input.store.counts;
  const { putOrList, getOrHead } = s3Prices;
  const dear = clientPut + serverPut + serverList;
  const cheap = clientGet + serverGet + serverHead;
  const { httpApiRequest, lambdaRequest, fifoQueueRequest } = cloudPrices;
  return {
    store: dear * putOrList + cheap * getOrHead,
    api: total(input.api.counts) * (httpApiRequest + lambdaRequest) + input.queueSends * fifoQueueRequest,
  };
}
