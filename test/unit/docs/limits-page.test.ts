import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { deletionObjectsMax, openDeletionsMax } from '../../../lambda/core/ledger/rules/deletion.ts';
import {
  crowdedEntries,
  entriesBetweenMax,
  repoLimitsMax,
  reposMax,
  tenantEntriesMax,
} from '../../../lambda/core/ledger/rules/tenant.ts';
import { prefixesMax } from '../../../lambda/core/rules/prefix-set.ts';
import { defaultSettings } from '../../../lambda/core/rules/settings.ts';
import { adoptedReposMax } from '../../../lambda/core/store/rules/adopted-repos.ts';
import { keyLifetimeMs } from '../../../lambda/frame/access/request-keys.ts';
import { auditKeptMs } from '../../../lambda/frame/access/rules/audit.ts';
import { sessionLifetimeMs } from '../../../lambda/frame/access/rules/tokens.ts';
import { sessionsMax } from '../../../lambda/frame/access/token-store.ts';
import { lifetimeSecondsMax, tokenReposMax } from '../../../lambda/frame/contract/tokens.ts';
import type { Limits, TestedSubject } from '../../support/subject.ts';
import * as subjects from '../../support/subjects.ts';

const days = (ms: number) => `${ms / 86_400_000} days`;
const hours = (ms: number) => `${ms / 3_600_000} h`;
const MiB = (bytes: number) => `${bytes / 1024 ** 2} MiB`;

const bySubject = Object.values<TestedSubject>(subjects).map((of) => of.limits ?? {});

/** What somebody who uses or runs the service can meet, and no setting changes. */
const limits: Limits = {
  'Push and fetch': {
    'Objects in a batch': defaultSettings.batchObjectsMax,
    'Body of a request': MiB(defaultSettings.bodyBytesMax),
  },
  'A tenant': {
    Repos: reposMax,
    'Repos with their own limit': repoLimitsMax,
    'Objects reserved for uploads': tenantEntriesMax,
    '… between two reconciles': entriesBetweenMax,
    '… from one token or user, at a reconcile': crowdedEntries,
    'Pending deletes': openDeletionsMax,
    'Objects in one delete': deletionObjectsMax,
  },
  'Tokens and sessions': {
    'Longest lifetime of a token': days(lifetimeSecondsMax * 1000),
    'Repos of a token': tokenReposMax,
    'Lifetime of a console session': hours(sessionLifetimeMs),
    'Sessions of a token': sessionsMax,
  },
  'Exports and garbage collection': {
    'Objects that garbage collection keeps': prefixesMax,
    'Longest garbage collection': days(defaultSettings.gcLimitMs),
  },
  'What is kept': {
    'Audit log': days(auditKeptMs),
    'Idempotency-Key': hours(keyLifetimeMs),
  },
  'A deployment': {
    'Adopted repos': adoptedReposMax,
  },
};

it('docs/limits.md has the limits of the code', async () => {
  const sections = Object.entries(limits).map(([title, general]) => {
    const rows = Object.assign({}, general, ...bySubject.map((of) => of[title] ?? {})) as typeof general;
    const lines = Object.entries(rows).map(([what, value]) => `| ${what} | ${value.toLocaleString('en')} |`);
    return `| **${title}** | |\n${lines.join('\n')}`;
  });
  const page = `# Limits

Fixed limits that you can reach. Other limits are [settings](settings.md), such as the largest file (\`protocol.chunkedMaxGiB\`, 5,000 GiB).

*Generated: \`npx vitest run test/unit/docs/limits-page.test.ts -u\` rewrites it.*

| Limit | Value |
| --- | ---: |
${sections.join('\n')}
`;
  await expect(page).toMatchFileSnapshot(fileURLToPath(new URL('../../../docs/limits.md', import.meta.url)));
});
