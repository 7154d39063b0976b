import { describe, expect, it } from 'vitest';
import type { Failure } from '../../../../lambda/domain/failure.ts';
import {
  ageText,
  exportFailureMs,
  failuresPart,
  isOverByItself,
  overdueActMs,
  queuePart,
  schedulePart,
  scheduleSilentMs,
  storePart,
  tenantsPart,
} from '../../../../lambda/domain/status.ts';

const nowMs = 1_800_000_000_000;
const minute = 60_000;
const hour = 60 * minute;
const lost = { ok: false, why: 'LedgerUnavailableError: no' } as const;
const found = <T>(value: T) => ({ ok: true, value }) as const;

describe('the store', () => {
  const place = { kind: 's3', bucket: 'objects', endpoint: null } as const;

  it('answers, in its time', () => {
    expect(storePart({ ...place, answer: found({ latencyMs: 12.4 }) })).toEqual({
      part: 'store',
      state: 'fine',
      says: 'The object store (objects) answers, in 12 ms.',
      todo: null,
    });
  });

  it('that does not is to be mended: the error says why, and the address where', () => {
    const part = storePart({ ...place, endpoint: 'https://r2.example', answer: lost });
    expect([part.part, part.state]).toEqual(['store', 'act']);
    expect(part.says).toBe(
      'The object store (objects at https://r2.example) does not serve requests: LedgerUnavailableError: no.',
    );
    expect(part.todo).toMatch(/lfs-quota doctor/);
  });
});

describe('the schedule', () => {
  const ran = (silentMs: number, behindMs = silentMs) =>
    schedulePart(found({ ranAtMs: nowMs - silentMs, handedUntilMs: nowMs - behindMs }), nowMs);

  it('ran lately', () => {
    expect(ran(40_000)).toEqual({
      part: 'schedule',
      state: 'fine',
      says: 'The schedule ran 40 s ago.',
      todo: null,
    });
    expect(ran(scheduleSilentMs).state).toBe('fine');
    expect(schedulePart(found(null), nowMs)).toMatchObject({
      part: 'schedule',
      state: 'fine',
      says: expect.stringMatching(/not run yet/),
    });
  });

  it('has stopped, or falls behind', () => {
    expect(ran(scheduleSilentMs + 1)).toMatchObject({
      part: 'schedule',
      state: 'act',
      says: 'The schedule ran last 60 min ago.',
      todo: expect.stringMatching(/refresh/),
    });
    expect(ran(minute, scheduleSilentMs).state).toBe('fine');
    expect(ran(minute, 3 * hour)).toMatchObject({
      part: 'schedule',
      state: 'act',
      says: 'The schedule ran 60 s ago, and is 3 h behind.',
      todo: expect.stringMatching(/protocol\.refreshTenantsMax/),
    });
    expect(schedulePart(lost, nowMs)).toMatchObject({
      part: 'schedule',
      state: 'unknown',
      says: 'The table could not be read: LedgerUnavailableError: no.',
      todo: expect.stringMatching(/DynamoDB/),
    });
  });
});

describe('tenants', () => {
  const late = (lateMs: number, count = 1, isCut = false) =>
    tenantsPart(
      found({
        tenants: Array.from({ length: count }, (_, index) => ({
          tenant: `t${index}`,
          dueAtMs: nowMs - lateMs + index,
        })),
        isCut,
      }),
      nowMs,
    );

  it('are not due for long', () => {
    expect(late(0, 0)).toEqual({
      part: 'tenants',
      state: 'fine',
      says: 'No tenant is due for more than an hour.',
      todo: null,
    });
    expect(late(3 * hour)).toEqual({
      part: 'tenants',
      state: 'fine',
      says: '1 tenant is due for more than an hour. Longest: t0, for 3 h.',
      todo: null,
    });
    expect(late(overdueActMs).state).toBe('fine');
  });

  it('are due for so long that something is to be done', () => {
    expect(late(13 * hour, 2)).toMatchObject({
      part: 'tenants',
      state: 'act',
      says: '2 tenants are due for more than an hour. Longest: t0, for 13 h.',
      todo: expect.stringMatching(/lfs-quota reconcile t0/),
    });
    expect(late(72 * hour, 100, true).says).toBe(
      'More than 100 tenants are due for more than an hour. Longest: t0, for 3 days.',
    );
    expect(tenantsPart(lost, nowMs)).toMatchObject({
      part: 'tenants',
      state: 'unknown',
      says: 'The table could not be read: LedgerUnavailableError: no.',
    });
  });
});

