import { redactText } from '../../rules/text.ts';

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
  'device.approve',
  'organization.allow',
  'organization.remove',
  'user.end',
  'repo.create',
  'repo.update',
  'repo.delete',
  'object.delete',
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
  'email.add',
  'email.remove',
  'gc.open',
  'gc.reachable-set',
  'gc.run',
  'gc.cancel',
] as const;

export type AuditAction = (typeof auditActions)[number];

/** Who did it. */
export interface AuditActor {
  /** `identity`: for whom a host vouches: a CI job, or a person with their own token for it. */
  readonly kind: 'operator' | 'token' | 'identity';
  /** Of a person their id, such as `github:1234`. null: it has none. */
  readonly tokenId: string | null;
  /** The token's user or label, the subject of the identity, or what the person is called. null: nobody said. */
  readonly name: string | null;
}

type AuditValue = string | number | boolean | null | readonly AuditValue[] | AuditFields;
/** Small, and without secrets: {@link auditFields} makes it so. */
export interface AuditFields {
  readonly [name: string]: AuditValue;
}

/**
 * - `started`: the action was started. Nothing tells what became of it: the function died, or the end could not be written.
 * - `succeeded`: it was done.
 * - `denied`: it was not. The reason says why.
 * - `failed`: something broke. Part of it may have been done.
 */
export type AuditOutcome = 'started' | 'succeeded' | 'denied' | 'failed';

export interface AuditEntry {
  readonly tenant: string;
  readonly atMs: number;
  /** Of the HTTP request: it is in the log lines, and in the answers of the LFS API. */
  readonly requestId: string;
  readonly by: AuditActor;
  readonly action: AuditAction;
  /** What it was done to, besides the tenant: `repo`, `tokenId`, … */
  readonly target: AuditFields;
  /** What the request asked for. */
  readonly asked: AuditFields | null;
  readonly outcome: AuditOutcome;
  /** Why it was refused. */
  readonly reason: string | null;
  /** What the action changes, as it was, and as it became. null: nothing, or not known. */
  readonly before: AuditFields | null;
  readonly after: AuditFields | null;
}

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
