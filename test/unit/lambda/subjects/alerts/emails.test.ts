import { describe, expect, it } from 'vitest';
import { dayMs, dayOf } from '../../../../../lambda/core/rules/dates.ts';
import { createTenant } from '../../../../../lambda/frame/access/tenants.ts';
import { createToken } from '../../../../../lambda/frame/access/tokens.ts';
import type { Mailer } from '../../../../../lambda/frame/net/ports.ts';
import { deliverAlerts } from '../../../../../lambda/subjects/alerts/alerts.ts';
import { create } from '../../../../../lambda/subjects/alerts/email-handler.ts';
import {
  addEmail as addOutcome,
  deliverEmail,
  emailWork,
  endEmail,
  queueNotices,
  removeEmail,
  useEmailKey,
} from '../../../../../lambda/subjects/alerts/emails.ts';
import {
  confirmationsPerDayMax,
  confirmWithinMs,
  type EmailMessage,
  emailsMax,
  isForPeople,
} from '../../../../../lambda/subjects/alerts/rules/email.ts';
import { deliver } from '../../../../support/delivery.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { recordingLog } from '../../../../support/recording-log.ts';

const tenant = 'acme';
const addEmail = async (...input: Parameters<typeof addOutcome>) => (await addOutcome(...input)).kind;
const url = 'https://lfs.example.com';
const hourMs = 3_600_000;

/** A tenant, its mail, and the queue between them. */
async function world() {
  const clock = new ManualClock();
  const { log, entries } = recordingLog();
  const queued: EmailMessage[] = [];
  const mail: Parameters<Mailer['send']>[0][] = [];
  const failing = new Set<string>();
  const deps = memoryDeps({
    clock,
    log,
    emailQueue: { isOn: true, send: async (messages) => void queued.push(...messages) },
    mailer: {
      send: async (email) => {
        if (failing.has(email.to)) throw new Error('SES says no');
        mail.push(email);
      },
    },
  });
  await createTenant(deps, { tenant, plan: null, limitBytes: 1000 });
  /** Delivers what is queued. @returns what was sent. */
  const deliver = async () => {
    mail.length = 0;
    for (const message of queued.splice(0)) await deliverEmail(deps, { message, url });
    return [...mail];
  };
  const keyOf = async (address: string) =>
    (await deps.emails.read(tenant)).addresses.find((each) => each.address === address)?.key ?? '';
  const subscribe = async (address: string) => {
    expect(await addEmail(deps, { tenant, address })).toBe('asked');
    await deliver();
    expect(await useEmailKey(deps, { key: await keyOf(address), use: 'confirm' })).toBe(true);
  };
  return { deps, clock, entries, queued, mail, failing, deliver, keyOf, subscribe };
}

const alert = (id: string, data: Record<string, number | string | null> = {}): EmailMessage => ({
  kind: 'alert',
  tenant,
  event: {
    id,
    type: 'storage.threshold',
    timestamp: '2026-11-21T05:00:00.000Z',
    data: { tenant, threshold: 90, previousThreshold: 80, storedBytes: 900, limitBytes: 1000, ...data },
  },
});

