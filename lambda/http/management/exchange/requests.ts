import * as z from 'zod';
import { listOf, recordOf } from '../../../api/json.ts';
import { tokenRepos } from '../tokens/requests.ts';

/** An identity token of GitHub has about 2,000 characters. */
const idTokenCharactersMax = 16_000;

/** Somebody without any credentials sends it. */
export const exchangeBodyBytesMax = 32_768;

export const exchangeBody = z
  .strictObject({
    idToken: z
      .string()
      .min(1, 'must not be empty')
      .max(idTokenCharactersMax, `must have at most ${idTokenCharactersMax} characters`)
      .meta({ description: 'The identity token (JWT) of a CI job, for the audience `BASE-URL/TENANT`.' }),
  })
  .meta({ id: 'ExchangeToken' });

/** Each exchange reads all rules of a tenant, and anybody with an account at an issuer can ask for one. */
export const ruleBytesMax = 4096;

const issuerCharactersMax = 1000;
const claimsMax = 10;
const valuesMax = 20;
const valueCharactersMax = 255;
const valueRule = `must be a text of 1 to ${valueCharactersMax} characters, or 1 to ${valuesMax} of them`;
const claimValue = z.string(valueRule).min(1, valueRule).max(valueCharactersMax, valueRule);

const ttlSecondsMin = 300;
const ttlSecondsMax = 12 * 60 * 60;
const ttlRule = `must be a whole number of seconds from ${ttlSecondsMin} to ${ttlSecondsMax} (12 hours)`;
export const ttlSecondsDefault = 3600;

export const createRuleBody = z
  .strictObject({
    issuer: z
      .string()
      .max(issuerCharactersMax)
      .meta({ description: 'Whose identity tokens: one of the issuers of the stage.' }),
    match: recordOf(
      z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,99}$/, 'is no name of a claim'),
      z.union([claimValue, listOf(claimValue, { min: 1, max: valuesMax, rule: valueRule })], valueRule),
      { max: claimsMax, rule: `must not name more than ${claimsMax} claims` },
    ).meta({
      description:
        'Claim → the value that it must have, or several of which it must have one. All must match, exactly; a `ref` may ' +
        'end in `*`. GitHub: `repository_id` or `repository_owner_id` is needed. GitLab: `project_id` or ' +
        '`namespace_id`. To push, GitHub also needs `ref` (before a `*`: `refs/heads/` or `refs/tags/` and one more ' +
        'character) or `environment`. GitLab needs `ref_path`, or `ref` with `ref_type=branch` or `ref_protected=true`, or ' +
        '`environment` with `environment_protected=true` or `ref_protected=true`.',
    }),
    scope: z.enum(['read', 'write']),
    repos: tokenRepos
      .nullable()
      .optional()
      .meta({ description: 'The repos that its tokens are for. null: all of the tenant.' }),
    ttlSeconds: z
      .int(ttlRule)
      .min(ttlSecondsMin, ttlRule)
      .max(ttlSecondsMax, ttlRule)
      .optional()
      .meta({ default: ttlSecondsDefault, description: 'How long its tokens are valid.' }),
  })
  .meta({ id: 'CreateExchangeRule' });
