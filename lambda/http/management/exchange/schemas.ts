import * as z from 'zod';
import { time } from '../../../api/contract/fields.ts';

export const exchangeRuleSchema = z
  .object({
    ruleId: z.string(),
    issuer: z.string(),
    match: z.record(z.string(), z.array(z.string())),
    scope: z.enum(['read', 'write']),
    repos: z.array(z.string()).nullable().meta({ description: 'null: all.' }),
    ttlSeconds: z.int().min(1),
    createdAt: time,
    warning: z.string().nullable().meta({
      description:
        "Why a rule like this isn't accepted any more, though it still applies: replace it. null: nothing is wrong.",
    }),
  })
  .meta({ id: 'ExchangeRule' });

export const exchangeRulesSchema = z
  .object({
    rules: z.array(exchangeRuleSchema),
    issuers: z.array(z.string()).meta({ description: 'Whose identity tokens this stage takes.' }),
  })
  .meta({ id: 'ExchangeRules' });

export const exchangedTokenSchema = z
  .object({
    tenant: z.string(),
    token: z.string().meta({ description: 'The secret. It is answered this once and stored nowhere.' }),
    tokenId: z.string(),
    scope: z.enum(['read', 'write']),
    repos: z.array(z.string()).nullable().meta({ description: 'The repos that it is for. null: all.' }),
    expiresAt: time,
  })
  .meta({ id: 'ExchangedToken' });

export type ExchangeRuleBody = z.output<typeof exchangeRuleSchema>;
export type ExchangedTokenBody = z.output<typeof exchangedTokenSchema>;
