import type { GitHost } from '../../domain/git-host.ts';
import { sameDigest } from '../../domain/token.ts';
import type { HostAnswer, HostClient } from '../../ports/git-hosts.ts';
import { sha256Hex } from '../../rules/hash.ts';
import type { HostFindings } from './answers.ts';
import { type Asking, answerMs } from './get-json.ts';
import { askGitHubLike } from './github-like.ts';
import { askGitLab } from './gitlab.ts';

/** Tokens that one host is asked about at a time, by this process. */
const atOnceMax = 16;
/** So many of them are for tokens that the host let in before. */
const forKnown = 4;
/** A token waits so long for a slot. Only a process that serves many requests at a time ever fills them: not Lambda. */
const slotWaitMs = 2_000;
/** Then a known one can retry after this. */
const busyRetryAfterMs = 2_000;

interface HostClientOptions {
  /** For all that is asked about one token. */
  readonly timeoutMs?: number;
  readonly waitMs?: number;
  /** SHA-256 of a password that goes to no host: the admin token, where the process knows it. */
  readonly neverSha256?: string;
}

/** Asks hosts over HTTP. */
export function createHostClient(
  { nowMs }: { nowMs: () => number },
  { timeoutMs = answerMs, waitMs = slotWaitMs, neverSha256 }: HostClientOptions = {},
): HostClient {
  const slotsOf = new Map<string, Slots>();
  return {
    async ask({ host, name, token, isKnown }): Promise<HostAnswer> {
      if (neverSha256 !== undefined && sameDigest(sha256Hex(token), neverSha256))
        return { kind: 'refused', reason: 'token-rejected' };
      const slots = slotsOf.get(host.id) ?? new Slots();
      slotsOf.set(host.id, slots);
      if (!(await slots.take({ isKnown, waitMs })))
        // To a new token the same as any refusal: nothing shows that the repo is mapped.
        return isKnown
          ? { kind: 'limited', retryAfterMs: busyRetryAfterMs }
          : { kind: 'refused', reason: 'too-many-new' };
      try {
        const asking = { url: host.url, token, signal: AbortSignal.timeout(timeoutMs) };
        const findings = await askKind(host, { asking, name, nowMs });
        if (findings.kind !== 'found') return findings;
        const { userId, login, access, hostedId } = findings;
        return {
          kind: 'granted',
          grant: { person: { id: `${host.id}:${userId}`, login }, access },
          hostedId,
        };
      } finally {
        slots.give();
      }
    },
  };
}

/** The questions that one host is asked at a time. Those that wait are as many as the process has connections. */
class Slots {
  #taken = 0;
  readonly #waiting = new Set<{ readonly isKnown: boolean; readonly start: () => void }>();

  /** @returns false if none became free in time. */
  take({ isKnown, waitMs }: { isKnown: boolean; waitMs: number }): Promise<boolean> {
    if (this.#isFree(isKnown)) {
      this.#taken += 1;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const waiter = {
        isKnown,
        start: () => {
          clearTimeout(timer);
          this.#waiting.delete(waiter);
          this.#taken += 1;
          resolve(true);
        },
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(waiter);
        resolve(false);
      }, waitMs);
      this.#waiting.add(waiter);
    });
  }

  /** Known tokens first: all others can be guesses. */
  give(): void {
    this.#taken -= 1;
    const next = this.#first(true) ?? this.#first(false);
    if (next && this.#isFree(next.isKnown)) next.start();
  }

  #isFree(isKnown: boolean): boolean {
    return this.#taken < (isKnown ? atOnceMax : atOnceMax - forKnown);
  }

  #first(isKnown: boolean) {
    for (const waiter of this.#waiting) if (waiter.isKnown === isKnown) return waiter;
    return undefined;
  }
}

function askKind(
  { kind }: GitHost,
  { asking, name, nowMs }: { asking: Omit<Asking, 'headers'>; name: string; nowMs: () => number },
): Promise<HostFindings> {
  switch (kind) {
    case 'github': {
      const headers = { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' };
      return askGitHubLike({ ...asking, headers }, { base: '', name, nowMs });
    }
    case 'gitea':
      return askGitHubLike({ ...asking, headers: {} }, { base: '/api/v1', name, nowMs });
    case 'gitlab':
      return askGitLab({ ...asking, headers: {} }, { name, nowMs });
  }
}
