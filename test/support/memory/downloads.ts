import { dayOf, monthOf } from '../../../lambda/domain/calendar.ts';
import type {
  DownloadDay,
  DownloadOffer,
  DownloadPlace,
  DownloadSum,
  Downloads,
  PublicOffer,
} from '../../../lambda/ports/downloads.ts';

const none: DownloadSum = { bytes: 0, objects: 0 };
const plus = (a: DownloadSum, b: DownloadSum) => ({
  bytes: a.bytes + b.bytes,
  objects: a.objects + b.objects,
});
const placeOf = ({ day, repo, tokenId }: DownloadPlace) => `${day}#${repo}#${tokenId}`;

/** Downloads in memory, for tests. */
export class MemoryDownloads implements Downloads {
  readonly #months = new Map<string, DownloadSum>();
  readonly #publicMonths = new Map<string, DownloadSum>();
  readonly #monthDays = new Map<string, DownloadSum>();
  /** What was written to which sum. */
  readonly #writes = new Set<string>();
  readonly #days = new Map<string, { tenant: string; day: DownloadDay }>();

  async meter({ limitBytes, ...offer }: Parameters<Downloads['meter']>[0]) {
    const { tenant, atMs, bytes, objects, writeId } = offer;
    const key = `${tenant}#${monthOf(atMs)}`;
    if (this.#isRepeated(key, writeId)) return 'metered' as const;
    const before = this.#months.get(key) ?? none;
    if (limitBytes !== null && before.bytes + bytes > limitBytes) return 'over-limit' as const;
    this.#writes.add(`${key}#${writeId}`);
    this.#months.set(key, plus(before, { bytes, objects }));
    const day = `${tenant}#${dayOf(atMs)}`;
    this.#monthDays.set(day, plus(this.#monthDays.get(day) ?? none, { bytes, objects }));
    return 'metered' as const;
  }

  async addToDay({ tenant, repo, tokenId, atMs, bytes, objects, writeId }: DownloadOffer) {
    const place = { day: dayOf(atMs), repo, tokenId };
    const key = JSON.stringify([tenant, place]);
    if (this.#isRepeated(key, writeId)) return;
    this.#writes.add(`${key}#${writeId}`);
    const sum = plus(this.#days.get(key)?.day ?? none, { bytes, objects });
    this.#days.set(key, { tenant, day: { ...place, ...sum } });
  }

  async meterPublic({ limitBytes, ...offer }: Parameters<Downloads['meterPublic']>[0]) {
    const { tenant, repo, atMs, writeId } = offer;
    const key = `${tenant}/${repo}#${monthOf(atMs)}`;
    if (this.#isRepeated(key, writeId)) return 'metered' as const;
    const { bytes } = this.#publicMonths.get(key) ?? none;
    if (limitBytes !== null && bytes + offer.bytes > limitBytes) return 'over-limit' as const;
    this.#addPublic(offer);
    return 'metered' as const;
  }

  async correctPublic(difference: PublicOffer) {
    this.#addPublic(difference);
  }

  #addPublic({ tenant, repo, atMs, bytes, objects, writeId }: PublicOffer): void {
    const key = `${tenant}/${repo}#${monthOf(atMs)}`;
    if (this.#isRepeated(key, writeId)) return;
    this.#writes.add(`${key}#${writeId}`);
    this.#publicMonths.set(key, plus(this.#publicMonths.get(key) ?? none, { bytes, objects }));
  }

  #isRepeated(key: string, writeId: string): boolean {
    return this.#writes.has(`${key}#${writeId}`);
  }

  async publicMonth({ tenant, repo, month }: { tenant: string; repo: string; month: string }) {
    return this.#publicMonths.get(`${tenant}/${repo}#${month}`) ?? none;
  }

  async month({ tenant, month }: { tenant: string; month: string }) {
    return this.#months.get(`${tenant}#${month}`) ?? none;
  }

  async months({ tenant, months }: { tenant: string; months: readonly string[] }) {
    return [...months].sort().flatMap((month) => {
      const sum = this.#months.get(`${tenant}#${month}`);
      return sum ? [{ month, ...sum, days: this.#daysOf(tenant, month) }] : [];
    });
  }

  #daysOf(tenant: string, month: string): Map<string, DownloadSum> {
    const own = [...this.#monthDays].filter(([key]) => key.startsWith(`${tenant}#${month}`));
    return new Map(own.map(([key, sum]) => [key.slice(tenant.length + 1), sum]));
  }

  async days(input: Parameters<Downloads['days']>[0]) {
    const { tenant, from, to, pageSize, after } = input;
    const all = [...this.#days.values()]
      .filter((each) => each.tenant === tenant && each.day.day >= from && each.day.day <= to)
      .map(({ day }) => day)
      .sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
      .filter((day) => !after || placeOf(day) > placeOf(after));
    const days = all.slice(0, pageSize);
    const last = days.at(-1);
    return { days, next: last && all.length > pageSize ? last : null };
  }
}
