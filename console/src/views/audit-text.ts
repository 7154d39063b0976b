import type { AuditEntryBody } from '../../../lambda/api/contract/audit.ts';
import type { HistoryBody } from '../../../lambda/api/contract/history.ts';
import { bytesText, dayText, scopeText } from '../text.ts';

/** Entries of the audit log, and rejected pushes, as sentences. */

type Fields = Readonly<Record<string, unknown>>;

/** `mira` `created the token Jonas, laptop`, in a repo; and what is said below it. */
export interface Sentence {
  readonly at: string;
  readonly who: string;
  readonly did: string;
  /** Follows, as a link to it. */
  readonly repo: string | undefined;
  readonly detail: string;
  /** Something was rejected. */
  readonly isRejected: boolean;
}

const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);

const nameOf = (fields: Fields | null | undefined) => text(fields?.['label']) ?? text(fields?.['user']);

const count = (value: unknown, one: string) => (value === 1 ? `a ${one}` : `${value ?? 'some'} ${one}s`);

interface Verb {
  /** Past and infinitive. */
  readonly verb: readonly [string, string];
  readonly what: (entry: AuditEntryBody) => string;
}

const did = (verb: Verb['verb'], what: string | Verb['what']): Verb => ({
  verb,
  what: typeof what === 'string' ? () => what : what,
});

const created = ['created', 'create'] as const;
const changed = ['changed', 'change'] as const;
const deleted = ['deleted', 'delete'] as const;

const tokenOf = ({ before, after, asked, target }: AuditEntryBody) => {
  const name = nameOf(after) ?? nameOf(before) ?? nameOf(asked) ?? text(target['tokenId'])?.slice(0, 8);
  return name === undefined ? 'a token' : `the token ${name}`;
};

const namesOfFields: Readonly<Record<string, string>> = {
  limitBytes: 'the storage limit',
  downloadLimitBytes: 'the download limit',
  plan: 'the plan',
  reposMustExist: 'how repos are created',
  storageClass: 'the storage class',
  publicRead: 'public access',
  gitHost: 'the git host link',
};

/** What a change is of, by its fields. */
const fieldsOf = ({ asked }: AuditEntryBody) =>
  Object.keys(asked ?? {})
    .flatMap((name) => namesOfFields[name] ?? [])
    .join(' and ') || 'the settings';

const verbs: Readonly<Record<string, Verb>> = {
  'tenant.create': did(created, 'this tenant'),
  'tenant.update': did(changed, fieldsOf),
  'tenant.delete': did(deleted, 'this tenant'),
  'tenant.link': did(['linked', 'link'], 'this tenant to a git host'),
  'tenant.unlink': did(['unlinked', 'unlink'], 'this tenant from its git host'),
  'token.create': did(created, tokenOf),
  'token.revoke': did(['revoked', 'revoke'], tokenOf),
  'rule.create': did(created, 'a CI rule'),
  'rule.delete': did(deleted, 'a CI rule'),
  'identity.exchange': did(['got', 'get'], 'a CI token'),
  'repo.create': did(created, 'the repo'),
  'repo.update': did(changed, (entry) => `${fieldsOf(entry)} of`),
  'repo.delete': did(deleted, 'the repo'),
  'object.delete': did(deleted, 'an object of'),
  'reconcile.request': did(['requested', 'request'], 'a scan'),
  'scan.change': did(changed, 'the scan of'),
  'export.start': did(['started', 'start'], 'an export'),
  'export.delete': did(['removed', 'remove'], 'an export'),
  'locks.release': did(
    ['released', 'release'],
    ({ after }) => `${count(after?.['releasedCount'], 'lock')} in`,
  ),
  'lock.force': did(
    ['force-unlocked', 'force-unlock'],
    ({ before }) => `${text(before?.['path']) ?? 'a file'} in`,
  ),
  'reservations.cancel': did(['canceled', 'cancel'], ({ after }) =>
    count(after?.['cancelledCount'], 'reservation'),
  ),
  'webhook.set': did(['set', 'set'], 'the webhook'),
  'webhook.delete': did(deleted, 'the webhook'),
  'webhook.test': did(['tested', 'test'], 'the webhook'),
  'invitation.create': did(created, 'an invitation'),
  'invitation.revoke': did(['revoked', 'revoke'], 'an invitation'),
  'invitation.accept': did(['accepted', 'accept'], 'an invitation'),
  'device.approve': did(['approved', 'approve'], 'a command line'),
  'organization.allow': did(['allowed', 'allow'], 'an organization to sign in'),
  'organization.remove': did(['removed', 'remove'], 'an organization'),
  'user.end': did(['signed out', 'sign out'], 'a user'),
  'email.add': did(['added', 'add'], 'an e-mail address'),
  'email.remove': did(['removed', 'remove'], 'an e-mail address'),
  'gc.open': did(['opened', 'open'], 'garbage collection of'),
  'gc.reachable-set': did(['sent', 'send'], 'a reachable set of'),
  'gc.run': did(['ran', 'run'], 'garbage collection of'),
  'gc.cancel': did(['canceled', 'cancel'], 'garbage collection of'),
};

