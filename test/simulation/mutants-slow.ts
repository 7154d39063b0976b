import type { Ledger } from '../../lambda/core/ledger/ledger.ts';
import { isLapsed, type Reservation } from '../../lambda/core/ledger/rules/reservation.ts';
import type { RepoRecord } from '../../lambda/core/ledger/rules/tenant.ts';
import { replacing } from './replacing.ts';
import {
  lapsedWhileRead,
  refusedBeside,
  refusedWhileScanned,
  roomAfterDeath,
  scannedWhileDeleted,
} from './stories-slow.ts';
import type { Story } from './story.ts';
import type { Mutant } from './world.ts';

/** Mistakes that matter where something takes long, or where the ledger keeps more than was promised. */

/** What is lapsed by the end of the reads counts as dead, instead of by their beginning. */
const lapsedByTheEnd: Mutant = {
  deps: (deps) => {
    let repos: RepoRecord[][] | undefined;
    const ledger = replacing<Ledger>(deps.ledger, {
      reservations: async function* (tenant) {
        const beganMs = deps.clock.nowMs();
        const pages: (readonly Reservation[])[] = [];
        for await (const page of deps.ledger.reservations(tenant)) pages.push(page);
        repos = [];
        for await (const page of deps.ledger.repos(tenant)) repos.push([...page]);
        const endedMs = deps.clock.nowMs();
        const asLapsed = (reservation: Reservation) =>
          isLapsed(reservation, endedMs)
            ? { ...reservation, lapsedAtMs: Math.min(reservation.lapsedAtMs, beganMs - 1) }
            : reservation;
        yield* pages.map((page) => page.map(asLapsed));
      },
      repos: async function* (tenant) {
        const pages = repos;
        repos = undefined;
        if (pages) yield* pages;
        else yield* deps.ledger.repos(tenant);
      },
    });
    return { ...deps, ledger };
  },
};

/** A scan that began after a run of a deletion began is taken to have seen what it deleted. */
const seenFromItsBeginning: Mutant = {
  ledger: (ledger) =>
    replacing(ledger, {
      endDeletion: ({ removal, ...input }) =>
        ledger.endDeletion({
          ...input,
          ...(removal && { removal: { ...removal, endedMs: removal.beganMs } }),
        }),
    }),
};

/** A batch that is admitted in part stays reserved as a whole. */
const refusedIsReserved: Mutant = {
  ledger: (ledger, world) =>
    replacing(ledger, {
      issueReservation: (input) => {
        const { reservations } = world.ledger.inspect(input.tenant);
        const entries = reservations.find(({ id }) => id === input.reservationId)?.entries ?? input.entries;
        return ledger.issueReservation({ ...input, entries });
      },
    }),
};

/** A reconcile has met a reservation of what was refused since, and nobody counts again. */
const refusedIsKept: Mutant = {
  deps: (deps) => {
    let isDeleted = false;
    const ledger = replacing<Ledger>(deps.ledger, {
      deleteReservation: async (key) => {
        const outcome = await deps.ledger.deleteReservation(key);
        isDeleted ||= outcome === 'deleted';
        return outcome;
      },
    });
    const queue = replacing(deps.queue, {
      request: async (request) => {
        if (!isDeleted || request.reason !== 'upload') await deps.queue.request(request);
      },
    });
    return { ...deps, ledger, queue };
  },
};

/** A reservation lives for two hours longer than any PUT of it may take. */
const reservedForLonger: Mutant = {
  ledger: (ledger) =>
    replacing(ledger, {
      putReservation: ({ reservation, ...input }) => {
        const lapsedAtMs = reservation.lapsedAtMs + (reservation.state === 'pending' ? 2 * 60 * 60_000 : 0);
        return ledger.putReservation({ ...input, reservation: { ...reservation, lapsedAtMs } });
      },
    }),
};

export const slowMutants: readonly {
  name: string;
  mutant: Mutant;
  invariant: RegExp;
  seeds: number;
  story: Story;
}[] = [
  {
    name: 'dead by the end of the reads',
    mutant: lapsedByTheEnd,
    invariant: /^I1/,
    seeds: 30,
    story: lapsedWhileRead,
  },
  {
    name: 'a delete that was seen from its beginning',
    mutant: seenFromItsBeginning,
    invariant: /^I3/,
    seeds: 30,
    story: scannedWhileDeleted,
  },
  {
    name: 'what was refused stays reserved',
    mutant: refusedIsReserved,
    invariant: /^I2/,
    seeds: 6,
    story: refusedBeside,
  },
  {
    name: 'what was refused is shown as reserved',
    mutant: refusedIsKept,
    invariant: /^Reserved/,
    seeds: 30,
    story: refusedWhileScanned,
  },
  {
    name: 'reserved for too long',
    mutant: reservedForLonger,
    invariant: /^I2/,
    seeds: 6,
    story: roomAfterDeath,
  },
];
