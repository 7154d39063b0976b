import * as z from 'zod';
import { answer, type Contract, managed } from '../../frame/contract/contract.ts';
import { bytesOrNull, limit, onlyTrue, time } from '../../frame/contract/fields.ts';
import { gitHostId, readThrough } from './repo-contract.ts';

export const publicReadLimit = limit(
  "Monthly download limit (UTC) of all anonymous users together, in bytes. A manage token can set up to the tenant's download limit and the server's maximum, 1 TiB by default. null: unlimited, only for the operator.",
);

const linkBody = z
  .strictObject({
    host: gitHostId,
    organization: z
      .string()
      .min(1)
      .max(150)
      .meta({
        description: 'The organization, user or group there. Groups can be nested: group/subgroup.',
        examples: ['acme'],
      }),
    publicRead: z
      .strictObject({ monthlyLimitBytes: publicReadLimit })
      .nullable()
      .optional()
      .describe(
        'Repos that anyone can read there are public here, up to this limit each. null or omitted: they stay private here.',
      ),
    readThrough,
  })
  .meta({ id: 'LinkTenant' });

const linkSchema = z
  .object({
    tenant: z.string(),
    host: z.string(),
    organization: z.string(),
    publicRead: z.object({ monthlyLimitBytes: bytesOrNull }).nullable(),
    readThrough: onlyTrue.describe('Only if missing objects are downloaded from there.'),
    since: time.describe('When the tenant was linked.'),
  })
  .meta({ id: 'TenantLink' });

export type TenantLinkBody = z.output<typeof linkSchema>;

const link = {
  tenant: 'acme',
  host: 'github',
  organization: 'acme',
  publicRead: { monthlyLimitBytes: 107_374_182_400 },
  since: '2026-11-20T08:00:00Z',
};

/** Which organization of a git host a tenant's repos are in. */
export const tenantLinkContract = {
  'GET /v1/tenants/{tenant}/git-host': {
    id: 'getTenantLink',
    summary: "A tenant's organization on a git host",
    access: 'manager',
    answers: { 200: answer('The link.', linkSchema, link) },
    problems: ['tenant-not-linked'],
  },
  'PUT /v1/tenants/{tenant}/git-host': {
    id: 'linkTenant',
    summary: 'Link all repos of a tenant to an organization on a git host',
    description:
      "Repo `game` is then `acme/game` there, without a step per repo. Its users can log in with their tokens for the host, and have the same rights as there. The number of a repository is stored at first use: one that is renamed or replaced is rejected. A repo with its own link isn't affected. Users who can create a repository there can use the repo of that name here, unless it was used before.",
    ...managed('tenant.link'),
    body: { schema: linkBody, example: { host: 'github', organization: 'acme' } },
    answers: { 200: answer('The link.', linkSchema, link) },
  },
  'DELETE /v1/tenants/{tenant}/git-host': {
    id: 'unlinkTenant',
    summary: 'Unlink a tenant from its organization',
    description: 'Logs out its users, except in repos with their own link.',
    access: 'manager',
    action: 'tenant.unlink',
    answers: { 204: { description: "It's unlinked." } },
    problems: ['tenant-not-linked'],
  },
} as const satisfies Contract;
