import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { TenantRecord } from '../../core/ledger/rules/tenant.ts';
import { sameDigest, sha256Hex } from '../../core/rules/hash.ts';
import { audited } from '../../frame/access/audit.ts';
import type { AccessPorts } from '../../frame/access/ports.ts';
import { suspension } from '../../frame/access/rules/suspension.ts';
import {
  lastingTokenId,
  type SessionRecord,
  sessionLifetimeMs,
  type TokenRecord,
  tokenIdOf,
} from '../../frame/access/rules/tokens.ts';
import {
  beginSession,
  claimToken,
  createToken,
  type GivenToken,
  givenToken,
  givenVerdict,
  secretLength,
} from '../../frame/access/tokens.ts';
import { baseUrl, json, noContent } from '../../frame/api/http.ts';
import { problem } from '../../frame/api/problems.ts';
import { iso } from '../../frame/contract/fields.ts';
import { isFromConsole, isManager, setCookie } from '../../frame/management/access.ts';
import {
  jsonBody,
  type Operation,
  operationsFor,
  pathId,
  readRequestKey,
} from '../../frame/management/operations.ts';
import { tokenBody } from '../../frame/management/tokens.ts';
import {
  consoleLinkSecondsDefault,
  type InvitationBody,
  invitationContract,
  invitedSecondsDefault,
} from './contract.ts';
import type { InvitationPorts } from './ports.ts';
import {
  acceptedAgainMs,
  type DeviceRecord,
  deviceLifetimeMs,
  deviceTokenLifetimeMs,
  type InvitationRecord,
  invitationLifetimeMs,
  invitedLifetimeMs,
  isKept,
  isWithin,
  mayStillInvite,
  parseInvitation,
  parseUserCode,
  userCodeFrom,
} from './rules/invitations.ts';

type Invited = Pick<InvitationRecord, 'tenant' | 'scope' | 'repos' | 'user' | 'lifetimeMs' | 'opensConsole'>;

/** Who invites. @param token undefined: the operator. */
type Inviter = { readonly token: TokenRecord | undefined };

type InviteOutcome =
  /** The secret is in this outcome and stored nowhere. */
  | { readonly kind: 'created'; readonly secret: string; readonly record: InvitationRecord }
  /** The tenant has as many as it can. */
  | { readonly kind: 'full' };

/** Makes an invitation to a tenant that exists. @param input.linkMs how long its link works. @throws {LedgerUnavailableError} */
export async function invite(
  deps: Pick<CoreDeps, 'ids' | 'clock'> & Pick<InvitationPorts, 'invitations'>,
  { token, linkMs = invitationLifetimeMs, ...invited }: Invited & Inviter & { linkMs?: number },
): Promise<InviteOutcome> {
  const secret = `${invited.tenant}.lfsi_${deps.ids.random(secretLength)}`;
  const createdAtMs = deps.clock.nowMs();
  const record: InvitationRecord = {
    ...invited,
    invitationId: tokenIdOf(secret),
    secretSha256: sha256Hex(secret),
    inviterId: token?.tokenId ?? null,
    inviter: token?.user ?? token?.label ?? null,
    createdAtMs,
    expiresAtMs: createdAtMs + linkMs,
  };
  const outcome = await deps.invitations.put(record);
  return outcome === 'created' ? { kind: 'created', secret, record } : { kind: 'full' };
}

type AcceptDeps = Pick<CoreDeps, 'ledger' | 'ids' | 'clock' | 'log'> &
  Pick<InvitationPorts, 'invitations'> &
  Pick<AccessPorts, 'tokens' | 'requestKeys' | 'audit'>;

/**
 * Gives whoever has an invitation's secret its token, once. The same request, by its key, gets the same token for some
 * minutes; somebody else with the link doesn't.
 *
 * A secret that was made up costs one read of one item, and the audit of a tenant hears of nothing but what is accepted.
 *
 * @param input.requestKey undefined: the request can't be repeated.
 * @param input.user whom the token stands for, if the invitation doesn't say.
 * @throws {LedgerUnavailableError | AuditUnavailableError}
 */