describe('an address', () => {
  it('gets a link, and alerts only once that is used', async () => {
    const { deps, deliver, keyOf, queued } = await world();
    expect(await addEmail(deps, { tenant, address: 'ada@example.com' })).toBe('asked');
    const [confirmation] = await deliver();
    const key = await keyOf('ada@example.com');
    expect(confirmation).toMatchObject({ to: 'ada@example.com', unsubscribeUrl: null });
    expect(confirmation?.text).toContain(`${url}/#_email/confirm/${key}`);
    queued.push(alert('acme:1'));
    expect(await deliver()).toEqual([]);
    expect(await useEmailKey(deps, { key, use: 'confirm' })).toBe(true);
    expect(await useEmailKey(deps, { key, use: 'confirm' })).toBe(true);
    queued.push(alert('acme:2'));
    const [sent] = await deliver();
    expect(sent).toMatchObject({
      to: 'ada@example.com',
      subject: 'acme uses 90% of its storage',
      unsubscribeUrl: `${url}/v1/emails/unsubscribe?key=${key}`,
    });
    expect(sent?.text).toContain('900 B of 1000 B (90.0%)');
    expect(sent?.text).toContain(`${url}/#_email/end/${key}`);
  });

  it('cannot be confirmed after 48 hours, and asks again then', async () => {
    const { deps, clock, deliver, keyOf } = await world();
    await addEmail(deps, { tenant, address: 'ada@example.com' });
    const first = await keyOf('ada@example.com');
    clock.advance(confirmWithinMs - 1);
    expect(await useEmailKey(deps, { key: first.replace(/.$/, '!'), use: 'confirm' })).toBe(false);
    clock.advance(1);
    expect(await useEmailKey(deps, { key: first, use: 'confirm' })).toBe(false);
    expect(await addEmail(deps, { tenant, address: 'ADA@example.com' })).toBe('asked');
    expect((await deps.emails.read(tenant)).addresses).toHaveLength(1);
    expect(await useEmailKey(deps, { key: first, use: 'confirm' })).toBe(false);
    const sent = await deliver();
    // The first key is worth nothing any more, so its link isn't sent.
    expect(sent.map(({ to }) => to)).toEqual(['ADA@example.com']);
    expect(await useEmailKey(deps, { key: await keyOf('ADA@example.com'), use: 'confirm' })).toBe(true);
  });

  it('that gets alerts already is not asked again', async () => {
    const { deps, subscribe, queued } = await world();
    await subscribe('ada@example.com');
    expect(await addEmail(deps, { tenant, address: 'ada@example.com' })).toBe('confirmed');
    expect(queued).toEqual([]);
  });

  it('is one of ten at most, and of twenty links a day', async () => {
    const { deps, clock } = await world();
    for (let index = 0; index < emailsMax; index += 1)
      expect(await addEmail(deps, { tenant, address: `${index}@example.com` })).toBe('asked');
    expect(await addEmail(deps, { tenant, address: 'more@example.com' })).toBe('full');
    for (let index = emailsMax; index < confirmationsPerDayMax; index += 1) {
      expect(await removeEmail(deps, { tenant, address: `${index - 1}@example.com` })).toBe('removed');
      expect(await addEmail(deps, { tenant, address: `${index}@example.com` })).toBe('asked');
    }
    expect(await addEmail(deps, { tenant, address: '1@example.com' })).toBe('too-many');
    clock.advance(dayMs);
    expect(await addEmail(deps, { tenant, address: '1@example.com' })).toBe('asked');
    expect(await removeEmail(deps, { tenant, address: 'nobody@example.com' })).toBe('absent');
  });

  it('gets two links a day, however it is written', async () => {
    const { deps, clock, deliver } = await world();
    const add = async (address: string) => {
      const kind = await addEmail(deps, { tenant, address });
      await removeEmail(deps, { tenant, address });
      return kind;
    };
    expect(await add('ada+1@example.com')).toBe('asked');
    expect(await add('Ada+b+c@Example.com')).toBe('asked');
    for (const address of ['ada@example.com', 'ada+@example.com', 'ADA+2@example.com'])
      expect(await add(address), address).toBe('too-many');
    // Others have their own two.
    for (const address of ['ada@example.org', '+ada@example.com', 'adam@example.com'])
      expect(await add(address), address).toBe('asked');
    clock.advance(dayMs);
    expect(await addEmail(deps, { tenant, address: 'Ada+1@example.com' })).toBe('asked');
    expect((await deliver()).map(({ to }) => to)).toEqual(['Ada+1@example.com']);
  });

  it('gets two links a day, though it is removed and added again', async () => {
    const { deps, clock } = await world();
    const add = () => addEmail(deps, { tenant, address: 'ada@example.com' });
    expect(await add()).toBe('asked');
    await removeEmail(deps, { tenant, address: 'ada@example.com' });
    expect(await add()).toBe('asked');
    await removeEmail(deps, { tenant, address: 'ada@example.com' });
    expect(await add()).toBe('too-many');
    expect(await addEmail(deps, { tenant, address: 'bob@example.com' })).toBe('asked');
    clock.advance(dayMs);
    expect(await add()).toBe('asked');
  });

  it.each(['', 'acme', 'acme.', `acme.${'x'.repeat(32)}`, `nobody.${'x'.repeat(32)}`, `A.${'x'.repeat(32)}`])(
    'is not found by the key %j',
    async (key) => {
      const { deps, subscribe } = await world();
      await subscribe('ada@example.com');
      for (const use of ['confirm', 'unsubscribe'] as const)
        expect(await useEmailKey(deps, { key, use })).toBe(false);
    },
  );

  it('gets nothing once it unsubscribed, bounced or complained, and the list says why', async () => {
    const { deps, subscribe, keyOf, queued, deliver, entries } = await world();
    for (const name of ['ada', 'bob', 'eve', 'kim']) await subscribe(`${name}@example.com`);
    const key = await keyOf('ada@example.com');
    expect(await useEmailKey(deps, { key, use: 'unsubscribe' })).toBe(true);
    expect(await useEmailKey(deps, { key, use: 'unsubscribe' })).toBe(true);
    expect(await useEmailKey(deps, { key, use: 'confirm' })).toBe(false);
    await endEmail(deps, { tenant, address: 'bob@example.com', ended: 'bounced' });
    await endEmail(deps, { tenant, address: 'eve@example.com', ended: 'complained' });
    await endEmail(deps, { tenant, address: 'ada@example.com', ended: 'bounced' });
    const { addresses } = await deps.emails.read(tenant);
    expect(addresses.map(({ ended }) => ended)).toEqual(['unsubscribed', 'bounced', 'complained', null]);
    queued.push(alert('acme:3'));
    expect((await deliver()).map(({ to }) => to)).toEqual(['kim@example.com']);
    // No address is in the log.
    expect(JSON.stringify(entries)).not.toContain('@example.com');
  });
});

