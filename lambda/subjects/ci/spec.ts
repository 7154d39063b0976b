import type { SubjectSpec } from '../../frame/frame-spec.ts';
import { on } from '../../frame/spec.ts';

export const ci = {
  functions: {
    exchangeToken: {
      file: 'ci/exchange-token.ts',
      description: 'Gives CI jobs short-lived tokens for the identity that their host signs.',
      routes: ['POST /v1/tenants/{tenant}/exchange'],
      timeoutSeconds: 15,
      memoryMb: 512,
      table: ['GetItem', 'Query'],
      items: [on(['TOKEN#*', 'REQUEST#*', 'AUDIT#*'], 'PutItem', 'UpdateItem')],
      answersLinks: true,
    },
  },
  adds: {
    management: {
      routes: [
        'GET /v1/tenants/{tenant}/exchange-rules',
        'POST /v1/tenants/{tenant}/exchange-rules',
        'DELETE /v1/tenants/{tenant}/exchange-rules/{ruleId}',
      ],
    },
  },
} as const satisfies SubjectSpec;