export async function acceptInvitation(
  deps: AcceptDeps,
  input: { secret: string; user: string | null; requestKey: string | undefined; requestId: string },
): Promise<GivenToken> {
  const { secret, requestId } = input;
  const found = await findBySecret(deps, secret);
  if (!found || found.opensConsole) return rejected('unknown');
  const requestKey = input.requestKey ?? deps.ids.random(secretLength);
  const accepted = {
    atMs: deps.clock.nowMs(),
    keySha256: sha256Hex(requestKey),
    user: found.user ?? input.user,
  };
  const { inviterId, tenant } = found;
  const [inviter, record] = await Promise.all([
    inviterId === null ? undefined : deps.tokens.find(inviterId),
    deps.ledger.readTenant(tenant),
  ]);
  const reason = refusalOf(found, { accepted, inviter, record });
  if (reason !== undefined) return rejected(reason);
  const suspended = record && suspension(record, 'all');
  if (suspended !== undefined) return { kind: 'rejected', reason: 'the tenant is suspended', suspended };
  const claim = (of: NonNullable<InvitationRecord['accepted']>) =>
    claimOf(deps, { found, inviter, of, secret, requestKey });
  if (found.accepted) {
    const claimed = await claim(found.accepted);
    // What is sent once more changes nothing, and whoever has the key could fill the audit with it.
    if (claimed.kind !== 'claimed') return givenToken(deps, claimed);
  }
  return audited(deps, {
    action: {
      tenant,
      requestId,
      by: { kind: 'identity', tokenId: null, name: accepted.user },
      action: 'invitation.accept',
      target: { invitationId: found.invitationId },
    },
    run: async (trail) => {
      const now = await deps.invitations.accept({ ...found, accepted });
      const of = now?.accepted;
      // Somebody else was first.
      if (!of || of.keySha256 !== accepted.keySha256) return rejected('used');
      const claimed = await claim(of);
      const outcome = claimed.kind === 'claimed' ? await claimed.create() : claimed;
      if (outcome.kind === 'created') {
        const { tokenId, scope, repos, user, expiresAtMs } = outcome.record;
        trail.became({ tokenId, scope, repos, user, expiresAtMs });
      }
      return givenToken(deps, outcome);
    },
    verdictOf: givenVerdict,
  });
}

async function findBySecret({ invitations }: Pick<InvitationPorts, 'invitations'>, secret: string) {
  const key = parseInvitation(secret);
  const found = key && (await invitations.find(key));
  return found && sameDigest(found.secretSha256, sha256Hex(secret)) ? found : undefined;
}

type OpenConsoleOutcome =
  | {
      readonly kind: 'opened';
      readonly tenant: string;
      readonly value: string;
      readonly session: SessionRecord;
    }
  | Extract<GivenToken, { kind: 'rejected' }>;

/**
 * Lets whoever has the secret of a console link into the console, once: with a token whose secret nobody has, which ends with
 * its session.
 *
 * @throws {LedgerUnavailableError | AuditUnavailableError} Then it may be used up.
 */
async function openConsole(
  deps: AcceptDeps & Pick<AccessPorts, 'admin'>,
  { secret, requestId }: { secret: string; requestId: string },
): Promise<OpenConsoleOutcome> {
  const found = await findBySecret(deps, secret);
  if (!found?.opensConsole) return rejected('unknown');
  const { tenant, scope, repos, user, lifetimeMs, invitationId } = found;
  const keySha256 = sha256Hex(deps.ids.random(secretLength));
  const accepted = { atMs: deps.clock.nowMs(), keySha256, user };
  const record = await deps.ledger.readTenant(tenant);
  const reason = refusalOf(found, { accepted, inviter: undefined, record });
  if (reason !== undefined) return rejected(reason);
  const suspended = record && suspension(record, 'all');
  if (suspended !== undefined) return { ...rejected('the tenant is suspended'), suspended };
  return audited(deps, {
    action: {
      tenant,
      requestId,
      by: { kind: 'identity', tokenId: null, name: user },
      action: 'console-link.open',
    },
    run: async (trail): Promise<OpenConsoleOutcome> => {
      const now = await deps.invitations.accept({ ...found, accepted });
      if (now?.accepted?.keySha256 !== keySha256) return rejected('used');
      const label = `console link ${invitationId}`;
      const { record: token } = await createToken(deps, { tenant, scope, repos, user, label, lifetimeMs });
      trail.became({ tokenId: token.tokenId, scope, user });
      return { kind: 'opened', tenant, ...(await beginSession(deps, { token })) };
    },
    verdictOf: ({ kind }) =>
      kind === 'opened' ? { outcome: 'succeeded' } : { outcome: 'denied', reason: 'unauthorized' },
  });
}

