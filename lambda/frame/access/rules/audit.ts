import * as z from 'zod';
import type { Frozen } from '../../../core/rules/stored.ts';
import { redactText } from '../../../core/rules/text.ts';

/** What is written down of actions of operators and tenants: who did what, and what changed. */

/** Everything that is audited, `subject.verb`. */
export const auditActions = [
  'tenant.create',
  'tenant.update',
  'tenant.delete',
  'tenant.link',
  'tenant.unlink',
  'token.create',
  'token.revoke',
  'rule.create',
  'rule.delete',
  'identity.exchange',
  'invitation.create',
  'invitation.revoke',
  'invitation.accept',
  'console-link.create',
  'console-link.open',
  'device.approve',
  'organization.allow',
  'organization.remove',
  'user.end',
  'repo.create',
  'repo.update',
  'repo.delete',
  'object.delete',
  'object.keep',
  'file.delete',
  'reconcile.request',
  'scan.change',
  'export.start',
  'export.delete',
  'locks.release',
  'lock.force',
  'reservations.cancel',
  'webhook.set',
  'webhook.delete',
  'webhook.test',
  'usage.correct',
  'usage-webhook.set',
  'usage-webhook.delete',
  'shared-webhook.set',
  'shared-webhook.delete',
  'shared-webhook.test',
  'email.add',
  'email.remove',
  'gc.open',
  'gc.reachable-set',
  'gc.run',
  'gc.cancel',
  'names.send',
  'names.change',
] as const;

export type AuditAction = (typeof auditActions)[number];

const actor = z.object({
  /** `identity`: for whom a host vouches: a CI job, or a person with their own token for it. */
  kind: z.enum(['operator', 'token', 'identity']),
  /** Of a person their id, such as `github:1234`. null: it has none. */
  tokenId: z.string().nullable(),
  /** The token's user or label, the subject of the identity, or what the person is called. null: nobody said. */
  name: z.string().nullable(),
});
export type AuditActor = Frozen<z.output<typeof actor>>;

/** Small, and without secrets: {@link auditFields} makes it so. */
export interface AuditFields {
  readonly [name: string]: AuditValue;
}
type AuditValue = string | number | boolean | null | readonly AuditValue[] | AuditFields;

const fields: z.ZodType<AuditFields> = z.record(z.string(), z.json());

export const auditSchema = z.object({
  tenant: z.string(),
  atMs: z.number(),
  /** Of the HTTP request: it is in the log lines, and in the answers of the LFS API. */
  requestId: z.string(),
  by: actor,
  action: z.enum(auditActions),
  /** What it was done to, besides the tenant: `repo`, `tokenId`, … */
  target: fields,
  /** What the request asked for. */
  asked: fields.nullable(),
  /**
   * - `started`: the action was started. Nothing tells what became of it: the function died, or the end could not be written.
   * - `succeeded`: it was done.
   * - `denied`: it was not. The reason says why.
   * - `failed`: something broke. Part of it may have been done.
   */
  outcome: z.enum(['started', 'succeeded', 'denied', 'failed']),
  /** Why it was refused. */
  reason: z.string().nullable(),
  /** What the action changes, as it was, and as it became. null: nothing, or not known. */
  before: fields.nullable(),
  after: fields.nullable(),
});
export type AuditEntry = Readonly<z.output<typeof auditSchema>>;
export type AuditOutcome = AuditEntry['outcome'];

/** So long entries are kept, and shown. */
export const auditKeptMs = 400 * 24 * 60 * 60_000;

/** The place of an entry among those of its tenant: by time. */
export function auditIdOf({ atMs, requestId }: Pick<AuditEntry, 'atMs' | 'requestId'>): string {
  return `${new Date(atMs).toISOString()}#${requestId.slice(0, requestIdCharactersMax)}`;
}

const requestIdCharactersMax = 100;
const textCharactersMax = 255;
const listItemsMax = 20;
const depthMax = 4;
/** JSON bytes of one of an entry's four parts. */
const partBytesMax = 4096;

const utf8 = new TextEncoder();

/** What does not fit is left out, and this is in its place. */
const leftOut = '…';

/** Fields for an entry: bounded, whatever a request holds, and without tokens and signed URLs. */
export function auditFields(fields: Readonly<Record<string, unknown>>): AuditFields {
  const kept: [string, AuditValue][] = [];
  let bytes = 0;
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const bytesOf = (part: AuditValue) => utf8.encode(JSON.stringify([name, part])).length;
    let bounded = auditValue(value, 1);
    // Of a list, the first that fit.
    while (Array.isArray(bounded) && bounded.length > 1 && bytes + bytesOf(bounded) > partBytesMax)
      bounded = [...bounded.slice(0, bounded.at(-1) === leftOut ? -2 : -1), leftOut];
    bytes += bytesOf(bounded);
    kept.push([name, bytes > partBytesMax ? leftOut : bounded]);
  }
  return Object.fromEntries(kept);
}

function auditValue(value: unknown, depth: number): AuditValue {
  if (typeof value === 'string') return auditText(value);
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value;
  if (typeof value !== 'object' || depth >= depthMax) return leftOut;
  if (Array.isArray(value)) {
    const items = value.slice(0, listItemsMax).map((item) => auditValue(item, depth + 1));
    return value.length > listItemsMax ? [...items, leftOut] : items;
  }
  const entries = Object.entries(value).slice(0, listItemsMax);
  return Object.fromEntries(entries.map(([name, item]) => [auditText(name), auditValue(item, depth + 1)]));
}

/** A text of a request, bounded, without what nobody must learn from it. */
export function auditText(text: string): string {
  const redacted = [...redactText(text.slice(0, 2 * textCharactersMax))];
  return redacted.length > textCharactersMax || text.length > 2 * textCharactersMax
    ? redacted.slice(0, textCharactersMax).join('') + leftOut
    : redacted.join('');
}
