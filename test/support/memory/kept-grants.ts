import type { PersonGrant } from '../../../lambda/domain/person.ts';
import type { KeptGrants } from '../../../lambda/ports/git-hosts.ts';

/** What hosts have said, in memory, for tests. */
export class MemoryKeptGrants implements KeptGrants {
  readonly #kept = new Map<string, { grant: PersonGrant; untilMs: number }>();

  async find(key: string) {
    return this.#kept.get(key);
  }

  async keep({ key, grant, untilMs }: { key: string; grant: PersonGrant; untilMs: number }) {
    if (untilMs > (this.#kept.get(key)?.untilMs ?? 0)) this.#kept.set(key, { grant, untilMs });
  }
}
