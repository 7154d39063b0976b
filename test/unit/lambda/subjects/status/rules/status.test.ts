import { describe, expect, it } from 'vitest';
import {
  type Failure,
  keptFailuresMax,
  withFailureNoted,
} from '../../../../../../lambda/frame/failures/rules/failures.ts';
import {
  ageText,
  failuresPart,
  overdueActMs,
  queuePart,
  type StatusPart,
  schedulePart,
  scheduleSilentMs,
  storePart,
  tenantsPart,
} from '../../../../../../lambda/subjects/status/rules/status.ts';

describe('failure', () => {
  const failure = (tenant: string, atMs: number, more: Partial<Failure> = {}): Failure => ({
    kind: 'reconcile',
    tenant,
    atMs,
    sinceMs: atMs,
    tries: 1,
    why: 'store',
    ...more,
  });

  describe('the failures that are kept', () => {
    it('are the newest, the newest first', () => {
      let kept: readonly Failure[] = [];
      for (let at = 1; at <= keptFailuresMax + 5; at += 1)
        kept = withFailureNoted(kept, failure(`t${at}`, at));
      expect(kept.map(({ atMs }) => atMs)).toEqual(
        Array.from({ length: keptFailuresMax }, (_, index) => keptFailuresMax + 5 - index),
      );
    });

    it('have one for each reconcile, which goes on since its first try', () => {
      const first = withFailureNoted([failure('b', 5)], failure('a', 10));
      const second = withFailureNoted(first, failure('a', 20, { tries: 2, why: 'table' }));
      expect(second).toEqual([failure('a', 20, { tries: 2, why: 'table', sinceMs: 10 }), failure('b', 5)]);
      // Another message, which begins anew.
      const anew = withFailureNoted(second, failure('a', 30));
      expect(anew[0]).toEqual(failure('a', 30));
      expect(withFailureNoted(anew, failure('a', 40))[0]).toEqual(failure('a', 40));
    });

    it('tell exports and reconciles of one tenant from each other', () => {
      const exported = failure('a', 2, { kind: 'export', exportId: 'e1', why: 'export' });
      const kept = [exported, { ...exported, exportId: 'e2', atMs: 3 }].reduce(withFailureNoted, [
        failure('a', 1),
      ]);
      expect(kept.map(({ kind, exportId }) => [kind, exportId])).toEqual([
        ['export', 'e2'],
        ['export', 'e1'],
        ['reconcile', undefined],
      ]);
    });

    it('are not changed by one that arrives late', () => {
      const kept = [failure('a', 20, { tries: 3, sinceMs: 1 })];
      expect(withFailureNoted(kept, failure('a', 19, { tries: 2 }))).toEqual(kept);
      const inTheSameMs = failure('a', 20, { tries: 4, sinceMs: 20 });
      expect(withFailureNoted(kept, inTheSameMs)).toEqual([{ ...inTheSameMs, sinceMs: 1 }]);
    });

    it('stay in order when one arrives late', () => {
      const kept = withFailureNoted([failure('c', 30), failure('a', 10)], failure('b', 20));
      expect(kept.map(({ tenant }) => tenant)).toEqual(['c', 'b', 'a']);
    });
  });
});

