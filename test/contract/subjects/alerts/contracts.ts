import type { OpenTable } from '../../ledger-context.ts';
import { alertsContract } from './alerts.contract.ts';
import { webhooksContract } from './webhooks.contract.ts';

export function contractsOfAlerts(table: OpenTable): void {
  alertsContract(table);
  webhooksContract(table);
}
