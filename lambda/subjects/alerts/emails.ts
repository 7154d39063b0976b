import * as z from 'zod';
import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { TenantRecord } from '../../core/ledger/rules/tenant.ts';
import { mapLimited } from '../../core/rules/async.ts';
import { dayAfter, dayMs, dayOf } from '../../core/rules/dates.ts';
import { sameDigest, sha256Hex } from '../../core/rules/hash.ts';
import { isTenantName } from '../../core/rules/names.ts';
import type { AccessPorts } from '../../frame/access/ports.ts';
import type { NetPorts } from '../../frame/net/ports.ts';
import type { AlertPorts } from './ports.ts';
import {
  alertText,
  canConfirm,
  confirmationsPerDayMax,
  confirmationsPerMailboxMax,
  confirmationText,
  type EmailAddress,
  type EmailMessage,
  emailsMax,
  isSubscribed,
  mailboxOf,
  type Notice,
  noticeSchema,
  noticesOf,
  noticeText,
  tokenNoticeMs,
  withAddress,
  withSent,
} from './rules/email.ts';
import { alertMessage } from './webhooks.ts';

type EmailDeps = Pick<CoreDeps, 'ids' | 'clock'> & Pick<AlertPorts, 'emails' | 'emailQueue'>;

export type AddEmailOutcome =
  | { readonly kind: 'asked' | 'confirmed'; readonly email: EmailAddress }
  | { readonly kind: 'full' | 'too-many' };

/**
 * Adds an address, and asks it to confirm. For one that is not confirmed yet, or that ended, it asks again.
 *
 * @throws {LedgerUnavailableError} or the error of the queue.
 */
export async function addEmail(
  { emails, emailQueue, ids, clock }: EmailDeps,
  { tenant, address }: { tenant: string; address: string },
): Promise<AddEmailOutcome> {
  const nowMs = clock.nowMs();
  let outcome: AddEmailOutcome = { kind: 'full' };
  const addressSha256 = sha256Hex(mailboxOf(address));
  const added: EmailAddress = {
    address,
    key: `${tenant}.${ids.random(keyCharacters)}`,
    addedAtMs: nowMs,
    confirmedAtMs: null,
    ended: null,
    sent: [],
  };
  await emails.change({
    tenant,
    change: (now) => {
      const asked = now.asked.filter(({ atMs }) => nowMs - atMs < dayMs);
      const ofAddress = asked.filter((each) => each.addressSha256 === addressSha256);
      const known = now.addresses.find((each) => isSame(each, address));
      const others = now.addresses.filter((each) => each !== known);
      const isTooMany =
        asked.length >= confirmationsPerDayMax || ofAddress.length >= confirmationsPerMailboxMax;
      if (known && isSubscribed(known)) outcome = { kind: 'confirmed', email: known };
      else if (!known && others.length >= emailsMax) outcome = { kind: 'full' };
      else outcome = isTooMany ? { kind: 'too-many' } : { kind: 'asked', email: added };
      if (outcome.kind !== 'asked') return undefined;
      return {
        ...now,
        addresses: [...others, added],
        asked: [...asked, { atMs: nowMs, addressSha256 }],
      };
    },
  });
  // By the compiler's count it is what it was at first.
  const { kind } = outcome as AddEmailOutcome;
  if (kind === 'asked') await emailQueue.send([{ kind: 'confirm', tenant, key: added.key }]);
  return outcome;
}

/** Of the random part of a key: 190 bits. */
const keyCharacters = 32;
const keyPattern = new RegExp(`^([a-z0-9-]{1,100})\\.[0-9A-Za-z]{${keyCharacters}}$`);

const isSame = (known: EmailAddress, address: string) =>
  known.address.toLowerCase() === address.toLowerCase();

/** Removes an address. @throws {LedgerUnavailableError} */
export async function removeEmail(
  { emails }: Pick<AlertPorts, 'emails'>,
  { tenant, address }: { tenant: string; address: string },
): Promise<'removed' | 'absent'> {
  const changed = await emails.change({
    tenant,
    change: (now) => {
      const addresses = now.addresses.filter((each) => !isSame(each, address));
      return addresses.length === now.addresses.length ? undefined : { ...now, addresses };
    },
  });
  return changed ? 'removed' : 'absent';
}

/**
 * Confirms an address, or ends its e-mails, by the key in its links. To whoever has another one, all tenants and keys
 * look the same.
 *
 * @returns false if it is no such key, or too late to confirm.
 * @throws {LedgerUnavailableError}
 */