describe('status', () => {
  const nowMs = 1_800_000_000_000;
  const minute = 60_000;
  const hour = 60 * minute;
  const lost = { ok: false, why: 'LedgerUnavailableError: no' } as const;
  const found = <T>(value: T) => ({ ok: true, value }) as const;

  type Said = [
    title: string,
    part: () => StatusPart,
    state: 'fine' | 'act' | 'unknown',
    says: string,
    todo?: RegExp,
  ];

  /** What a part says, word for word, and of what is to be done these words: nothing where all is fine. */
  const saysIt = (name: string, rows: Said[]) =>
    it.each(rows)(`${name} %s`, (_title, told, state, says, todo) => {
      const part = told();
      expect([part.part, part.state, part.says]).toEqual([name, state, says]);
      if (todo) expect(part.todo).toMatch(todo);
      else expect(part.todo).toBeNull();
    });

  const unread = "The table can't be read: LedgerUnavailableError: no.";

  const place = { kind: 's3', bucket: 'objects', endpoint: null } as const;
  const elsewhere = { ...place, endpoint: 'https://r2.example' };
  saysIt('store', [
    [
      'answers, in its time',
      () => storePart({ ...place, answer: found({ latencyMs: 12.4 }) }),
      'fine',
      'The object store (objects) responds in 12 ms.',
    ],
    [
      'has foreign files, which harm nothing',
      () =>
        storePart({
          ...place,
          answer: found({ latencyMs: 12, damage: { lost: 0, damaged: 0, foreign: 3 } }),
        }),
      'fine',
      'The object store (objects) responds in 12 ms. Its files: 3 foreign.',
    ],
    [
      'has lost objects, though it answers',
      () =>
        storePart({
          ...place,
          answer: found({ latencyMs: 12, damage: { lost: 1, damaged: 0, foreign: 0 } }),
        }),
      'act',
      'The object store (objects) responds in 12 ms. Its files: 1 lost.',
      /Push lost objects again from a clone/,
    ],
    [
      'has files that are set aside',
      () =>
        storePart({
          ...place,
          answer: found({ latencyMs: 12, damage: { lost: 0, damaged: 2, foreign: 1 } }),
        }),
      'act',
      'The object store (objects) responds in 12 ms. Its files: 2 damaged, 1 foreign.',
      /delete store\/set-aside/,
    ],
    [
      'that does not is to be mended: the error says why, and the address where',
      () => storePart({ ...elsewhere, answer: lost }),
      'act',
      'The object store (objects at https://r2.example) fails: LedgerUnavailableError: no.',
      /lfs-quota doctor/,
    ],
  ]);

  const ran = (silentMs: number, behindMs = silentMs) =>
    schedulePart(found({ ranAtMs: nowMs - silentMs, handedUntilMs: nowMs - behindMs }), nowMs);
  saysIt('schedule', [
    ['ran lately', () => ran(40_000), 'fine', 'The schedule ran 40 s ago.'],
    ['ran as lately as it must', () => ran(scheduleSilentMs), 'fine', 'The schedule ran 60 min ago.'],
    [
      'is behind no more than it may',
      () => ran(minute, scheduleSilentMs),
      'fine',
      'The schedule ran 60 s ago.',
    ],
    [
      'is new',
      () => schedulePart(found(null), nowMs),
      'fine',
      "The schedule hasn't run yet. It runs within minutes of the first start.",
    ],
    ['has stopped', () => ran(scheduleSilentMs + 1), 'act', 'The schedule ran last 60 min ago.', /refresh/],
    [
      'falls behind',
      () => ran(minute, 3 * hour),
      'act',
      'The schedule ran 60 s ago, and is 3 h behind.',
      /protocol\.refreshTenantsMax/,
    ],
    ['is not known', () => schedulePart(lost, nowMs), 'unknown', unread, /DynamoDB/],
  ]);

  const late = (lateMs: number, count = 1, isCut = false) => {
    const tenants = Array.from({ length: count }, (_, index) => ({
      tenant: `t${index}`,
      dueAtMs: nowMs - lateMs + index,
    }));
    return tenantsPart(found({ tenants, isCut }), nowMs);
  };
  saysIt('tenants', [
    ['are not due for long', () => late(0, 0), 'fine', 'No tenant is overdue by more than an hour.'],
    [
      'may be due for hours',
      () => late(3 * hour),
      'fine',
      '1 tenant is overdue by more than an hour. Longest: t0, for 3 h.',
    ],
    [
      'may be due for half a day',
      () => late(overdueActMs),
      'fine',
      '1 tenant is overdue by more than an hour. Longest: t0, for 12 h.',
    ],
    [
      'are due for so long that something is to be done',
      () => late(13 * hour, 2),
      'act',
      '2 tenants are overdue by more than an hour. Longest: t0, for 13 h.',
      /lfs-quota scan now t0/,
    ],
    [
      'are more than are told',
      () => late(72 * hour, 100, true),
      'act',
      'More than 100 tenants are overdue by more than an hour. Longest: t0, for 3 days.',
      /./,
    ],
    ['are not known', () => tenantsPart(lost, nowMs), 'unknown', unread, /./],
  ]);

  const level = { waiting: 3, running: 1, oldestAtMs: null, deadLetters: 0, deadLettersAt: 'https://dead' };
  const ofTable = { ...level, oldestAtMs: nowMs - 5 * minute, deadLetters: null, deadLettersAt: null };
  saysIt('reconciles', [
    [
      'says how full it is',
      () => queuePart('reconciles', found(level), nowMs),
      'fine',
      'Reconciles: 3 waiting, 1 in progress, no dead letters.',
    ],
  ]);
  saysIt('webhooks', [
    [
      'tells how long the oldest waits',
      () => queuePart('webhooks', found(ofTable), nowMs),
      'fine',
      'Webhooks: 3 waiting, the oldest for 5 min, 1 in progress.',
    ],
  ]);
  saysIt('exports', [
    [
      'that does not answer is unknown',
      () => queuePart('exports', { ok: false, why: 'Stopped!' }, nowMs),
      'unknown',
      "Steps of exports: the queue can't be checked: Stopped!",
      /sqs:GetQueueAttributes/,
    ],
  ]);

  describe('a queue', () => {
    it.each([
      ['reconciles', /log of reconcile,.*lfs-quota scan now TENANT/],
      ['webhooks', /log of sendWebhook, and fix it\. Then redrive them \(docs\/runbook\.md#redrive\)\.$/],
      ['exports', /log of exportArchive,.*purge/],
      ['store-events', /log of storeEvents,.*reconcile the tenants/],
    ] as const)('of %s with dead letters says where they are, and what to do', (part, todo) => {
      const one = queuePart(part, found({ ...level, deadLetters: 1 }), nowMs);
      expect([one.state, one.says]).toEqual(['act', expect.stringMatching(/in progress, 1 dead letter\.$/)]);
      expect(one.todo).toMatch(todo);
      expect(one.todo).toContain("They're in https://dead.");
      expect(queuePart(part, found({ ...level, deadLetters: 2 }), nowMs).says).toMatch(/, 2 dead letters\.$/);
    });

    it('of events of the store is called so', () => {
      expect(queuePart('store-events', found(level), nowMs).says).toMatch(/^Events of the store: 3 waiting,/);
    });

    it('tells an address from tenants', () => {
      const todoAt = (deadLettersAt: string | null) =>
        queuePart('reconciles', found({ ...level, deadLetters: 1, deadLettersAt }), nowMs).todo;
      expect(todoAt('http://127.0.0.1:9324/dead')).not.toContain('Tenants: ');
      expect(todoAt('https, http')).toContain('Tenants: https, http. ');
    });

    it('whose dead letters are in the table names their tenants', () => {
      const kept = { ...level, deadLetters: 1, deadLettersAt: 'acme' };
      expect(queuePart('reconciles', found(kept), nowMs).todo).toBe(
        "Tenants: acme. Find the cause in the log and fix it. Then run 'lfs-quota scan now TENANT' for each: success removes its dead letter.",
      );
    });
  });

  const failure: Failure = { kind: 'reconcile', tenant: 'a', atMs: 1, sinceMs: 1, tries: 2, why: 'store' };
  const exported: Failure = { ...failure, kind: 'export', exportId: 'e', why: 'export' };
  const open = [failure, { ...failure, tenant: 'b' }, exported].map((each) => ({ ...each, isOver: false }));
  const over = { ...failure, tenant: 'c', why: 'table', isOver: true } as const;
  saysIt('failures', [
    ['are none', () => failuresPart(found([])), 'fine', 'Nothing failed.'],
    [
      'were made up for',
      () => failuresPart(found([over])),
      'fine',
      'All failures have since been recovered.',
    ],
    [
      'are counted by what failed, each reason with what to do, once',
      () => failuresPart(found([...open, over])),
      'act',
      'Failed, and not recovered since: 2 reconciles and 1 export.',
      /^The store didn't respond\. It's retried until it does\. lfs-quota export list a shows why\. Start it again\.$/,
    ],
    [
      'are not known',
      () => failuresPart(lost),
      'unknown',
      "Recent failures can't be read: LedgerUnavailableError: no.",
      /DynamoDB/,
    ],
  ]);

  describe('failures', () => {
    it('of one kind do not speak of the other', () => {
      const says = (each: Failure) => failuresPart(found([{ ...each, isOver: false }])).says;
      expect(says(failure)).toBe('Failed, and not recovered since: 1 reconcile.');
      expect(says(exported)).toBe('Failed, and not recovered since: 1 export.');
    });

    it('that say why in several sentences end as one does', () => {
      const why = 'Stopped. It is off';
      expect(failuresPart({ ok: false, why }).says).toMatch(/: Stopped\. It is off\.$/);
      expect(failuresPart({ ok: false, why: `${why}…` }).says).toMatch(/It is off…$/);
    });

    it.each([
      ['table', /table didn't respond/],
      ['newer-format', /deploy that version/],
      ['unexpected', /log of the function reconcile/],
    ] as const)('by %s say what to do', (why, todo) => {
      expect(failuresPart(found([{ ...failure, why, isOver: false }])).todo).toMatch(todo);
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
});
