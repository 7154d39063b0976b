import type { RepoPath, RepoRecord, TenantRecord } from '../../core/ledger/rules/tenant.ts';
import type { Gone } from '../../core/ledger/watch-store.ts';
import type { SignedRequest } from '../../core/store/rules/store.ts';
import type { OverLimit, Upstream } from '../../frame/access/seams.ts';

/** What subjects have for the LFS API alone. */
export interface LfsPorts {
  /** Lets people without a token download. */
  readonly publicAccess?: PublicAccess | undefined;
  /** Finds what is missing here somewhere else. */
  readonly readThrough?: ReadThrough | undefined;
}

/** What is said of an object of a download. */
export type DownloadVerdict =
  | { readonly kind: 'download'; readonly get: SignedRequest; readonly expiresInMs: number }
  | UpstreamVerdict
  /** It was deleted here. */
  | ({ readonly kind: 'gone' } & Gone)
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
