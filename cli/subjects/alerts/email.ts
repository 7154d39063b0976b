import type { BodyOf } from '../../api-client.ts';
import { tableOf } from '../../columns.ts';
import { group, operand, routeCommand, tenantOperand } from '../../command.ts';
import { formatAge } from '../../render.ts';

const addressOperand = operand('<address>', 'e-mail address');

const emailTable = tableOf<BodyOf<'listEmails'>['emails'][number]>([
  ['address', ({ address }) => address],
  ['added', ({ addedAt }, { nowMs }) => formatAge(addedAt, nowMs)],
  ['alerts', stateOf],
]);

export const emailCommands = group('email', 'E-mail alerts to addresses', [
  routeCommand({
    name: 'add',
    description: 'E-mail alerts to an address, once its reader confirms',
    route: 'addEmail',
    operands: { tenant: tenantOperand, address: addressOperand },
    body: ({ operands: { address } }) => ({ address }),
    print: ({ address, confirmedAt }) =>
      confirmedAt === null
        ? `Sending a link to ${address}. It gets alerts once that's confirmed, within 48 hours.\n`
        : `${address} gets alerts already.\n`,
  }),
  routeCommand({
    name: 'list',
    description: 'List the addresses that get alerts',
    route: 'listEmails',
    operands: { tenant: tenantOperand },
    print: ({ emails }, { view, context, operands }) =>
      emails.length === 0
        ? `No addresses. Add one: ${context.program} email add ${operands.tenant} ada@example.com\n`
        : emailTable(emails, view),
  }),
  routeCommand({
    name: 'remove',
    description: 'Stop e-mails to an address',
    route: 'removeEmail',
    operands: { tenant: tenantOperand, address: addressOperand },
    query: ({ operands: { address } }) => ({ address }),
    print: (_, { operands }) => `${operands.address} is removed.\n`,
  }),
]);

function stateOf({ confirmedAt, ended }: BodyOf<'listEmails'>['emails'][number]): string {
  if (ended !== null) return `ended: ${ended}`;
  return confirmedAt === null ? 'not confirmed' : 'yes';
}