describe('an event', () => {
  it('comes once to each address, however often its message does', async () => {
    const { deps, subscribe, queued, deliver, failing } = await world();
    for (const name of ['ada', 'bob', 'eve']) await subscribe(`${name}@example.com`);
    failing.add('bob@example.com');
    queued.push(alert('acme:7'));
    await expect(deliver()).rejects.toThrow('SES says no');
    failing.clear();
    queued.push(alert('acme:7'), alert('acme:7'));
    expect((await deliver()).map(({ to }) => to)).toEqual(['bob@example.com']);
    expect((await deps.emails.read(tenant)).addresses.map(({ sent }) => sent)).toEqual([
      ['acme:7'],
      ['acme:7'],
      ['acme:7'],
    ]);
  });

  it('is for people if a threshold is reached or a push was refused', () => {
    const event = (
      type: 'storage.threshold' | 'storage.limit_reached' | 'webhook.test',
      to: number,
      from: number,
    ) => ({ id: 'a', type, timestamp: '', data: { threshold: to, previousThreshold: from } }) as const;
    expect(isForPeople(event('storage.threshold', 80, 0))).toBe(true);
    expect(isForPeople(event('storage.threshold', 0, 90))).toBe(false);
    expect(isForPeople(event('storage.threshold', 80, 90))).toBe(false);
    expect(isForPeople(event('storage.limit_reached', 0, 0))).toBe(true);
    expect(isForPeople(event('webhook.test', 0, 0))).toBe(false);
  });

  it('goes from the ledger through both queues', async () => {
    const { deps, clock, subscribe, deliver } = await world();
    await subscribe('ada@example.com');
    const refused = {
      kind: 'limit_reached',
      atMs: clock.nowMs(),
      storedBytes: 990,
      limitBytes: 1000,
    } as const;
    await deps.alerts.raiseFull({ tenant, day: dayOf(clock.nowMs()), alert: refused });
    expect(await deliverAlerts(deps)).toBe(1);
    const [sent] = await deliver();
    expect(sent?.subject).toBe('acme: a push was refused, as the storage limit is reached');
    expect(sent?.text).toContain('990 B of 1000 B (99.0%)');
  });
});

describe('the notices of a day', () => {
  /** Until this hour of the day, in UTC, if it is not past it. */
  const toHour = (clock: ManualClock, hour: number) => {
    const now = new Date(clock.nowMs());
    const at = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate(), hour);
    clock.advance((at - clock.nowMs() + dayMs) % dayMs);
  };
  const toMonday = (clock: ManualClock) => {
    toHour(clock, 7);
    while (new Date(clock.nowMs()).getUTCDay() !== 1) clock.advance(dayMs);
  };

  it('name each token once, 14 days before it expires', async () => {
    const { deps, clock, subscribe, deliver } = await world();
    await subscribe('ada@example.com');
    const make = (label: string, lifetimeMs: number | null) =>
      createToken(deps, { tenant, scope: 'write', label, lifetimeMs });
    await make('farm', 30 * dayMs);
    await make('laptop', 31 * dayMs);
    await make('forever', null);
    await make('short', 5 * dayMs);
    const told: string[] = [];
    for (let day = 0; day < 40; day += 1) {
      clock.advance(dayMs);
      toHour(clock, 7);
      if (new Date(clock.nowMs()).getUTCDay() === 1) continue;
      await queueNotices(deps);
      // It was done for this day.
      expect(await queueNotices(deps)).toBe(0);
      for (const { text } of await deliver()) told.push(...(text.match(/^\w+ \([0-9a-f]{16}\)/gm) ?? []));
    }
    expect(told.map((line) => line.split(' ')[0]).sort()).toEqual(['farm', 'laptop']);
  });

  it('sum up the week on Monday, and are not sent to others, before six, or without e-mail', async () => {
    const { deps, clock, subscribe, deliver } = await world();
    toMonday(clock);
    expect(await queueNotices(deps)).toBe(0);
    await subscribe('ada@example.com');
    toHour(clock, 5);
    expect(await queueNotices(deps)).toBe(0);
    toMonday(clock);
    expect(await queueNotices({ ...deps, emailQueue: { ...deps.emailQueue, isOn: false } })).toBe(0);
    expect(await queueNotices(deps)).toBe(1);
    const [sent] = await deliver();
    expect(sent?.subject).toBe('acme last week: 0 B stored');
    expect(sent?.text).toContain('Stored: 0 B of 1000 B (0%), in 0 objects.');
    clock.advance(dayMs);
    expect(await queueNotices(deps)).toBe(0);
    toMonday(clock);
    expect(await queueNotices(deps)).toBe(1);
  });

  it('sum up no week to those who were not there', async () => {
    const { deps, clock, subscribe } = await world();
    toMonday(clock);
    await subscribe('ada@example.com');
    clock.advance(60_000);
    expect(await queueNotices(deps)).toBe(0);
    clock.advance(dayMs);
    toMonday(clock);
    expect(await queueNotices(deps)).toBe(1);
  });

  it('of one tenant that cannot be looked at keep no other from theirs', async () => {
    const { deps, clock, subscribe, entries } = await world();
    await subscribe('ada@example.com');
    toMonday(clock);
    const broken = {
      ...deps,
      ledger: { ...deps.ledger, readTenant: () => Promise.reject(new Error('away')) },
    };
    expect(await queueNotices(broken)).toBe(0);
    expect(entries.at(-1)).toMatchObject({ level: 'warn', message: 'notices not queued' });
    expect(await queueNotices(deps)).toBe(1);
  });
});

