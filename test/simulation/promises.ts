import {
  isLapsed,
  lapsedAtMs,
  type Reservation,
  unconfirmedUntilMs,
} from '../../lambda/core/ledger/rules/reservation.ts';
import type { Settings } from '../../lambda/core/rules/settings.ts';

/** Whoever looks last may have a clock that is ahead. */
const lookMarginMs = 60_000;

/** A message of SQS whose function died, twice, keeps back those behind it for so long. */
const endedForMs = 2 * 60 * 60_000;

/** What one batch was granted. */
interface Granted {
  readonly repo: string;
  readonly madeBy: string | undefined;
  readonly createdAtMs: number;
  readonly lapsedAtMs: number;
  readonly isNarrowed: boolean;
  /** oid → bytes. */
  readonly entries: ReadonlyMap<string, number>;
}

/** A reservation whose URLs are about to be handed out. */
export interface Issued {
  /** As its batch asked for it. */
  readonly reservation: Pick<
    Reservation,
    'id' | 'repo' | 'createdAtMs' | 'lapsedAtMs' | 'entries' | 'madeBy'
  >;
  /** Of what was asked for, what is issued. */
  readonly entries: ReadonlyMap<string, number>;
  /** Those that arrive in chunks: they are live until they have ended. */
  readonly chunked?: ReadonlySet<string> | undefined;
}

export interface NamedBytes {
  /** repo/oid */
  readonly name: string;
  readonly sizeBytes: number;
}

/**
 * What batches were granted in one tenant, and for how long, by what they were answered: whatever the ledger keeps of it.
 */