export async function useEmailKey(
  { emails, clock }: Pick<CoreDeps, 'clock'> & Pick<AlertPorts, 'emails'>,
  { key, use }: { key: string; use: 'confirm' | 'unsubscribe' },
): Promise<boolean> {
  const [, tenant] = keyPattern.exec(key) ?? [];
  if (tenant === undefined || !isTenantName(tenant)) return false;
  const nowMs = clock.nowMs();
  let isDone = false;
  await emails.change({
    tenant,
    change: (now) => {
      isDone = false;
      const known = now.addresses.find((each) => isSameKey(each.key, key));
      if (!known) return undefined;
      isDone = true;
      if (use === 'unsubscribe')
        return known.ended === null ? withAddress(now, { ...known, ended: 'unsubscribed' }) : undefined;
      if (canConfirm(known, nowMs))
        // What happened before is no news.
        return withAddress(
          { ...now, lookedAtMs: now.lookedAtMs || nowMs },
          { ...known, confirmedAtMs: nowMs },
        );
      isDone = isSubscribed(known);
      return undefined;
    },
  });
  return isDone;
}

/** In constant time. */
const isSameKey = (a: string, b: string) => sameDigest(sha256Hex(a), sha256Hex(b));

/**
 * Sends a message to each of the tenant's addresses that has not got it. One that dies after an e-mail and before it is
 * noted sends that one again, and no other.
 *
 * @param input.url where the console is, without a slash at its end.
 * @throws {LedgerUnavailableError} or the first error of the mailer, once all addresses were tried.
 */
export async function deliverEmail(
  deps: Pick<CoreDeps, 'log'> & Pick<AlertPorts, 'emails'> & Pick<NetPorts, 'mailer'>,
  { message, url }: { message: EmailMessage; url: string },
): Promise<void> {
  const { emails, mailer, log } = deps;
  const { tenant } = message;
  const { addresses } = await emails.read(tenant);
  if (message.kind === 'confirm') {
    const asked = addresses.find(({ key, confirmedAtMs }) => key === message.key && confirmedAtMs === null);
    const link = `${url}/#_email/confirm/${message.key}`;
    if (asked)
      await mailer.send({
        tenant,
        to: asked.address,
        unsubscribeUrl: null,
        ...confirmationText(tenant, link),
      });
    return;
  }
  const id = message.kind === 'alert' ? message.event.id : message.notice.id;
  const failed: unknown[] = [];
  for (const each of addresses.filter((one) => isSubscribed(one) && !one.sent.includes(id))) {
    const links = { page: `${url}/#${tenant}`, end: `${url}/#_email/end/${each.key}` };
    const text =
      message.kind === 'alert'
        ? alertText(message.event, tenant, links)
        : noticeText(message.notice, tenant, links);
    try {
      const unsubscribeUrl = `${url}/v1/emails/unsubscribe?key=${each.key}`;
      await mailer.send({ tenant, to: each.address, unsubscribeUrl, ...text });
      await emails.change({
        tenant,
        change: (now) => {
          const known = now.addresses.find(({ key }) => key === each.key);
          return known && withAddress(now, withSent(known, id));
        },
      });
    } catch (error) {
      failed.push(error);
    }
  }
  log.info('e-mail delivered', { tenant, id, failed: failed.length });
  if (failed.length > 0) throw failed[0];
}

/** Ends the e-mails to an address that bounced, or whose reader complained. @throws {LedgerUnavailableError} */
export async function endEmail(
  { emails, log }: Pick<CoreDeps, 'log'> & Pick<AlertPorts, 'emails'>,
  { tenant, address, ended }: { tenant: string; address: string; ended: 'bounced' | 'complained' },
): Promise<void> {
  const changed = await emails.change({
    tenant,
    change: (now) => {
      const known = now.addresses.find((each) => isSame(each, address));
      return known?.ended === null ? withAddress(now, { ...known, ended }) : undefined;
    },
  });
  if (changed) log.warn('e-mails to an address ended', { tenant, ended });
}

/** Notices are sent from this hour of the day on, in UTC. */
const noticeHour = 6;
/** Tenants of one run of the schedule. The others still have theirs in the next. */
const tenantsMax = 50;
const tenantsAtOnce = 4;
const monday = 1;

type NoticeDeps = Pick<CoreDeps, 'ledger' | 'clock' | 'log'> &
  Pick<AccessPorts, 'tokens'> &
  Pick<AlertPorts, 'emails' | 'emailQueue' | 'outlook'>;

/**
 * Queues the notices of the day: tokens that expire soon, and on Monday the summary of the week. It never fails: the next
 * run looks again.
 *
 * @returns how many notices.
 */
