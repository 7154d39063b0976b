import type { RepoPath, RepoRecord, TenantRecord } from '../../core/ledger/rules/tenant.ts';
import type { SignedRequest } from '../../core/store/rules/store.ts';
import type { Caller } from '../access/rules/tokens.ts';

/** What subjects have for the LFS API. Each function lists those that it serves. */
export interface LfsPorts {
  /** Ways to log in beside tokens, in the order in which they are asked. */
  readonly logins: readonly LoginWay[];
  /** Asked before anything is offered for download. */
  readonly meters: readonly Meter[];
  /** Lets people without a token download. */
  readonly publicAccess?: PublicAccess | undefined;
  /** Finds what is missing here somewhere else. */
  readonly readThrough?: ReadThrough | undefined;
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

/** What is said of an object of a download. */
export type DownloadVerdict =
  | { readonly kind: 'download'; readonly get: SignedRequest; readonly expiresInMs: number }
  | UpstreamVerdict
  /** It was deleted here. */
  | { readonly kind: 'gone'; readonly atMs: number }
  | { readonly kind: 'size-conflict'; readonly storedBytes: number };

/** What is said of one that is missing here. */
export type UpstreamVerdict =
  | {
      readonly kind: 'upstream';
      readonly get: SignedRequest;
      readonly expiresInMs: number;
      /** Whether the request needs no login beside its headers. */
      readonly isAuthenticated: boolean;
    }
  /** Without a message, nobody else was asked. */
  | { readonly kind: 'missing'; readonly message?: string };

export type OfferDownloadOutcome =
  | { readonly kind: 'answered'; readonly verdicts: ReadonlyMap<string, DownloadVerdict> }
  /** Nothing was offered. */
  | OverLimit;

/**
 * Finds a repo from which anybody may download. @param input.lfsUrl as the client has it.
 *
 * @returns undefined: it is to be answered as if there were no such repo. Otherwise what offers objects, oid → bytes, or the
 * message of a refusal.
 * @throws {LedgerUnavailableError | StoreUnavailableError} from both.
 */
export type PublicAccess = (
  input: RepoPath & { lfsUrl: string },
) => Promise<
  | ((
      objects: ReadonlyMap<string, number>,
    ) => Promise<Extract<OfferDownloadOutcome, { kind: 'answered' }> | { kind: 'refused'; message: string }>)
  | undefined
>;

/** Objects that another host has. */
export interface ReadThrough {
  /** @param input.objects oid → bytes. @returns what is said of each of them. */
  readonly ask: (
    input: RepoPath & { upstream: Upstream; objects: ReadonlyMap<string, number>; lifetimeMs: number },
  ) => Promise<ReadonlyMap<string, UpstreamVerdict>>;
  /** Has what was found copied, where it fits. The answer waits for it, and doesn't depend on it. */
  readonly copy: (
    input: {
      tenant: TenantRecord;
      repo: string;
      repoObjects: number | undefined;
      isOfLfs: boolean;
      watch: RepoRecord['watch'];
      storageClass: string | null;
    },
    asked: { objects: ReadonlyMap<string, number>; verdicts: ReadonlyMap<string, DownloadVerdict> },
  ) => Promise<void>;
}