export class Promises {
  readonly #settings: Settings;
  /** By the ids of reservations. */
  readonly #granted = new Map<string, Granted>();
  /** Of chunked uploads that have ended, what the confirmed usage has until a reconcile that began afterwards. */
  #ended: {
    readonly name: string;
    readonly sizeBytes: number;
    reconciles: number;
    readonly untilMs: number;
  }[] = [];
  /** (repo/oid) → bytes of what was ever removed. */
  readonly #removed = new Map<string, number>();

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** A batch has issued its reservation. Until it has answered, it may have URLs of all that it claims. */
  add({ reservation, entries, chunked }: Issued): void {
    const { id, repo, createdAtMs, entries: asked, madeBy } = reservation;
    // The write may happen again, after the answer.
    if (this.#granted.has(id)) return;
    const { urlLifetimeMs, reservationSlackMs } = this.#settings;
    const expiresAtMs = createdAtMs + urlLifetimeMs + reservationSlackMs;
    const lapsedOf = (of: typeof entries) => lapsedAtMs(this.#settings, { expiresAtMs, entries: of });
    // What was asked for in chunks has times of its own, and only the batch knows what that was.
    const lapsed = Math.min(lapsedOf(asked), Math.max(lapsedOf(entries), reservation.lapsedAtMs));
    const untilMs = chunked ? Number.POSITIVE_INFINITY : lapsed;
    this.#granted.set(id, {
      repo,
      madeBy,
      createdAtMs,
      lapsedAtMs: untilMs,
      entries,
      isNarrowed: false,
    });
  }

  /**
   * What is uploaded in chunks has ended.
   *
   * @param input.isGone its entry is gone, too.
   * @param input.lapsedAtMs of the rest, if nothing else of it is uploaded in chunks.
   */
  endChunked(
    id: string,
    input: { oid: string; isGone: boolean; lapsedAtMs: number | undefined; nowMs: number },
  ): void {
    const granted = this.#granted.get(id);
    if (!granted) return;
    const { oid, isGone, lapsedAtMs, nowMs } = input;
    const entries = new Map([...granted.entries].filter(([each]) => !isGone || each !== oid));
    this.#granted.set(id, { ...granted, entries, ...(lapsedAtMs !== undefined && { lapsedAtMs }) });
    this.#ended.push({
      name: `${granted.repo}/${oid}`,
      sizeBytes: granted.entries.get(oid) ?? 0,
      // The first one may have begun before.
      reconciles: 2,
      untilMs: nowMs + endedForMs,
    });
  }

  noteReconcile(): void {
    for (const ended of this.#ended) ended.reconciles -= 1;
    this.#ended = this.#ended.filter(({ reconciles }) => reconciles > 0);
  }

  /** It has answered, with URLs of these objects. */
  narrow(id: string, oids: ReadonlySet<string>): void {
    const granted = this.#granted.get(id);
    if (!granted || granted.isNarrowed) return;
    const entries = new Map([...granted.entries].filter(([oid]) => oids.has(oid)));
    this.#granted.set(id, { ...granted, entries, isNarrowed: true });
  }

  noteRemoval(name: string, sizeBytes: number): void {
    this.#removed.set(name, Math.max(sizeBytes, this.#removed.get(name) ?? 0));
  }

  *live(nowMs: number): Iterable<NamedBytes> {
    for (const granted of this.#granted.values()) if (!isLapsed(granted, nowMs)) yield* namesOf(granted);
  }

  /** What has ended and may still be in the confirmed usage, which does not say whose it is. */
  ended(nowMs: number): Iterable<NamedBytes> {
    return this.#ended.filter(({ untilMs }) => nowMs <= untilMs);
  }

  *late(nowMs: number): Iterable<NamedBytes> {
    const untilMs = new Map<string, number>();
    for (const granted of this.#granted.values()) {
      const { repo } = granted;
      untilMs.set(repo, Math.max(unconfirmedUntilMs(granted), untilMs.get(repo) ?? 0));
      if (isLapsed(granted, nowMs) && nowMs <= unconfirmedUntilMs(granted)) yield* namesOf(granted);
    }
    for (const [name, sizeBytes] of this.#removed)
      if (nowMs <= (untilMs.get(name.slice(0, name.indexOf('/'))) ?? 0)) yield { name, sizeBytes };
  }

  /** When nothing is late any more that they were granted. 0: they were granted nothing. */
  unconfirmedUntilMsOf(madeBy: string): number {
    let latestMs = 0;
    for (const granted of this.#granted.values())
      if (granted.madeBy === madeBy) latestMs = Math.max(latestMs, unconfirmedUntilMs(granted));
    return latestMs;
  }

  /**
   * (repo/oid) → bytes of what they were granted and is lapsed by any clock. Of several sizes the largest counts.
   *
   * @param input.isOver whether an object that was granted from then on, until it lapsed, is left out.
   */
  lapsedOf(
    madeBy: string,
    input: { nowMs: number; isOver(name: string, span: { fromMs: number; untilMs: number }): boolean },
  ): Map<string, number> {
    const { nowMs, isOver } = input;
    const lapsed = new Map<string, number>();
    for (const granted of this.#granted.values()) {
      const { createdAtMs: fromMs, lapsedAtMs: untilMs } = granted;
      if (granted.madeBy !== madeBy || untilMs > nowMs + 2 * this.#settings.clockSkewMs) continue;
      for (const { name, sizeBytes } of namesOf(granted))
        if (!isOver(name, { fromMs, untilMs })) lapsed.set(name, Math.max(sizeBytes, lapsed.get(name) ?? 0));
    }
    return lapsed;
  }

  /** (repo/oid) → bytes of what they were granted, others were not, and is live or late for a while yet. */
  openOf(madeBy: string, nowMs: number): Map<string, number> {
    const open = new Map<string, number>();
    const ofOthers = new Set<string>();
    for (const granted of this.#granted.values())
      for (const { name, sizeBytes } of namesOf(granted))
        if (granted.madeBy !== madeBy) ofOthers.add(name);
        else if (nowMs + lookMarginMs < unconfirmedUntilMs(granted))
          open.set(name, Math.max(sizeBytes, open.get(name) ?? 0));
    for (const name of ofOthers) open.delete(name);
    return open;
  }

  /**
   * (repo/oid) → bytes of what is live, has been dead for no longer than that, or has ended and may still be counted. Of
   * several sizes the largest counts.
   *
   * @param input.lookedFromMs the schedule finds nothing lapsed before.
   */
  grantedWithin(
    lapsedForMs: number,
    { nowMs, lookedFromMs }: { nowMs: number; lookedFromMs: number },
  ): Map<string, number> {
    const entries = new Map<string, number>();
    const add = ({ name, sizeBytes }: NamedBytes) =>
      entries.set(name, Math.max(sizeBytes, entries.get(name) ?? 0));
    for (const granted of this.#granted.values())
      if (nowMs <= Math.max(granted.lapsedAtMs, lookedFromMs) + lapsedForMs)
        for (const named of namesOf(granted)) add(named);
    for (const ended of this.ended(nowMs)) add(ended);
    return entries;
  }

  /** When the next one dies, or is no longer late. Infinity: nothing changes by itself. */
  nextChangeMs(nowMs: number): number {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const granted of this.#granted.values())
      for (const atMs of [granted.lapsedAtMs, unconfirmedUntilMs(granted)])
        if (atMs >= nowMs) nextMs = Math.min(nextMs, atMs);
    return nextMs;
  }
}

function* namesOf({ repo, entries }: Granted): Iterable<NamedBytes> {
  for (const [oid, sizeBytes] of entries) yield { name: `${repo}/${oid}`, sizeBytes };
}