export async function queueNotices(deps: NoticeDeps): Promise<number> {
  const { emails, emailQueue, clock, log } = deps;
  const nowMs = clock.nowMs();
  if (!emailQueue.isOn || new Date(nowMs).getUTCHours() < noticeHour) return 0;
  try {
    const tenants = await emails.listDue({ day: dayOf(nowMs), tenantsMax });
    const counts = await mapLimited(tenants, tenantsAtOnce, async (tenant) => {
      try {
        return await queueNoticesOf(deps, tenant, nowMs);
      } catch (error) {
        // What fails for one tenant keeps no other from its notices.
        log.warn('notices not queued', { tenant, error });
        return 0;
      }
    });
    return counts.reduce((sum, count) => sum + count, 0);
  } catch (error) {
    log.warn('notices not looked for', { error });
    return 0;
  }
}

async function queueNoticesOf(deps: NoticeDeps, name: string, nowMs: number): Promise<number> {
  const { emails, emailQueue, ledger } = deps;
  const [tenant, { lookedAtMs }] = await Promise.all([ledger.readTenant(name), emails.read(name)]);
  const isOpen = tenant?.closedAtMs === null;
  const notices = isOpen ? await noticesNow(deps, { tenant, lookedAtMs, nowMs }) : [];
  await emailQueue.send(notices.map((notice) => ({ kind: 'notice', tenant: name, notice })));
  await emails.change({
    tenant: name,
    nextDay: dayAfter(dayOf(nowMs)),
    change: (now) => (isOpen ? { ...now, lookedAtMs: nowMs } : now),
  });
  return notices.length;
}

async function noticesNow(
  { tokens, outlook }: Pick<AccessPorts, 'tokens'> & Pick<AlertPorts, 'outlook'>,
  { tenant, lookedAtMs, nowMs }: { tenant: TenantRecord; lookedAtMs: number; nowMs: number },
): Promise<Notice[]> {
  const today = dayOf(nowMs);
  // Whoever subscribes on a Monday was not there the week before.
  const isWeekOver = new Date(nowMs).getUTCDay() === monday && dayOf(lookedAtMs) < today;
  const expiring = (await tokens.list(tenant.tenant)).flatMap(({ tokenId, user, label, expiresAtMs }) =>
    // One whose whole life is shorter was never further away than this.
    expiresAtMs !== null && expiresAtMs > lookedAtMs + tokenNoticeMs && expiresAtMs <= nowMs + tokenNoticeMs
      ? [{ tokenId, name: label ?? user, expiresAtMs }]
      : [],
  );
  return noticesOf({
    tenant,
    day: today,
    tokens: expiring.slice(0, tokensNamedMax),
    week: isWeekOver ? await outlook?.({ tenant, today }) : undefined,
  });
}

/** Tokens that one e-mail names. */
const tokensNamedMax = 100;

const emailMessage = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('confirm'), tenant: z.string(), key: z.string() }),
  z.object({ kind: z.literal('notice'), tenant: z.string(), notice: noticeSchema }),
  alertMessage.extend({ kind: z.literal('alert') }),
]);

/** What SES says of an e-mail that came back, by its event on the account's bus. */
const sesEvent = z.object({
  source: z.literal('aws.ses'),
  detail: z.object({
    mail: z.object({ tags: z.object({ tenant: z.array(z.string().refine(isTenantName)).min(1) }) }),
    bounce: z
      .object({
        bounceType: z.string(),
        bouncedRecipients: z.array(z.object({ emailAddress: z.string() })),
      })
      .optional(),
    complaint: z.object({ complainedRecipients: z.array(z.object({ emailAddress: z.string() })) }).optional(),
  }),
});

/** Addresses to end. None: it bounced for a while only. */
const ends = sesEvent.transform(({ detail: { mail, bounce, complaint } }) => {
  const [tenant = ''] = mail.tags.tenant;
  const bounced = bounce?.bounceType === 'Permanent' ? bounce.bouncedRecipients : [];
  const endsOf = (recipients: typeof bounced, ended: 'bounced' | 'complained') =>
    recipients.map(({ emailAddress: address }) => ({ tenant, address, ended }));
  return [...endsOf(bounced, 'bounced'), ...endsOf(complaint?.complainedRecipients ?? [], 'complained')];
});

/** What the queue of e-mails has: what is to be sent, and what came back. */
export const emailWork = z.union([
  ends.transform((each) => ({ kind: 'end' as const, ends: each })),
  emailMessage.transform((message) => ({ kind: 'send' as const, message })),
]);
