import { describe, expect, it } from 'vitest';
import type { Refusal } from '../../../../../lambda/core/ledger/rules/limits.ts';
import * as messages from '../../../../../lambda/subjects/lfs/messages.ts';
import type { TestedSubject } from '../../../../support/subject.ts';
import * as subjects from '../../../../support/subjects.ts';

const nowMs = Date.parse('2026-11-26T19:30:00Z');
const mib = 1024 ** 2;
const consoleUrl = 'https://lfs.example.com/#acme';
const refusal = {
  oids: ['b', 'c'],
  askedCount: 3,
  repo: null,
  limitBytes: 12 * mib,
  storedBytes: 7.6 * mib,
  reservedBytes: 2.9 * mib,
  reservedUntilMs: nowMs + 36 * 60_000,
  refusedBytes: 5.7 * mib,
  missingBytes: 4.2 * mib,
  isWaitingEnough: false,
};
const overLimit = (more: Partial<Refusal> = {}, oid = 'b') =>
  messages.storageLimitReached({
    tenant: 'acme',
    oid,
    refusal: { ...refusal, ...more },
    nowMs,
    consoleUrl,
  });

/** Each text that git prints and no subject has, with values as long as they get in practice. */
const texts = [
  overLimit(),
  overLimit({}, 'c'),
  overLimit({ isWaitingEnough: true }),
  overLimit({ oids: ['b'], storedBytes: 0, reservedBytes: 0, reservedUntilMs: null }),
  messages.unfinishedUploads({
    tenant: 'acme',
    untilMs: nowMs + 86_400_000,
    nowMs,
    seconds: 30,
    filesMax: 100_000,
  }),
  messages.usageCheck(1),
  messages.diskFull({ size: 1.5 * mib, freeBytes: 0 }),
  messages.restored({ tenant: 'acme', untilMs: nowMs + 86_400_000, nowMs, seconds: 240 }),
  messages.restored({ tenant: 'acme', untilMs: nowMs - 1, nowMs, seconds: 10 }),
  messages.downloadLimitReached({
    tenant: 'acme',
    offeredBytes: 1.72 * mib,
    limitBytes: 1.91 * mib,
    askedBytes: 600_000,
    resetsAtMs: nowMs,
  }),
  messages.authenticationRequired([]),
  messages.authenticationRequired(['github', 'forge']),
  messages.tokenInvalid([], 'acme game'),
  messages.tokenInvalid(['github'], 'acme game'),
  messages.readOnly(undefined, 'push'),
  messages.readOnly({ id: 'github:1234', login: 'grace' }, 'lock'),
  messages.hostUnavailable('github'),
  messages.hostLimited('github', 62),
  messages.repoNotFound,
  messages.repoNotCreated('acme', 'gmae'),
  messages.repoOfOtherCase({ tenant: 'acme', repo: 'GAME', other: 'game' }),
  messages.notAnEndpoint('/acme/game.git/info/lfs', '/acme/game.git'),
  messages.notAnEndpoint('/info/lfs'),
  messages.lfsUrlWrong('/acme/team/game.git', '/acme/game.git'),
  messages.lfsUrlWrong(`/${'x'.repeat(200)}`),
  messages.invalid.tooManyObjects(1001, 1000),
  messages.tooManyRepos('acme', 100_000),
  messages.objectNotFound,
  messages.objectDeleted({ oid: 'ab'.repeat(32), atMs: nowMs }),
  messages.objectDeleted({ oid: 'ab'.repeat(32), atMs: nowMs, rule: '30/3' }),
  messages.sizeMismatch(10, 12),
  messages.uploadMissing,
  messages.chunksNeeded({ bytes: 12 * 1024 ** 3, putBytesMax: 5 * 1024 ** 3, place: 'acme game' }),
  messages.uploadInTheWay({}, nowMs),
  messages.uploadInTheWay({ ownUntilMs: nowMs + 40 * 60_000 }, nowMs),
  messages.fileOf('ab'.repeat(32)),
];

const bySubject = Object.entries<TestedSubject>(subjects).flatMap(([name, { folder = name, lfsMessages }]) =>
  lfsMessages ? [{ name, folder, lfsMessages }] : [],
);

describe('what git prints', () => {
  it('is this', async () => {
    await expect(`${texts.join('\n')}\n`).toMatchFileSnapshot('messages.txt');
  });

  it.each(bySubject)('of $name is this', async ({ folder, lfsMessages }) => {
    await expect(`${lfsMessages.join('\n')}\n`).toMatchFileSnapshot(`../${folder}/messages.txt`);
  });

  it('is at most 300 characters long, with the file of an object', () => {
    const ends = ` ${messages.fileOf('ab'.repeat(32))}`;
    const all = [...texts, ...bySubject.flatMap(({ lfsMessages }) => lfsMessages)];
    expect(all.map((text) => text + ends).filter(({ length }) => length > 300)).toEqual([]);
  });
});
