import type { Table } from '../../core/table/requests.ts';
import { weekOutlook } from './history.ts';
import { createDynamoDbHistory } from './history-store.ts';

/** With what the summary of a week says beside what is stored. */
export function historyStores(table: Table) {
  const history = createDynamoDbHistory(table);
  return { history, outlook: (of: Parameters<typeof weekOutlook>[1]) => weekOutlook({ history }, of) };
}