/** Why an invitation makes no token. undefined: it does. */
function refusalOf(
  { accepted: before, expiresAtMs, inviterId }: InvitationRecord,
  now: {
    accepted: { atMs: number; keySha256: string };
    inviter: TokenRecord | undefined;
    record: TenantRecord | undefined;
  },
): string | undefined {
  const { atMs, keySha256 } = now.accepted;
  if (before && (before.keySha256 !== keySha256 || before.atMs + acceptedAgainMs <= atMs)) return 'used';
  if (!before && expiresAtMs <= atMs) return 'expired';
  if (now.record?.closedAtMs !== null) return "the tenant doesn't exist";
  return inviterId === null || mayStillInvite(now.inviter, atMs)
    ? undefined
    : 'the inviter no longer manages the tenant';
}

/** The token of an invitation, the same for the same request. */
function claimOf(
  deps: AcceptDeps,
  input: {
    found: InvitationRecord;
    inviter: TokenRecord | undefined;
    of: NonNullable<InvitationRecord['accepted']>;
    secret: string;
    requestKey: string;
  },
) {
  const { found, inviter, of, secret, requestKey } = input;
  const { tenant, scope, repos, invitationId } = found;
  const grant = {
    tenant,
    scope,
    repos,
    user: of.user,
    label: `invitation ${invitationId}`,
    lifetimeMs: invitedLifetimeMs(found, { inviter, atMs: of.atMs }),
  };
  return claimToken(deps, { grant, credential: secret, requestKey });
}

const rejected = (reason: string) => ({ kind: 'rejected', reason }) as const;

/** Of a code that is in use, others are tried. */
const codeAttempts = 5;
/** About a third of base62 counts for nothing in a code. */
const codeRandomLength = 120;

type StartDeviceOutcome =
  /** `secret` is the token, once it's approved. */
  | {
      readonly kind: 'started';
      readonly secret: string;
      readonly userCode: string;
      readonly expiresAtMs: number;
    }
  /** More wait than there are slots, or than one address can have. */
  | { readonly kind: 'full' };

/** Begins to wait for a user who approves a command line. @throws {LedgerUnavailableError} */
export async function startDevice(
  deps: Pick<CoreDeps, 'ids' | 'clock'> & Pick<InvitationPorts, 'devices'>,
  { machine, address }: { machine: string; address: string },
): Promise<StartDeviceOutcome> {
  const nowMs = deps.clock.nowMs();
  if ((await deps.devices.count({ what: 'starts', of: address, nowMs })) === 'too-many')
    return { kind: 'full' };
  const secret = `lfsq_${deps.ids.random(secretLength)}`;
  const expiresAtMs = nowMs + deviceLifetimeMs;
  for (let attempt = 0; attempt < codeAttempts; attempt += 1) {
    const userCode = userCodeFrom(deps.ids.random(codeRandomLength));
    if (userCode === undefined) continue;
    const record: DeviceRecord = {
      userCodeSha256: sha256Hex(userCode),
      tokenId: tokenIdOf(secret),
      secretSha256: sha256Hex(secret),
      machine,
      address,
      expiresAtMs,
    };
    if ((await deps.devices.put({ record, nowMs })) === 'stored')
      return { kind: 'started', secret, userCode, expiresAtMs };
  }
  return { kind: 'full' };
}

