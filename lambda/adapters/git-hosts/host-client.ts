import type { GitHost } from '../../domain/git-host.ts';
import type { HostAnswer, HostClient } from '../../ports/git-hosts.ts';
import type { HostFindings } from './answers.ts';
import { type Asking, answerMs } from './get-json.ts';
import { askGitHubLike } from './github-like.ts';
import { askGitLab } from './gitlab.ts';

/** Tokens that one host is asked about at a time, by this process. */
const atOnceMax = 16;
/** Beyond that, who asks is to try again after this. */
const busyRetryAfterMs = 2_000;

/** Asks hosts over HTTP. @param options.timeoutMs for all that is asked about one token. */
export function createHostClient(
  { nowMs }: { nowMs: () => number },
  { timeoutMs = answerMs }: { timeoutMs?: number } = {},
): HostClient {
  const underWay = new Map<string, number>();
  return {
    async ask({ host, name, token }): Promise<HostAnswer> {
      const asked = underWay.get(host.id) ?? 0;
      if (asked >= atOnceMax) return { kind: 'limited', retryAfterMs: busyRetryAfterMs };
      underWay.set(host.id, asked + 1);
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
        underWay.set(host.id, (underWay.get(host.id) ?? 1) - 1);
      }
    },
  };
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
