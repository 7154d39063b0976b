import type { AuditEntryBody } from '../../../lambda/frame/contract/audit.ts';
import type { Refusal } from '../notices.ts';
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

/** Who accepted an invitation says more than its id, which is the token's label. */
function nameOf(fields: Fields | null | undefined): string | undefined {
  const [label, user] = [text(fields?.['label']), text(fields?.['user'])];
  if (user === undefined || label === user) return label ?? user;
  return label === undefined || label.startsWith('invitation ') ? `of ${user}` : `${label} of ${user}`;
}

const short = (id: unknown, length = 8) => text(id)?.slice(0, length);

const count = (value: unknown, one: string) => (value === 1 ? `a ${one}` : `${value ?? 'some'} ${one}s`);

type What = (entry: AuditEntryBody) => string;

const tokenOf = ({ before, after, asked, target }: AuditEntryBody) => {
  const name = nameOf(after) ?? nameOf(before) ?? nameOf(asked) ?? short(target['tokenId']);
  return name === undefined ? 'a token' : `the token ${name}`;
};

/** What is in the place of what didn't fit into the entry. */
const leftOut = '…';

const locksOf = ({ before, after, asked }: AuditEntryBody) => {
  const [first, ...others] = [before?.['paths'] ?? asked?.['path']].flat();
  const path = others.length === 0 && first !== leftOut ? text(first) : undefined;
  return `${path === undefined ? count(after?.['releasedCount'], 'lock') : `the lock of ${path}`} in`;
};

const exportOf = (entry: AuditEntryBody) => (repoOf(entry) === undefined ? 'an export' : 'an export of');

/** The repo that it is done to, if it is done to one. */
const repoOf = ({ target, before, after, asked }: AuditEntryBody) =>
  [target, before, after, asked].flatMap((fields) => text(fields?.['repo']) ?? [])[0];

/** Which jobs a rule is for. */
const ruleOf = ({ before, after, asked }: AuditEntryBody) => {
  const match = Object.entries((after ?? before ?? asked)?.['match'] ?? {});
  const claims = match.map(([claim, values]) => `${claim} ${[values].flat().join(' or ')}`).join(', ');
  return claims === '' ? 'a CI rule' : `the CI rule for ${claims}`;
};