type FindDeviceOutcome =
  /** `approved`: by whoever looks for it. */
  | { readonly kind: 'found' | 'approved'; readonly device: DeviceRecord }
  /** No command line waits with such a code. */
  | { readonly kind: 'absent' }
  /** The approver, or the tenant's managers, mistyped too many. */
  | { readonly kind: 'too-many-tries' };

/** The command line that waits with a code, as it was typed. @param input.by whose wrong codes count together. @throws {LedgerUnavailableError} */
export async function findDevice(
  deps: Pick<CoreDeps, 'clock'> & Pick<InvitationPorts, 'devices'>,
  { by, typed }: { by: string; typed: string },
): Promise<FindDeviceOutcome> {
  const nowMs = deps.clock.nowMs();
  if ((await deps.devices.count({ what: 'tries', of: by, nowMs })) === 'too-many')
    return { kind: 'too-many-tries' };
  const userCode = parseUserCode(typed);
  const userCodeSha256 = sha256Hex(userCode ?? '');
  const device = userCode === undefined ? undefined : await deps.devices.find({ userCodeSha256, nowMs });
  const { approvedBy = by } = device ?? {};
  if (!device || approvedBy !== by) return { kind: 'absent' };
  await deps.devices.takeBackTry(by);
  return { kind: device.approvedBy === undefined ? 'found' : 'approved', device };
}

/** What the token of a command line is to be. @param input.parent whose holder approves a machine of their own: it ends with that. */
export function deviceGrant(
  { clock }: Pick<CoreDeps, 'clock'>,
  input: Parameters<typeof isWithin>[1] & {
    tenant: string;
    device: DeviceRecord;
    parent?: TokenRecord | undefined;
  },
): TokenRecord & { expiresAtMs: number } {
  const { device, parent, ...grant } = input;
  const { tokenId, secretSha256, machine } = device;
  const createdAtMs = clock.nowMs();
  const expiresAtMs = createdAtMs + deviceTokenLifetimeMs;
  return {
    ...grant,
    ...(parent && { parentId: parent.tokenId }),
    tokenId,
    secretSha256,
    label: machine,
    createdAtMs,
    expiresAtMs: Math.min(expiresAtMs, parent?.expiresAtMs ?? expiresAtMs),
    lastUsedAtMs: null,
  };
}

/**
 * Makes a command line's secret a token.
 *
 * @returns `absent`: it was approved before.
 * @throws {LedgerUnavailableError}
 */
export async function approveDevice(
  deps: Pick<CoreDeps, 'clock'> & Pick<InvitationPorts, 'devices'> & Pick<AccessPorts, 'tokens'>,
  { device, token }: { device: DeviceRecord; token: TokenRecord },
): Promise<'approved' | 'absent' | 'too-many'> {
  const counted = { what: 'approvals', of: token.parentId ?? '', nowMs: deps.clock.nowMs() } as const;
  if (token.parentId !== undefined && (await deps.devices.count(counted)) === 'too-many') return 'too-many';
  const outcome = await deps.tokens.put(token);
  await deps.devices.approve({ ...device, approvedBy: token.parentId ?? token.tenant });
  return outcome === 'created' ? 'approved' : 'absent';
}

type Needs = Pick<CoreDeps, 'ids'> & InvitationPorts & { readonly publicUrl?: string | undefined };

