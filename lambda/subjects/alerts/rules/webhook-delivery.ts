import { createHmac } from 'node:crypto';
import * as z from 'zod';
import type { JobQueue } from '../../../core/rules/jobs.ts';
import type { Frozen } from '../../../core/rules/stored.ts';
import { isLoopbackHost } from '../../../core/rules/text.ts';
import type { AlertEvent } from './alerts.ts';

export const webhookFailures = [
  /** The receiver answered with something else than 2xx. */
  'status',
  'redirect',
  'name-not-found',
  /** One of the addresses of its name is not public. */
  'address-not-public',
  'not-reachable',
  'certificate',
  'timeout',
] as const;
export type WebhookFailure = (typeof webhookFailures)[number];

/** What became of one attempt to deliver an event. */
const attempt = z.object({
  eventId: z.string(),
  type: z.string(),
  atMs: z.number(),
  /** The first one is 1. */
  attempt: z.number(),
  /** What the receiver answered. null: there was no answer. */
  status: z.number().nullable(),
  /** Why it failed. null: it did not. */
  failure: z.enum(webhookFailures).nullable(),
  /** null: it is delivered, or given up. */
  nextAtMs: z.number().nullable(),
});
export type WebhookAttempt = Frozen<z.output<typeof attempt>>;

/** Where a tenant's alerts are sent, and how receivers tell that they come from here. */
export const webhookSchema = z.object({
  url: z.string(),
  secret: z.string(),
  /** The secret before the last change. It signs too for a while, so that a receiver can change over. */
  previousSecret: z.string().nullable(),
  createdAtMs: z.number(),
  secretChangedAtMs: z.number(),
  /** What became of the last attempt. null: there was none. */
  last: attempt.nullable(),
});
export type Webhook = Frozen<z.output<typeof webhookSchema>>;

const secretStart = 'whsec_';

/** @param random base62, of a cryptographic source. */
export function webhookSecret(random: string): string {
  return secretStart + Buffer.from(random).toString('base64');
}

/** Characters of the random part of a secret: more than 240 bits. */
export const secretCharacters = 42;

/** So long the secret before the last one signs too. */
const previousSecretMs = 24 * 60 * 60_000;

/** The secrets that sign now, the newest first. */
export function secretsOf({ secret, previousSecret, secretChangedAtMs }: Webhook, nowMs: number): string[] {
  const isOldValid = previousSecret !== null && nowMs < secretChangedAtMs + previousSecretMs;
  return isOldValid ? [secret, previousSecret] : [secret];
}

/** The headers of Standard Webhooks (standardwebhooks.com). One signature for each secret. */
export function webhookHeaders(input: {
  secrets: readonly string[];
  id: string;
  timestampSeconds: number;
  body: string;
}): Record<string, string> {
  const { secrets, id, timestampSeconds, body } = input;
  const signed = `${id}.${timestampSeconds}.${body}`;
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(secretStart.length), 'base64');
    return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': signatures.join(' '),
  };
}

const second = 1000;
const minute = 60_000;
const hour = 3_600_000;

/** From an attempt that failed to the next: 8 attempts within 24 hours. */
const webhookDelaysMs: readonly number[] = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  8 * hour,
  8 * hour,
];

/** The receiver says that it wants nothing any more. */
const goneStatus = 410;

/**
 * When an event is to be sent again. undefined: never.
 *
 * @param input.attempt the one that failed. @param input.isTest a person waits, who can ask again.
 */
export function nextDelayMs(input: {
  attempt: number;
  status: number | null;
  isTest: boolean;
}): number | undefined {
  if (input.isTest || input.status === goneStatus) return undefined;
  return webhookDelaysMs[input.attempt - 1];
}

const urlCharactersMax = 2048;

export const webhookUrlRule = `must be a URL of up to ${urlCharactersMax} characters that starts with https, on port 443, with a domain name, without a user or fragment`;

/**
 * Whether alerts may be sent to a URL, as far as its text tells. The addresses of its name are checked when it is used.
 *
 * @param allowsLoopback plain HTTP to this machine, on any port.
 */
export function isWebhookUrl(text: string, { allowsLoopback = false } = {}): boolean {
  if (text.length > urlCharactersMax || !URL.canParse(text)) return false;
  const { protocol, hostname, port, username, password, hash } = new URL(text);
  if (username !== '' || password !== '' || hash !== '') return false;
  if (allowsLoopback && protocol === 'http:' && isLoopbackHost(hostname)) return true;
  // A name of one label is of a local network; an address has no certificate. A URL's port is empty if it is 443.
  const isName = /^(?:[a-z0-9_-]+\.)+[a-z][a-z0-9-]*\.?$/.test(hostname);
  return protocol === 'https:' && port === '' && isName;
}

/** Whose webhook gets the usage of all tenants: the operator's. No tenant is called so. */
export const usageHook = 'USAGE';
/** The same for the webhook that gets the alerts of all tenants without one. */
export const sharedHook = 'ALL';

/** What each tenant stored in an hour. */
export const usageEvent = z.object({
  /** `usage:2026-11-28T07Z:1`: the hour, and which part of it. */
  id: z.string().regex(/^[0-9A-Za-z:-]{1,100}$/),
  type: z.literal('usage.hour'),
  timestamp: z.iso.datetime(),
  data: z.object({ hour: z.iso.datetime(), part: z.number(), usage: z.array(z.looseObject({})) }),
});

/** What is to be sent to the webhook of a tenant, or of the operator. */
export interface WebhookMessage {
  readonly tenant: string;
  readonly event: AlertEvent | Frozen<z.output<typeof usageEvent>>;
}

export type WebhookQueue = JobQueue<WebhookMessage>;

/** Sends a request to a receiver of whom nothing is known. */
export interface WebhookSender {
  /** Never throws. Nothing of the answer is read but its status. */
  post(input: {
    url: string;
    headers: Readonly<Record<string, string>>;
    body: string;
  }): Promise<
    | { readonly kind: 'answered'; readonly status: number }
    | { readonly kind: 'failed'; readonly failure: WebhookFailure }
  >;
}
