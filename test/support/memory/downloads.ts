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
  readonly #days = new Map<string, { tenant: string; day: DownloadDay }>();

  async meter({ limitBytes, ...offer }: Parameters<Downloads['meter']>[0]) {
    const { bytes } = this.#months.get(`${offer.tenant}#${monthOf(offer.atMs)}`) ?? none;
    if (limitBytes !== null && bytes + offer.bytes > limitBytes) return 'over-limit' as const;
    this.#add(offer);
    return 'metered' as const;
  }

  async correct(difference: DownloadOffer) {
    this.#add(difference);
  }

  async meterPublic({ limitBytes, ...offer }: Parameters<Downloads['meterPublic']>[0]) {
    const { tenant, repo, atMs } = offer;
    const { bytes } = this.#publicMonths.get(`${tenant}/${repo}#${monthOf(atMs)}`) ?? none;
    if (limitBytes !== null && bytes + offer.bytes > limitBytes) return 'over-limit' as const;
    void this.correctPublic(offer);
    return 'metered' as const;
  }

  async correctPublic({ tenant, repo, atMs, bytes, objects }: PublicOffer) {
    const key = `${tenant}/${repo}#${monthOf(atMs)}`;
    this.#publicMonths.set(key, plus(this.#publicMonths.get(key) ?? none, { bytes, objects }));
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
    const sums = new Map<string, DownloadSum>();
    for (const { tenant: owner, day } of this.#days.values())
      if (owner === tenant && day.day.startsWith(month))
        sums.set(day.day, plus(sums.get(day.day) ?? none, { bytes: day.bytes, objects: day.objects }));
    return sums;
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

  #add({ tenant, repo, tokenId, atMs, bytes, objects }: DownloadOffer): void {
    const sum = { bytes, objects };
    const month = `${tenant}#${monthOf(atMs)}`;
    this.#months.set(month, plus(this.#months.get(month) ?? none, sum));
    const place = { day: dayOf(atMs), repo, tokenId };
    const key = JSON.stringify([tenant, place]);
    this.#days.set(key, { tenant, day: { ...place, ...plus(this.#days.get(key)?.day ?? none, sum) } });
  }
}