export const invitationOperations = operationsFor<Needs>()(invitationContract, {
  'GET /v1/tenants/{tenant}/invitations': async (deps, { tenant: { tenant } }) => {
    const nowMs = deps.clock.nowMs();
    const open = (await deps.invitations.list(tenant)).filter(
      (each) => !each.accepted && !each.opensConsole && isKept(each, nowMs),
    );
    return json(200, { invitations: open.map(invitationBody) });
  },

  /** The one answer that holds its link. */
  'POST /v1/tenants/{tenant}/invitations': async (
    deps,
    { tenant: { tenant }, token, body, event, trail },
  ) => {
    const { scope = 'write', repos = null, user = null, expiresInSeconds = invitedSecondsDefault } = body;
    const lifetimeMs = expiresInSeconds * 1000;
    const outcome = await invite(deps, { tenant, scope, repos, user, lifetimeMs, token });
    if (outcome.kind === 'full') return invitationsFull(tenant);
    const shown = invitationBody(outcome.record);
    trail.became(shown);
    return json(201, { ...shown, link: `${baseUrl(event, deps.publicUrl)}/#_join/${outcome.secret}` });
  },

  'POST /v1/tenants/{tenant}/console-links': async (deps, { tenant: { tenant }, body, event, trail }) => {
    const { scope, user = null, expiresInSeconds = consoleLinkSecondsDefault } = body;
    const rights = { tenant, scope, repos: null, user, lifetimeMs: sessionLifetimeMs, token: undefined };
    const linkMs = expiresInSeconds * 1000;
    const outcome = await invite(deps, { ...rights, linkMs, opensConsole: true });
    if (outcome.kind === 'full') return invitationsFull(tenant);
    const shown = { scope, user, expiresAt: iso(outcome.record.expiresAtMs) };
    trail.became(shown);
    return json(201, { ...shown, link: `${baseUrl(event, deps.publicUrl)}/#_open/${outcome.secret}` });
  },

  'DELETE /v1/tenants/{tenant}/invitations/{invitationId}': async (
    deps,
    { tenant: { tenant }, event, trail },
  ) => {
    const invitationId = pathId(event, 'invitationId');
    const found = invitationId && (await deps.invitations.find({ tenant, invitationId }));
    if (found) trail.was(invitationBody(found));
    if (found && (await deps.invitations.delete(found)) === 'deleted') return noContent();
    return problem('invitation-not-found', `${tenant} has no open invitation with that id.`);
  },

  /** Anybody with a token can approve a machine of theirs. Nothing is written, nor audited, before it's known that they may. */
  'POST /v1/tenants/{tenant}/device': async (deps, { tenant: { tenant }, query, body, ...reader }) => {
    const { token } = reader;
    const parent = isManager(reader) ? undefined : token;
    const own = parent ?? { scope: 'write', repos: null };
    const { userCode, scope = own.scope, repos = own.repos, user = token?.user ?? null } = body;
    const lasts = parent && lastingTokenId(parent) !== undefined && parent.parentId === undefined;
    if (parent && !(lasts && isWithin(parent, { scope, repos, user })))
      return problem('scope-too-small', ownOnly);
    const found = await findDevice(deps, { by: parent?.tokenId ?? tenant, typed: userCode });
    if (found.kind === 'too-many-tries') {
      const detail = 'Too many wrong codes. Wait 10 minutes, then start the login again.';
      return problem('device-tries', detail, { 'retry-after': '600' });
    }
    if (found.kind === 'absent') return deviceNotFound();
    const { device } = found;
    if (found.kind === 'approved')
      return deviceNotFound(`This login is already approved: ${device.machine} got its token.`);
    const made = deviceGrant(deps, { device, tenant, scope, repos, user, parent });
    const { tokenId, expiresAtMs } = made;
    const { machine, address = null } = device;
    const shown = {
      machine,
      tokenId,
      scope,
      user,
      address,
      repos: repos && [...repos],
      expiresAt: iso(expiresAtMs),
    };
    if (query.dryRun) return json(200, shown);
    return async (trail) => {
      const outcome = await approveDevice(deps, { device, token: made });
      if (outcome === 'absent') return deviceNotFound();
      if (outcome === 'too-many')
        return problem('devices-full', 'You have approved too many machines. Ask a tenant admin.');
      trail.became(shown);
      return json(200, shown);
    };
  },
});

const invitationsFull = (tenant: string) =>
  problem('invitations-full', `${tenant} has the maximum of open invitations. Revoke one first.`);

/** A command line asks so often whether it's approved. */
const intervalSeconds = 5;