describe('a queue', () => {
  const level = { waiting: 3, running: 1, oldestAtMs: null, deadLetters: 0, deadLettersAt: 'https://dead' };

  it('says how full it is', () => {
    expect(queuePart('recounts', found(level), nowMs)).toEqual({
      part: 'recounts',
      state: 'fine',
      says: 'Recounts: 3 waiting, 1 under way, no dead letters.',
      todo: null,
    });
    const local = { ...level, oldestAtMs: nowMs - 5 * minute, deadLetters: null, deadLettersAt: null };
    expect(queuePart('webhooks', found(local), nowMs)).toMatchObject({
      state: 'fine',
      says: 'Webhooks: 3 waiting, the oldest for 5 min, 1 under way.',
    });
  });

  it.each([
    ['recounts', /function reconcile,.*lfs-quota reconcile TENANT/],
    ['webhooks', /function sendWebhook, and mend it\. Then send them back \(Redriving\)\.$/],
    ['exports', /function exportArchive,.*purge/],
    ['store-events', /function storeEvents,.*in full/],
  ] as const)('of %s with dead letters says where they are, and what to do', (part, todo) => {
    const one = queuePart(part, found({ ...level, deadLetters: 1 }), nowMs);
    expect([one.state, one.says]).toEqual(['act', expect.stringMatching(/under way, 1 dead letter\.$/)]);
    expect(one.todo).toMatch(todo);
    expect(one.todo).toContain('They are in https://dead.');
    expect(queuePart(part, found({ ...level, deadLetters: 2 }), nowMs).says).toMatch(/, 2 dead letters\.$/);
  });

  it('of events of the store is called so', () => {
    expect(queuePart('store-events', found(level), nowMs).says).toMatch(/^Events of the store: 3 waiting,/);
  });

  it('tells an address from tenants', () => {
    const todoAt = (deadLettersAt: string | null) =>
      queuePart('recounts', found({ ...level, deadLetters: 1, deadLettersAt }), nowMs).todo;
    expect(todoAt('http://127.0.0.1:9324/dead')).not.toContain('Tenants: ');
    expect(todoAt('https, http')).toContain('Tenants: https, http. ');
  });

  it('whose dead letters are in the table names their tenants', () => {
    const kept = { ...level, deadLetters: 1, deadLettersAt: 'acme' };
    expect(queuePart('recounts', found(kept), nowMs).todo).toBe(
      "Tenants: acme. Find the cause in the log and fix it. Then run 'lfs-quota reconcile TENANT' for each: success removes its dead letter.",
    );
  });

  it('that does not answer is unknown', () => {
    expect(queuePart('exports', { ok: false, why: 'Stopped!' }, nowMs)).toMatchObject({
      state: 'unknown',
      says: 'Steps of exports: the queue could not be looked at: Stopped!',
      todo: expect.stringMatching(/sqs:GetQueueAttributes/),
    });
  });
});

describe('failures', () => {
  const failure: Failure = { kind: 'recount', tenant: 'a', atMs: 1, sinceMs: 1, tries: 2, why: 'store' };
  const exported: Failure = { ...failure, kind: 'export', exportId: 'e', why: 'export' };

  it('are none, or none that was not made up for', () => {
    expect(failuresPart(found([]))).toEqual({
      part: 'failures',
      state: 'fine',
      says: 'Nothing failed.',
      todo: null,
    });
    expect(failuresPart(found([{ ...failure, isOver: true }]))).toMatchObject({
      state: 'fine',
      says: 'Nothing failed that was not made up for since.',
    });
  });

  it('are counted by what failed, each reason with what to do, once', () => {
    const open = [failure, { ...failure, tenant: 'b' }, exported].map((each) => ({ ...each, isOver: false }));
    const part = failuresPart(found([...open, { ...failure, tenant: 'c', why: 'table', isOver: true }]));
    expect(part).toMatchObject({
      part: 'failures',
      state: 'act',
      says: 'Failed, and not made up for: 2 recounts and 1 export.',
    });
    expect(part.todo).toBe(
      'The store did not answer: it is tried again, and ends by itself once the store does. lfs-quota export list TENANT says why. Start it again.',
    );
    expect(failuresPart(lost)).toMatchObject({
      part: 'failures',
      state: 'unknown',
      says: 'What failed last could not be read: LedgerUnavailableError: no.',
      todo: expect.stringMatching(/DynamoDB/),
    });
  });

  it('of one kind do not speak of the other', () => {
    const says = (each: Failure) => failuresPart(found([{ ...each, isOver: false }])).says;
    expect(says(failure)).toBe('Failed, and not made up for: 1 recount.');
    expect(says(exported)).toBe('Failed, and not made up for: 1 export.');
  });

  it('that say why in several sentences end as one does', () => {
    const why = 'Stopped. It is off';
    expect(failuresPart({ ok: false, why }).says).toMatch(/: Stopped\. It is off\.$/);
    expect(failuresPart({ ok: false, why: `${why}…` }).says).toMatch(/It is off…$/);
  });

  it.each([
    ['table', /table does/],
    ['newer-format', /deploy that version/],
    ['unexpected', /log of the function reconcile/],
  ] as const)('by %s say what to do', (why, todo) => {
    expect(failuresPart(found([{ ...failure, why, isOver: false }])).todo).toMatch(todo);
  });

  it('of exports are over a day later, those of recounts not by themselves', () => {
    expect(isOverByItself(exported, 1 + exportFailureMs)).toBe(false);
    expect(isOverByItself(exported, 2 + exportFailureMs)).toBe(true);
    expect(isOverByItself(failure, 2 + exportFailureMs)).toBe(false);
  });
});

it.each([
  [-5, '0 s'],
  [119_499, '119 s'],
  [120_000, '2 min'],
  [7_199_000, '120 min'],
  [7_200_000, '2 h'],
  [172_799_000, '48 h'],
  [172_800_000, '2 days'],
])('%i ms are %s', (ms, text) => expect(ageText(ms)).toBe(text));
