import * as z from 'zod';
import type { TenantRecord } from '../../../core/ledger/rules/tenant.ts';
import { dayMs } from '../../../core/rules/dates.ts';
import type { SwitchedQueue } from '../../../core/rules/jobs.ts';
import { formatBytes, formatPercent } from '../../../core/rules/sizes.ts';
import type { Frozen } from '../../../core/rules/stored.ts';
import type { AlertEvent } from './alerts.ts';

/** Addresses of a tenant, those that ended included, so that people see why they hear nothing. */
export const emailsMax = 10;
/** An address is worth nothing unless somebody who reads its e-mails confirms it within this time. */
export const confirmWithinMs = 2 * dayMs;
/** A tenant can ask for so many confirmations in 24 hours: nobody can use them to flood others. */
export const confirmationsPerDayMax = 20;
/** … and so many of them for one mailbox. */
export const confirmationsPerMailboxMax = 2;
/** What most servers deliver to one mailbox counts as one: `a+b@example.com` is `a@example.com`. E-mails go to the address as written. */
export const mailboxOf = (address: string) => address.toLowerCase().replace(/(?!^)\+.*(?=@)/, '');
/** Events of which an address remembers that it got them. */
const sentMax = 50;

/** Why nothing is sent to an address any more. */
export const emailEnds = ['unsubscribed', 'bounced', 'complained'] as const;

/** An address that a tenant's alerts go to. */
const address = z.object({
  address: z.string(),
  /** In the links of its e-mails. It can confirm this address, or end its e-mails, and nothing else: so it is kept as it is. */
  key: z.string(),
  addedAtMs: z.number(),
  /** null: not yet. */
  confirmedAtMs: z.number().nullable(),
  /** null: it gets e-mails. */
  ended: z.enum(emailEnds).nullable(),
  /** Ids of the last events that it got. */
  sent: z.array(z.string()),
});
export type EmailAddress = Frozen<z.output<typeof address>>;

/** The addresses of a tenant, and what the schedule knows of them, as they are stored. */
export const emailsSchema = z.object({
  addresses: z.array(address),
  /** Confirmations of the last 24 hours, also of addresses that were removed since. */
  asked: z.array(z.object({ atMs: z.number(), addressSha256: z.string() })),
  /** Up to when tokens that are about to expire were told. */
  lookedAtMs: z.number(),
  /** The next day on which the schedule looks at the tenant. */
  nextDay: z.string(),
});
export type StoredEmails = Frozen<z.output<typeof emailsSchema>>;
export type Emails = Omit<StoredEmails, 'nextDay'>;

/** Whether an address gets alerts. */
export function isSubscribed({ confirmedAtMs, ended }: EmailAddress): boolean {
  return confirmedAtMs !== null && ended === null;
}

export function canConfirm({ confirmedAtMs, addedAtMs }: EmailAddress, nowMs: number): boolean {
  return confirmedAtMs === null && nowMs < addedAtMs + confirmWithinMs;
}

/** The same addresses, with another one in place of the one that has its key. */
export function withAddress(emails: Emails, changed: EmailAddress): Emails {
  return {
    ...emails,
    addresses: emails.addresses.map((each) => (each.key === changed.key ? changed : each)),
  };
}

export function withSent(address: EmailAddress, eventId: string): EmailAddress {
  return { ...address, sent: [...address.sent, eventId].slice(-sentMax) };
}

/** What is sent by e-mail besides alerts. Its id is that of one day, so that nobody gets it twice. */
export const noticeSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('tokens.expiring'),
    id: z.string(),
    tokens: z.array(z.object({ tokenId: z.string(), name: z.string().nullable(), expiresAtMs: z.number() })),
  }),
  z.object({
    type: z.literal('week.summary'),
    id: z.string(),
    storedBytes: z.number(),
    limitBytes: z.number().nullable(),
    objectCount: z.number(),
    /** null: what was stored a week ago is not known. */
    addedBytes: z.number().nullable(),
    /** Batches of which something was refused. */
    refusals: z.number(),
    /** When the limit is reached at this pace, as a day. null: no forecast. */
    fullOn: z.string().nullable(),
  }),
]);
export type Notice = Frozen<z.output<typeof noticeSchema>>;
type NoticeOf<Type extends Notice['type']> = Extract<Notice, { type: Type }>;

/** The last seven days before a day, and what they lead to. @throws {LedgerUnavailableError} */
export type Outlook = (of: {
  tenant: TenantRecord;
  /** In UTC, such as `2026-11-21`. */
  today: string;
}) => Promise<WeekOutlook>;

type WeekOutlook = Pick<NoticeOf<'week.summary'>, 'addedBytes' | 'refusals' | 'fullOn'>;

/** What is to be sent to a tenant's addresses. */
export type EmailMessage =
  | { readonly kind: 'confirm'; readonly tenant: string; readonly key: string }
  | { readonly kind: 'alert'; readonly tenant: string; readonly event: AlertEvent }
  | { readonly kind: 'notice'; readonly tenant: string; readonly notice: Notice };