describe('the function sendEmail', () => {
  const run = async (bodies: readonly string[], deps: Awaited<ReturnType<typeof world>>['deps']) => {
    const consume = create({ ...deps, publicUrl: url });
    const delivered = [];
    for (const body of bodies) delivered.push(await deliver(consume, body, { receiveCount: 2 }));
    return {
      failed: delivered.flatMap(({ isDone }, index) => (isDone ? [] : [String(index)])),
      delays: delivered.flatMap(({ delays }) => delays),
    };
  };
  const returned = (detail: object) =>
    JSON.stringify({
      source: 'aws.ses',
      'detail-type': 'x',
      detail: { mail: { tags: { tenant: [tenant] } }, ...detail },
    });

  it('sends, ends what came back for good, and has what failed delivered again', async () => {
    const { deps, subscribe, mail, failing } = await world();
    for (const name of ['ada', 'bob', 'eve']) await subscribe(`${name}@example.com`);
    failing.add('eve@example.com');
    const bounce = (bounceType: string, emailAddress: string) =>
      returned({ bounce: { bounceType, bouncedRecipients: [{ emailAddress }] } });
    const complaint = returned({
      complaint: { complainedRecipients: [{ emailAddress: 'bob@example.com' }] },
    });
    mail.length = 0;
    const { failed, delays } = await run(
      [bounce('Transient', 'ada@example.com'), complaint, JSON.stringify(alert('acme:9')), 'junk', '{}'],
      deps,
    );
    expect(mail.map(({ to }) => to)).toEqual(['ada@example.com']);
    expect(failed).toEqual(['2', '3', '4']);
    expect(delays).toEqual([120_000]);
    await run([bounce('Permanent', 'ada@example.com')], deps);
    const { addresses } = await deps.emails.read(tenant);
    expect(addresses.map(({ ended }) => ended)).toEqual(['bounced', 'complained', null]);
  });

  it('takes an event of another service for nothing that it knows', () => {
    const body = { source: 'aws.s3', detail: { mail: { tags: { tenant: [tenant] } } } };
    expect(emailWork.safeParse(body).data).toBeUndefined();
    const unknown = JSON.parse(returned({ mail: { tags: { tenant: ['No/Tenant'] } } }));
    expect(emailWork.safeParse(unknown).data).toBeUndefined();
  });
});

it('a change of addresses waits for hours without losing one that is made meanwhile', async () => {
  const { deps, clock } = await world();
  await Promise.all(
    Array.from({ length: 5 }, (_, index) => addEmail(deps, { tenant, address: `${index}@example.com` })),
  );
  clock.advance(hourMs);
  const { addresses } = await deps.emails.read(tenant);
  expect(addresses.map(({ address }) => address).sort()).toEqual(
    [0, 1, 2, 3, 4].map((index) => `${index}@example.com`),
  );
  await deps.emails.forget(tenant);
  expect((await deps.emails.read(tenant)).addresses).toEqual([]);
});
