import { parseJson } from '../rules/text.ts';
import { type GitHost, gitHostIdPattern, gitHostKinds, isGitHostUrl } from './git-host.ts';

/**
 * The git hosts of a stage from JSON. Without it: none.
 *
 * @throws {Error} while the container starts: a stage must send tokens to no other hosts than its operator set.
 */
export function gitHostsFromJson(text: string | undefined): readonly GitHost[] {
  if (text === undefined) return [];
  const value = parseJson(text);
  if (!Array.isArray(value)) throw new Error('The git hosts are no list. Deploy the stage again.');
  return value.map((each: unknown) => {
    if (!isGitHost(each)) throw new Error('A git host lacks id, kind or url. Deploy the stage again.');
    return { id: each.id, kind: each.kind, url: each.url };
  });
}

/** For {@link gitHostsFromJson}. undefined: there are none. */
export function gitHostsToJson(hosts: readonly GitHost[]): string | undefined {
  return hosts.length === 0 ? undefined : JSON.stringify(hosts);
}

function isGitHost(value: unknown): value is GitHost {
  const { id, kind, url } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return (
    typeof id === 'string' &&
    gitHostIdPattern.test(id) &&
    gitHostKinds.some((each) => each === kind) &&
    typeof url === 'string' &&
    // An emulated stage has its hosts on this machine. The settings of a deployed one take https alone.
    isGitHostUrl(url, { allowsLoopback: true })
  );
}