export type EmailQueue = SwitchedQueue<EmailMessage>;

/** Tokens are told of so long before they expire. */
export const tokenNoticeMs = 14 * dayMs;

/**
 * Whether an alert is for people: a threshold that is reached, or a push that was refused. One that is left again is
 * for programs.
 */
export function isForPeople({ type, data }: AlertEvent): boolean {
  if (type === 'storage.limit_reached') return true;
  return type === 'storage.threshold' && Number(data['threshold']) > Number(data['previousThreshold']);
}

/** The day's notices, by what is known of a tenant. @param input.week undefined: no week's summary is due. */
export function noticesOf(input: {
  tenant: TenantRecord;
  day: string;
  tokens: NoticeOf<'tokens.expiring'>['tokens'];
  week: WeekOutlook | undefined;
}): Notice[] {
  const { tenant, day, tokens, week } = input;
  const { scanned, limitBytes } = tenant;
  const idOf = (what: string) => `${tenant.tenant}:${what}-${day}`;
  return [
    ...(tokens.length > 0 ? [{ type: 'tokens.expiring', id: idOf('tokens'), tokens } as const] : []),
    ...(week && scanned
      ? [
          {
            type: 'week.summary',
            id: idOf('week'),
            storedBytes: scanned.storedBytes,
            objectCount: scanned.objectCount,
            limitBytes,
            ...week,
          } as const,
        ]
      : []),
  ];
}

/** Pages of the console that e-mails lead to. */
interface Links {
  /** Of the tenant. */
  readonly page: string;
  /** Ends the e-mails, after a click. null: nothing is subscribed yet. */
  readonly end: string | null;
}

/** The text of an e-mail that asks whether an address is to get alerts. */
export function confirmationText(tenant: string, confirmUrl: string) {
  return {
    subject: `Confirm e-mail alerts for ${tenant}`,
    text: lines(
      `A team admin of ${tenant} wants its storage alerts to go to this address.`,
      `If you want them, open this page within 48 hours, and confirm:\n${confirmUrl}`,
      "If you don't, ignore this e-mail.",
    ),
  };
}

export function alertText({ type, data }: AlertEvent, tenant: string, links: Links) {
  const used = usedText(Number(data['storedBytes']), numberOrNull(data['limitBytes']));
  if (type === 'storage.limit_reached')
    return {
      subject: `${tenant}: a push was refused, as the storage limit is reached`,
      text: lines(
        `${tenant} stores ${used}. A push was refused today, because it didn't fit. Downloads still work.`,
        `Delete what you don't need, or ask for a higher limit:\n${links.page}`,
        endText(links),
      ),
    };
  return {
    subject: `${tenant} uses ${data['threshold']}% of its storage`,
    text: lines(
      `${tenant} stores ${used}. At 100%, pushes are refused. Downloads still work.`,
      `See what you can delete:\n${links.page}`,
      endText(links),
    ),
  };
}

export function noticeText(notice: Notice, tenant: string, links: Links) {
  if (notice.type === 'tokens.expiring') {
    const count = notice.tokens.length;
    return {
      subject: `${tenant}: ${count === 1 ? 'a token expires' : `${count} tokens expire`} within 14 days`,
      text: lines(
        notice.tokens
          .map(
            ({ tokenId, name, expiresAtMs }) => `${name ?? tokenId} (${tokenId}): ${dateText(expiresAtMs)}`,
          )
          .join('\n'),
        `Create new ones before they expire:\n${links.page}/access`,
        endText(links),
      ),
    };
  }
  const { storedBytes, limitBytes, objectCount, addedBytes, refusals, fullOn } = notice;
  return {
    subject: `${tenant} last week: ${formatBytes(storedBytes)} stored`,
    text: lines(
      [
        `Stored: ${usedText(storedBytes, limitBytes)}, in ${objectCount.toLocaleString('en')} objects.`,
        ...(addedBytes === null
          ? []
          : [`Change within 7 days: ${addedBytes < 0 ? '-' : '+'}${formatBytes(Math.abs(addedBytes))}.`]),
        ...(fullOn === null ? [] : [`Full on ${fullOn}, at this pace.`]),
        ...(refusals === 0 ? [] : [`Refused pushes: at least ${refusals}.`]),
      ].join('\n'),
      links.page,
      endText(links),
    ),
  };
}

const lines = (...paragraphs: readonly string[]) => `${paragraphs.join('\n\n')}\n`;
const endText = ({ end }: Links) => `End these e-mails:\n${end}`;
const numberOrNull = (value: unknown) => (typeof value === 'number' ? value : null);
const dateText = (timeMs: number) => `expires on ${new Date(timeMs).toISOString().slice(0, 10)}`;

function usedText(storedBytes: number, limitBytes: number | null): string {
  const stored = formatBytes(storedBytes);
  if (limitBytes === null) return `${stored}, without a limit`;
  return `${stored} of ${formatBytes(limitBytes)} (${formatPercent(storedBytes, limitBytes)})`;
}
