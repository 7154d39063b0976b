import type { Table } from '../../core/table/requests.ts';
import { weekOutlook } from './history.ts';
import { createDynamoDbHistory } from './history-store.ts';

export { createDynamoDbHistory as history } from './history-store.ts';

/** What the summary of a week says beside what is stored. */
export function outlook(table: Table) {
  const history = createDynamoDbHistory(table);
  return (of: Parameters<typeof weekOutlook>[1]) => weekOutlook({ history }, of);
}