export function auditSentence(entry: AuditEntryBody): Sentence {
  const { time, action, outcome, target, asked } = entry;
  const { verb, what } = verbs[action] ?? did(['did', 'do'], action);
  const [past, infinitive] = verb;
  const start = outcome === 'succeeded' ? past : `tried to ${infinitive}`;
  return {
    at: time,
    who: whoOf(entry.by),
    did: `${start} ${what(entry)}`,
    repo: text(target['repo']) ?? text(asked?.['repo']),
    detail: [...reasonOf(entry), ...detailsOf(entry)].join(' · '),
    isRejected: outcome === 'denied',
  };
}

function whoOf({ kind, tokenId, name }: AuditEntryBody['by']): string {
  if (kind === 'operator') return 'The operator';
  return name ?? (tokenId === null ? 'A CI job' : `Token ${tokenId.slice(0, 8)}`);
}

function reasonOf({ outcome, reason }: AuditEntryBody): string[] {
  if (outcome === 'started') return ['outcome unknown'];
  if (outcome === 'failed') return ['failed: parts might have changed'];
  return reason === null ? [] : [reason.replaceAll('-', ' ')];
}

/** What changed from what to what; or what was asked for. */
function detailsOf({ before, after, asked }: AuditEntryBody): string[] {
  const fields = { ...before, ...(after ?? asked) };
  return Object.keys(fields).flatMap((name) => {
    const say = shownFields[name];
    if (!say) return [];
    const is = say((after ?? asked)?.[name]);
    const was = before && after ? say(before[name]) : is;
    if (was === is) return is === undefined || (before && after) ? [] : [is];
    return [`from ${was ?? 'unknown'} to ${is ?? 'unknown'}`];
  });
}

const bytes = (none: string) => (value: unknown) =>
  typeof value === 'number' ? bytesText(value) : value === null ? none : undefined;

/** Fields that are shown, and how. */
const shownFields: Readonly<Record<string, (value: unknown) => string | undefined>> = {
  limitBytes: bytes('no limit'),
  downloadLimitBytes: bytes('no limit'),
  bytes: bytes('size unknown'),
  plan: (value) => (value === null ? 'no plan' : text(value)),
  scope: (value) => scopeText[value as keyof typeof scopeText],
  repos: (value) => (Array.isArray(value) ? value.join(', ') : value === null ? 'all repos' : undefined),
  expiresAt: (value) =>
    value === null ? 'never expires' : text(value) && `expires ${dayText(String(value).slice(0, 10))}`,
  host: text,
  state: text,
  publicRead: (value) => {
    if (value === null) return 'private';
    const limit = (value as Fields | undefined)?.['monthlyLimitBytes'];
    return typeof limit === 'number'
      ? `public, up to ${bytesText(limit)} a month`
      : value
        ? 'public'
        : undefined;
  },
  gitHost: (value) => {
    const { host, repo, readThrough } = (value ?? {}) as Fields;
    if (value === null) return 'not linked';
    return value ? `${host}: ${repo}${readThrough ? ', with downloads from there' : ''}` : undefined;
  },
};

type Refusal = HistoryBody['lastRefusals'][number];

/** A push that a limit has rejected, with the number of git's message. */
export function refusalSentence(refusal: Refusal): Sentence {
  const { at, user, repo, files, atLeast, bytes: size, shortBytes, limit } = refusal;
  const whose = limit === 'repo' ? 'the limit of the repo' : 'the storage limit';
  return {
    at,
    who: user ?? 'A token',
    did: "couldn't push to",
    repo,
    detail: `${atLeast ? 'at least ' : ''}${files === 1 ? '1 file' : `${files} files`}, ${bytesText(size)}: ${bytesText(shortBytes)} short of ${whose}`,
    isRejected: true,
  };
}