/** What it is done to, and what the first of these fields that is there calls it. */
const named =
  (what: string, before: string, ...names: readonly string[]): What =>
  (entry) => {
    const fields: Fields = { ...entry.asked, ...entry.before, ...entry.after };
    const [name] = names.flatMap((each) => text(fields[each]) ?? []);
    return name === undefined ? what : `${what} ${before}${name}`;
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

/** What is done to what, by its action, or by the first word of it. */
const things: Readonly<Record<string, string | What>> = {
  tenant: 'this tenant',
  'tenant.update': fieldsOf,
  'tenant.link': named('this tenant', 'to ', 'organization'),
  'tenant.unlink': named('this tenant', 'from ', 'organization'),
  token: tokenOf,
  rule: ruleOf,
  'identity.exchange': 'a CI token',
  repo: 'the repo',
  'repo.update': (entry) => `${fieldsOf(entry)} of`,
  'object.delete': ({ target }) => {
    const oid = short(target['oid'], 12);
    return `the deletion of ${oid === undefined ? 'an object' : `the object ${oid}…`} of`;
  },
  'object.keep': ({ target }) => {
    const oid = short(target['oid'], 12);
    return oid === undefined ? 'an object in' : `the object ${oid}… in`;
  },
  'file.delete': ({ asked, after }) => {
    const [name, prefix] = [text(asked?.['name']), text(asked?.['prefix'])];
    return `${name ?? `${count(after?.['fileCount'], 'file')} below ${prefix ?? '/'}`} of`;
  },
  'reconcile.request': 'a scan',
  'scan.change': 'the scan of',
  export: exportOf,
  'locks.release': locksOf,
  'lock.force': ({ before }) => `${text(before?.['path']) ?? 'a file'} in`,
  'reservations.cancel': ({ after }) => count(after?.['cancelledCount'], 'reservation'),
  webhook: 'the webhook',
  'usage-webhook': 'the webhook for usage',
  'shared-webhook': 'the webhook for all tenants',
  usage: named('byte-hours', 'of ', 'hour'),
  invitation: named('an invitation', 'for ', 'user'),
  'invitation.accept': 'an invitation',
  'console-link': 'a console link',
  'device.approve': named('a command line', 'on ', 'machine'),
  organization: named('the organization', '', 'name', 'organizationId'),
  'user.end': named('the user', '', 'user', 'hostUser'),
  email: named('the e-mail address', '', 'address'),
  gc: 'garbage collection of',
  'gc.reachable-set': 'a reachable set of',
  names: 'the names of',
  'names.change': 'who sees the names of',
};

/** Where an action's own isn't said. */
const verbs: Readonly<Record<string, string>> = {
  update: 'change',
  'object.delete': 'schedule',
  'export.delete': 'remove',
  exchange: 'get',
  force: 'force-unlock',
  end: 'sign out',
  'reachable-set': 'send',
};

/** Of verbs that aren't regular. */
const pasts: Readonly<Record<string, string>> = {
  do: 'did',
  get: 'got',
  keep: 'kept',
  set: 'set',
  'sign out': 'signed out',
  send: 'sent',
  run: 'ran',
};

export function auditSentence(entry: AuditEntryBody): Sentence {
  const { time, action, outcome } = entry;
  const [of = '', did = ''] = action.split('.');
  const thing = things[action] ?? things[of];
  const own = thing === undefined ? 'do' : did;
  const verb = verbs[action] ?? verbs[own] ?? own;
  const start = outcome === 'succeeded' ? (pasts[verb] ?? verb.replace(/e?$/, 'ed')) : `tried to ${verb}`;
  return {
    at: time,
    who: whoOf(entry.by),
    did: `${start} ${typeof thing === 'function' ? thing(entry) : (thing ?? action)}`,
    repo: repoOf(entry),
    detail: [...reasonOf(entry), ...detailsOf(entry)].join(' · '),
    isRejected: outcome === 'denied',
  };
}

function whoOf({ kind, tokenId, name }: AuditEntryBody['by']): string {
  if (kind === 'operator') return 'The operator';
  return name ?? (tokenId === null ? 'Someone' : `Token ${tokenId.slice(0, 8)}`);
}

function reasonOf({ outcome, reason }: AuditEntryBody): string[] {
  if (outcome === 'started') return ['outcome unknown'];
  if (outcome === 'failed') return ['failed: parts might have changed'];
  return reason === null ? [] : [reason.replaceAll('-', ' ')];
}

/** What changed from what to what; or what was asked for. */
function detailsOf({ before, after, asked }: AuditEntryBody): string[] {
  // Of what is gone, what it was.
  const now: Fields = { ...before, ...(after ?? asked) };
  return Object.keys(now).flatMap((name) => {
    const say = shownFields[name];
    if (!say) return [];
    const is = say(now[name], now);
    const isChange = before !== null && after !== null && name in after;
    const was = isChange ? say(before[name], before) : is;
    if (was === is) return is === undefined || isChange ? [] : [is];
    return [`${was === undefined ? '' : `from ${was} to `}${is ?? 'unknown'}`];
  });
}

const bytes = (none: string) => (value: unknown) =>
  typeof value === 'number' ? bytesText(value) : value === null ? none : undefined;

/** Fields that are shown, and how. */
const shownFields: Readonly<Record<string, (value: unknown, fields: Fields) => string | undefined>> = {
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
  ownerName: (value) => text(value) && `locked by ${value}`,
  paths: (value, { releasedCount }) => {
    if (!Array.isArray(value) || value.length < 2) return undefined;
    const shown = value.filter((each) => each !== leftOut);
    const more = Number(releasedCount) - shown.length;
    return shown.join(', ') + (more > 0 ? ` and ${more} more` : '');
  },
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
