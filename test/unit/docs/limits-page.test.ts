import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { requestedObjectsMax } from '../../../lambda/api/contract/exports.ts';
import { lifetimeSecondsMax, tokenReposMax } from '../../../lambda/api/contract/tokens.ts';
import { downloadsKeptMs } from '../../../lambda/downloads/download-store.ts';
import { exportLimitMs } from '../../../lambda/exports/rules/settings.ts';
import { startsPerDayMax } from '../../../lambda/exports/start.ts';
import { prefixesMax } from '../../../lambda/gc/rules/prefix-set.ts';
import { historyDaysMax } from '../../../lambda/history/rules/history.ts';
import { deletionObjectsMax, openDeletionsMax } from '../../../lambda/ledger/rules/deletion.ts';
import {
  claimsBetweenMax,
  crowdedClaims,
  repoLimitsMax,
  reposMax,
  tenantClaimsMax,
} from '../../../lambda/ledger/rules/tenant.ts';
import { lockPageMax, lockPathCharactersMax } from '../../../lambda/locks/rules/locks.ts';
import { auditKeptMs } from '../../../lambda/people/rules/audit.ts';
import { gitHostsMax, mappedReposMax, publicReposMax } from '../../../lambda/people/rules/git-hosts.ts';
import { exchangeRulesMax } from '../../../lambda/people/rules/identities.ts';
import { sessionLifetimeMs } from '../../../lambda/people/rules/tokens.ts';
import { keyLifetimeMs } from '../../../lambda/people/tenants.ts';
import { sessionsMax } from '../../../lambda/people/token-store.ts';
import { defaultSettings } from '../../../lambda/rules/settings.ts';
import { adoptedReposMax } from '../../../lambda/store/rules/adopted-repos.ts';

const days = (ms: number) => `${ms / 86_400_000} days`;
const hours = (ms: number) => `${ms / 3_600_000} h`;
const MiB = (bytes: number) => `${bytes / 1024 ** 2} MiB`;

/** What somebody who uses or runs the service can meet, and no setting changes. */
const limits: Readonly<Record<string, Readonly<Record<string, number | string>>>> = {
  'Push and fetch': {
    'Objects in a batch': defaultSettings.batchObjectsMax,
    'Body of a request': MiB(defaultSettings.bodyBytesMax),
    'Characters in the path of a file lock': lockPathCharactersMax,
    'File locks on a page': lockPageMax,
  },
  'A tenant': {
    'Repos, after which a push makes no new one': reposMax,
    'Repos with a limit of their own': repoLimitsMax,
    'Public repos': publicReposMax,
    'Repos mapped to git hosts': mappedReposMax,
    'Rules for identities': exchangeRulesMax,
    'Objects on their way': tenantClaimsMax,
    '… between two recounts': claimsBetweenMax,
    '… from one token or user, before it has to wait': crowdedClaims,
    'Deletes that wait, before no single object can be deleted': openDeletionsMax,
    'Objects in one of them': deletionObjectsMax,
  },
  'Tokens and sessions': {
    'Longest lifetime of a token': days(lifetimeSecondsMax * 1000),
    'Repos of a token': tokenReposMax,
    'Lifetime of a console session': hours(sessionLifetimeMs),
    'Sessions of a token': sessionsMax,
  },
  'Exports and clean-ups': {
    'Exports started in 24 hours': startsPerDayMax,
    'Objects that an export names': requestedObjectsMax,
    'Longest export': hours(exportLimitMs),
    'Objects that a clean-up keeps': prefixesMax,
    'Longest clean-up': days(defaultSettings.cleanupLimitMs),
  },
  'What is kept': {
    'Audit log': days(auditKeptMs),
    'History of usage': `${historyDaysMax} days`,
    Downloads: days(downloadsKeptMs),
    'Idempotency-Key': hours(keyLifetimeMs),
  },
  'A deployment': {
    'Git hosts': gitHostsMax,
    'Adopted repos': adoptedReposMax,
  },
};

it('docs/limits.md has the limits of the code', async () => {
  const sections = Object.entries(limits).map(([title, rows]) => {
    const lines = Object.entries(rows).map(([what, value]) => `| ${what} | ${value.toLocaleString('en')} |`);
    return `| **${title}** | |\n${lines.join('\n')}`;
  });
  const page = `# Limits

What you can meet, and no [setting](settings.md) changes. The largest object is a setting: \`protocol.objectMaxMiB\`.

*Generated: \`npx vitest run test/unit/docs/limits-page.test.ts -u\` rewrites it.*

| Limit | Value |
| --- | ---: |
${sections.join('\n')}
`;
  await expect(page).toMatchFileSnapshot(fileURLToPath(new URL('../../../docs/limits.md', import.meta.url)));
});
