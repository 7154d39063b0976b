import type { RepoPath, RepoRecord, TenantRecord } from '../../core/ledger/rules/tenant.ts';
import { type Belongings, endsAtOnce } from '../../core/ledger/seams.ts';
import { mapLimited } from '../../core/rules/async.ts';
import type { AccessPorts } from './ports.ts';
import type { Caller } from './rules/tokens.ts';

/** No token of a tenant that is closed lets anybody in. */
export function accessBelongings({ tokens }: Pick<AccessPorts, 'tokens'>): Belongings {
  return {
    closeTenant: async (tenant) => {
      const all = [...(await tokens.listUsers(tenant)), ...(await tokens.list(tenant))];
      await mapLimited(all, endsAtOnce, ({ tokenId }) => tokens.delete({ tenant, tokenId }));
    },
  };
}

/** What subjects have for whatever clients upload and download by. Each function lists those that it serves. */
export interface FrontPorts {
  /** Ways to log in beside tokens, in the order in which they are asked. */
  readonly logins: readonly LoginWay[];
  /** Asked before anything is offered for download. */
  readonly meters: readonly Meter[];
}

export interface LoginWay {
  /** Who vouches for people, for them to read. */
  readonly names: readonly string[];
  /** Whether a password is of this kind. Tokens of this service never are. */
  readonly takes: (credential: string) => boolean;
  /**
   * @param input.authorization the whole header.
   * @throws {LedgerUnavailableError}
   */
  readonly login: (input: RepoPath & { credential: string; authorization: string }) => Promise<LoginOutcome>;
}

type LoginOutcome =
  | {
      readonly kind: 'granted';
      readonly token: Caller;
      readonly tenant: TenantRecord;
      readonly repoRecord: RepoRecord | undefined;
      readonly upstream?: Upstream | undefined;
    }
  /** For whatever reason. Who asks must not learn whether there is such a repo. */
  | { readonly kind: 'refused' }
  /** Whoever vouches is to be asked later, or doesn't answer. */
  | { readonly kind: 'limited' | 'unavailable'; readonly host: string; readonly retryAfterMs: number };

/** Where what is missing here can be downloaded. */
export interface Upstream {
  /** Its id. */
  readonly host: string;
  /** The repository's full name there. */
  readonly name: string;
  /** The user's own, as the request has it: Basic or Bearer. */
  readonly authorization: string;
}

/** What a batch offers for download. */
export interface Offer {
  readonly tenant: Pick<TenantRecord, 'tenant' | 'downloadLimitBytes'>;
  readonly repo: string;
  readonly tokenId: string;
  readonly atMs: number;
  readonly bytes: number;
  readonly objects: number;
}

/** Why nothing was offered. */
export interface OverLimit {
  readonly kind: 'over-limit';
  readonly limitBytes: number;
  /** Offered in this month so far. */
  readonly offeredBytes: number;
  readonly askedBytes: number;
  readonly resetsAtMs: number;
}

/**
 * Counts an offer: right before the answer, so that whatever failed until then was not counted.
 *
 * @returns undefined: it may be offered.
 * @throws {LedgerUnavailableError} Then nothing is offered.
 */
export type Meter = (offer: Offer) => Promise<OverLimit | undefined>;