type AcceptNeeds = Parameters<typeof openConsole>[0] &
  Parameters<typeof startDevice>[0] &
  Pick<CoreDeps, 'settings'>;

/** What somebody without a token can do to get one. */
export const acceptOperations = {
  /** The same words for each refusal. Of the request nothing is logged: it may hold somebody's secret. */
  'POST /v1/invitations/accept': async (deps, event) => {
    const decoded = jsonBody(deps, event, invitationContract['POST /v1/invitations/accept'].body);
    if (!decoded.ok) return decoded.response;
    const key = readRequestKey(event);
    if (!key.ok) return key.response;
    const { secret, user = null } = decoded.body;
    const { requestKey } = key;
    const { requestId } = event.requestContext;
    const outcome = await acceptInvitation(deps, { secret, user, requestKey, requestId });
    if (outcome.kind === 'rejected') {
      deps.log.info('invitation rejected', { reason: outcome.reason });
      if (outcome.suspended !== undefined) return problem('tenant-suspended', outcome.suspended);
      const detail = 'The link is wrong, used, expired or revoked. Ask for a new invitation.';
      return problem('invitation-not-found', detail);
    }
    const { token, record } = outcome;
    deps.log.info('invitation accepted', { tenant: record.tenant, tokenId: record.tokenId });
    return json(201, { ...tokenBody(record), tenant: record.tenant, token });
  },

  /** A page of somebody else must not sign a browser in. */
  'POST /v1/console-links/open': async (deps, event) => {
    const decoded = jsonBody(deps, event, invitationContract['POST /v1/console-links/open'].body);
    if (!decoded.ok) return decoded.response;
    const { requestId } = event.requestContext;
    const outcome: OpenConsoleOutcome = isFromConsole(event)
      ? await openConsole(deps, { ...decoded.body, requestId })
      : rejected("the request isn't from the console");
    if (outcome.kind === 'rejected') {
      deps.log.info('console link rejected', { reason: outcome.reason });
      const { suspended } = outcome;
      if (suspended !== undefined) return problem('tenant-suspended', suspended);
      return problem(
        'link-not-found',
        'The link is wrong, used or expired. Open the console from your app again.',
      );
    }
    const { tenant, value, session } = outcome;
    deps.log.info('console link opened', { tenant, tokenId: session.parentId });
    const maxAgeMs = session.expiresAtMs - session.createdAtMs;
    return { ...json(200, { tenant }), cookies: [setCookie(event, { value, maxAgeMs })] };
  },

  'POST /v1/device': async (deps, event) => {
    const decoded = jsonBody(deps, event, invitationContract['POST /v1/device'].body);
    if (!decoded.ok) return decoded.response;
    const address = event.requestContext.http.sourceIp;
    const outcome = await startDevice(deps, { ...decoded.body, address });
    if (outcome.kind === 'full') {
      const detail = 'Too many logins are waiting. Retry in a minute, or paste a token.';
      return problem('devices-full', detail, { 'retry-after': '60' });
    }
    const { userCode, secret: token, expiresAtMs } = outcome;
    return json(201, { userCode, token, expiresAt: iso(expiresAtMs), intervalSeconds });
  },
} satisfies Readonly<Record<string, Operation<AcceptNeeds>>>;

const ownOnly =
  'You can approve your own machines with up to your rights, but not from a login that was approved so. Ask a tenant admin.';

const unknownCode = 'No login is waiting with this code. Check it, or start the login again.';
const deviceNotFound = (detail = unknownCode) => problem('device-not-found', detail);

function invitationBody(record: InvitationRecord): InvitationBody {
  const { invitationId, scope, repos, user, inviter, lifetimeMs, createdAtMs, expiresAtMs } = record;
  return {
    invitationId,
    scope,
    repos: repos && [...repos],
    user,
    inviter,
    expiresInSeconds: lifetimeMs / 1000,
    createdAt: iso(createdAtMs),
    expiresAt: iso(expiresAtMs),
  };
}
