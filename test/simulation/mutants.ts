import type { TenantCommit } from '../../lambda/core/ledger/reconcile-store.ts';
import { isLapsed, type Reservation } from '../../lambda/core/ledger/rules/reservation.ts';
import type { PathScan, PathScanOutcome } from '../../lambda/core/scan/rules/scan-plan.ts';
import { replacing } from './replacing.ts';
import {
  deletedInOutage,
  importedAndLeft,
  manyReservations,
  sentSlowly,
  wantedWhileDeleted,
} from './stories.ts';
import {
  addedTwice,
  brokenAndVerified,
  claimedByOthers,
  claimedInBoth,
  claimedInTwoSizes,
  listedLongAgo,
  scannedBeforeIssue,
  voidedWhileFrozen,
} from './stories-batches.ts';
import {
  arrivedAfterScan,
  arrivedAtLast,
  committedTwice,
  deletedAndLeft,
  deletedWithUrl,
  promisedAnew,
  putAround,
  putBesideFolders,
  sentMuchLater,
} from './stories-scans.ts';
import type { Story } from './story.ts';
import type { Mutant, World } from './world.ts';

const minute = 60_000;
const day = 24 * 60 * minute;

async function* mapPages<T>(pages: AsyncIterable<readonly T[]>, map: (items: readonly T[]) => readonly T[]) {
  for await (const page of pages) yield map(page);
}

/** The listing's sum overwrites the counter: what was added during the listing is lost. */
const overwriteCounter: Mutant = {
  ledger: (ledger) =>
    replacing(ledger, {
      commitTenant: async (commit: TenantCommit) => {
        const now = (await ledger.readTenant(commit.tenant))?.committedBytes ?? 0;
        return ledger.commitTenant({ ...commit, correctionBytes: (commit.scanned?.storedBytes ?? 0) - now });
      },
    }),
};

/** The reservation is written only when its URLs are issued. */
const countFirst: Mutant = {
  ledger: (ledger, world) => {
    const held = heldOf.get(world) ?? new Map<string, Reservation>();
    heldOf.set(world, held);
    return replacing(ledger, {
      putReservation: async ({ reservation }) => {
        held.set(reservation.id, reservation);
      },
      deleteReservation: async ({ reservationId }) => (held.delete(reservationId) ? 'deleted' : 'absent'),
      issueReservation: async (input) => {
        const reservation = held.get(input.reservationId);
        if (reservation) await ledger.putReservation({ tenant: input.tenant, reservation });
        return ledger.issueReservation(input);
      },
    });
  },
};

/** What batches have not written yet, by id. */
const heldOf = new WeakMap<World, Map<string, Reservation>>();

/** After the scan a HEAD looks for each reserved object. One that arrived in between is wrongly taken as counted. */
const headAfterScan: Mutant = {
  deps: (deps) => ({
    ...deps,
    scan: {
      scan: async (input) => {
        const outcome = await deps.scan.scan(input);
        if (outcome.kind !== 'done') return outcome;
        const seen = new Map<string, number>();
        for (const name of input.lookFor ?? []) {
          const head = await deps.store.head(input.prefix + name);
          if (head) seen.set(name, head.sizeBytes);
        }
        return { ...outcome, seen };
      },
    },
  }),
};

/** The counter is used as the confirmed usage, so whatever the counter refuses is refused. */
const refuseByCounter: Mutant = {
  ledger: (ledger) =>
    replacing(ledger, {
      addCommitted: async (input) => {
        const outcome = await ledger.addCommitted(input);
        if (outcome.kind !== 'refused') return outcome;
        const { committedBytes, deletedBytes } = outcome.tenant;
        const floor = {
          confirmedBaseBytes: committedBytes + deletedBytes,
          confirmedUntilMs: Number.MAX_SAFE_INTEGER,
        };
        return { kind: 'refused', tenant: { ...outcome.tenant, ...floor } };
      },
    }),
};

/** URLs are valid for twice as long as their reservation says. */
const longLivedUrls: Mutant = {
  deps: (deps) => ({
    ...deps,
    signer: {
      ...deps.signer,
      signUpload: (input) => deps.signer.signUpload({ ...input, lifetimeMs: 2 * input.lifetimeMs }),
    },
  }),
};

/** An object that a scan saw is dropped from its reservations, so a second URL for it is forgotten. */
const dropSeen: Mutant = {
  ledger: (ledger, world) => {
    const withoutSeen = (tenant: string, pages: AsyncIterable<readonly Reservation[]>) =>
      mapPages(pages, (page) =>
        page.map((reservation) => ({
          ...reservation,
          entries: new Map(
            [...reservation.entries].filter(
              ([oid]) => !wasSeen(world, { tenant, repo: reservation.repo, oid }),
            ),
          ),
        })),
      );
    return replacing(ledger, {
      reservations: (tenant) => withoutSeen(tenant, ledger.reservations(tenant)),
      reservationsOf: (path) => withoutSeen(path.tenant, ledger.reservationsOf(path)),
    });
  },
};

function wasSeen(
  world: World,
  { tenant, repo, oid }: { tenant: string; repo: string; oid: string },
): boolean {
  return world.account(tenant).truth.wasStored(`${repo}/${oid}`);
}

/** Only repos with live reservations are scanned, so what arrived after the last scan is lost when they die. */
const onlyLiveRepos: Mutant = {
  ledger: (ledger, world) =>
    replacing(ledger, {
      reservations: (name) =>
        mapPages(ledger.reservations(name), (page) =>
          page.filter((reservation) => !isLapsed(reservation, world.scheduler.nowMs)),
        ),
    }),
};

/** The table deletes reservations when they are lapsed. */
const timeToLive: Mutant = {
  ledger: (ledger, world) => {
    const sweep = async (tenant: string) => {
      const { reservations } = world.ledger.inspect(tenant);
      for (const reservation of reservations) {
        if (!isLapsed(reservation, world.scheduler.nowMs)) continue;
        await world.ledger.deleteReservation({
          tenant,
          repo: reservation.repo,
          reservationId: reservation.id,
        });
      }
    };
    return replacing(ledger, {
      beginReconcile: async (input) => {
        await sweep(input.tenant);
        return ledger.beginReconcile(input);
      },
    });
  },
};

/** What has not arrived when its reservation is lapsed is forgotten. */
const noUnconfirmed: Mutant = {
  ledger: (ledger) =>
    replacing(ledger, {
      keepUnconfirmed: async (input) => {
        await ledger.deleteReservation(input);
        return 'kept';
      },
    }),
};

/** However much is late, it never counts. */
const unconfirmedIsFree: Mutant = {
  ledger: (ledger) =>
    replacing(ledger, {
      beginReconcile: async (input) => {
        const begun = await ledger.beginReconcile(input);
        return begun.kind === 'begun' ? { ...begun, before: { ...begun.before, limitBytes: null } } : begun;
      },
    }),
};

/** What is deleted cannot come back. */
const deletedForGood: Mutant = {
  ledger: (ledger) =>
    replacing(ledger, {
      putReservation: async (input) => {
        if (input.reservation.deletedByMs === undefined) await ledger.putReservation(input);
      },
    }),
};

/** A commit that is sent twice takes effect twice. */
const noAppliedEpoch: Mutant = {
  table: (client) => ({
    send: (operation, input) => {
      const { ConditionExpression: condition } = input as { ConditionExpression?: string };
      const any = condition?.replace(' AND #appliedEpoch < :appliedEpoch', '');
      return client.send(operation, { ...input, ...(any !== undefined && { ConditionExpression: any }) });
    },
  }),
};

/** A delete does not mark the repo's last count as out of date. */
const noDirtyMark: Mutant = {
  ledger: (ledger) => replacing(ledger, { markDirty: async () => 'marked' }),
};

/** One oid in two repos is two objects in the bucket. Here it counts once, in the first of them. */
const entriesWithoutRepo: Mutant = {
  ledger: (ledger, world) =>
    replacing(ledger, {
      reservations: (tenant) => {
        const first = new Map<string, string>();
        for (const { repo, entries } of world.ledger.inspect(tenant).reservations) {
          for (const oid of entries.keys()) if (repo < (first.get(oid) ?? '\uffff')) first.set(oid, repo);
        }
        return mapPages(ledger.reservations(tenant), (page) =>
          page.map((reservation) => ({
            ...reservation,
            entries: new Map([...reservation.entries].filter(([oid]) => first.get(oid) === reservation.repo)),
          })),
        );
      },
    }),
};

/** Of several sizes claimed for one object the smallest counts, so a false size of 1 admits the true one for free. */
const entriesWithoutSize: Mutant = {
  ledger: (ledger, world) =>
    replacing(ledger, {
      reservations: (tenant) => {
        const smallest = new Map<string, number>();
        const { reservations } = world.ledger.inspect(tenant);
        for (const { repo, entries } of reservations) {
          for (const [oid, bytes] of entries) {
            smallest.set(`${repo}/${oid}`, Math.min(bytes, smallest.get(`${repo}/${oid}`) ?? bytes));
          }
        }
        return mapPages(ledger.reservations(tenant), (page) =>
          page.map((reservation) => ({
            ...reservation,
            entries: new Map(
              [...reservation.entries].map(([oid, bytes]) => [
                oid,
                smallest.get(`${reservation.repo}/${oid}`) ?? bytes,
              ]),
            ),
          })),
        );
      },
    }),
};

/** A deleted object is forgotten at once, so a batch that asked the store before still says that it is stored. */
const goneForgotten: Mutant = {
  ledger: (ledger) =>
    replacing(ledger, {
      endDeletion: (input) => ledger.endDeletion({ ...input, keptUntilMs: null }),
    }),
};

/** A tenant that was never counted is taken to be empty. */
const unknownIsZero: Mutant = {
  ledger: (ledger, world) =>
    replacing(ledger, {
      createTenant: (input) =>
        ledger.createTenant({
          ...input,
          scanned: input.scanned ?? { storedBytes: 0, objectCount: 0, scannedAtMs: world.scheduler.nowMs },
        }),
    }),
};

/** The reservations of a repo are found by its name alone, so those of other tenants' repos of that name count too. */
const reposWithoutTenant: Mutant = {
  ledger: (ledger, world) =>
    replacing(ledger, {
      reservationsOf: async function* ({ repo }) {
        for (const { tenant } of world.accounts) yield* ledger.reservationsOf({ tenant, repo });
      },
    }),
};

/** SQS remembers an id for five minutes, so every request after a reconcile is lost for as long. */
const idWithoutTime: Mutant = {
  sqs: { idOf: ({ tenant, reason, full }) => `${tenant}.${reason}.${full}` },
};

/** A message is delivered before the last of the requests that share its id. */
const noDelay: Mutant = { sqs: { delayMs: 1_000 } };

/** The schedule counts tenants in full, and trusts the queue with everything else. */
const onlyFullIsDue: Mutant = {
  ledger: (ledger) =>
    replacing(ledger, {
      dueTenants: async (input) => {
        const { due, untilMs } = await ledger.dueTenants(input);
        return { due: due.filter(({ full }) => full), untilMs };
      },
    }),
};

/** The queue is trusted with the initial scan of what is imported. */
const importNotDue: Mutant = {
  ledger: (ledger) =>
    replacing(ledger, {
      createTenant: (input) => ledger.createTenant({ ...input, dueAtMs: input.createdAtMs + 30 * day }),
    }),
};

/** Every PUT is given the same time, however large its object is. */
const sameTimeForAll: Mutant = {
  deps: (deps) => ({
    ...deps,
    settings: { ...deps.settings, putMinBytesPerSecond: Number.MAX_SAFE_INTEGER },
  }),
};

/** A client that verifies what did not arrive has failed with its upload, so its room is given back at once. */
const failedIsOver: Mutant = {
  ledger: (ledger, world) =>
    replacing(ledger, {
      readReservation: async (input) => {
        const found = await ledger.readReservation(input);
        const { stored } = world.account(input.tenant).truth;
        const hasFailed = [...(found?.entries.keys() ?? [])].some(
          (oid) => !stored.has(`${input.repo}/${oid}`),
        );
        if (hasFailed) await ledger.deleteReservation(input);
        return found;
      },
    }),
};

/** A batch hands out its URLs though its reservation was voided, because it is the only one that waits for them. */
const issuedThoughGone: Mutant = {
  ledger: (ledger) =>
    replacing(ledger, {
      issueReservation: async (input) => {
        await ledger.issueReservation(input);
        return 'issued';
      },
    }),
};

/** A full count lists the folders, and forgets what lies beside them. */
const onlyFolders: Mutant = {
  deps: (deps) => ({
    ...deps,
    listing: {
      listPage: (request) => deps.listing.listPage(request),
      listFolders: async (request) => ({ ...(await deps.listing.listFolders(request)), keys: [] }),
    },
  }),
};

/** An event of the store only asks for a reconcile, which then finds nothing to scan. */
const noNotes: Mutant = {
  ledger: (ledger) =>
    replacing(ledger, {
      putReservation: async (input) => {
        if (input.reservation.entries.size > 0) await ledger.putReservation(input);
      },
    }),
};

/** One commit removes all notes of deletes that died. */
const allIntentsAtOnce: Mutant = {
  ledger: (ledger, world) =>
    replacing(ledger, {
      commitTenant: async (commit) => {
        const intents = (await ledger.readTenant(commit.tenant))?.intents ?? new Map();
        const expired = [...intents].filter(
          ([, { deadlineMs }]) => deadlineMs < world.scheduler.nowMs - minute,
        );
        return ledger.commitTenant({ ...commit, expiredIntents: expired.map(([id]) => id) });
      },
    }),
};

/** A repo keeps the id of every reservation that its scan covered. */
const allIdsCovered: Mutant = {
  ledger: (ledger, world) =>
    replacing(ledger, {
      commitRepo: async (input) => {
        const { covered, repo } = input.repo;
        const { reservations } = world.ledger.inspect(input.tenant);
        const ids =
          covered.size > 0 ? reservations.filter((held) => held.repo === repo).map(({ id }) => id) : [];
        return ledger.commitRepo({
          ...input,
          repo: { ...input.repo, covered: new Set([...covered, ...ids]) },
        });
      },
    }),
};

/** An upload is told "stored" because a batch of any process listed it within the last half hour. */
const toldFromAnOldListing: Mutant = {
  deps: (deps, world) => {
    const scan: PathScan['scan'] = async (input) => {
      // A batch's own question, not a reconcile.
      if (input.requestsMax === undefined) return deps.scan.scan(input);
      const listed = oldListings.get(world) ?? new Map<string, OldListing>();
      oldListings.set(world, listed);
      const kept = listed.get(input.prefix);
      if (kept && world.scheduler.nowMs - kept.atMs < 30 * minute) return kept.outcome;
      const outcome = await deps.scan.scan({ ...input, lookFor: 'everything' });
      if (outcome.kind === 'done') listed.set(input.prefix, { outcome, atMs: world.scheduler.nowMs });
      return outcome;
    };
    return { ...deps, scan: { scan } };
  },
};

interface OldListing {
  readonly outcome: PathScanOutcome;
  readonly atMs: number;
}
const oldListings = new WeakMap<World, Map<string, OldListing>>();

/**
 * Mistakes that look right. The simulator must find the broken invariant within `seeds` seeds, wherever they begin: what
 * random scenarios find too rarely has a story in which it matters.
 */
export const mutants: readonly {
  name: string;
  mutant: Mutant;
  invariant: RegExp;
  seeds: number;
  story?: Story;
}[] = [
  {
    name: 'the listing overwrites the counter',
    mutant: overwriteCounter,
    invariant: /^I1/,
    seeds: 30,
    story: claimedInBoth,
  },
  {
    name: 'count first, reserve after',
    mutant: countFirst,
    invariant: /^I1/,
    seeds: 30,
    story: scannedBeforeIssue,
  },
  {
    name: 'ask by HEAD after the scan',
    mutant: headAfterScan,
    invariant: /^I1/,
    seeds: 30,
    story: arrivedAfterScan,
  },
  {
    name: 'told "stored" from an old listing',
    mutant: toldFromAnOldListing,
    invariant: /^I7/,
    seeds: 30,
    story: listedLongAgo,
  },
  { name: 'refuse by the counter', mutant: refuseByCounter, invariant: /^I2/, seeds: 30, story: addedTwice },
  {
    name: 'URLs that outlive the reservation',
    mutant: longLivedUrls,
    invariant: /^I1/,
    seeds: 30,
    story: arrivedAtLast,
  },
  {
    name: 'drop an oid from its reservation once seen',
    mutant: dropSeen,
    invariant: /^I1/,
    seeds: 30,
    story: deletedWithUrl,
  },
  {
    name: 'scan only repos with live reservations',
    mutant: onlyLiveRepos,
    invariant: /^I1/,
    seeds: 60,
    story: arrivedAtLast,
  },
  { name: 'TTL removes reservations', mutant: timeToLive, invariant: /^I1/, seeds: 30, story: arrivedAtLast },
  {
    name: 'late uploads are not looked for',
    mutant: noUnconfirmed,
    invariant: /^I3/,
    seeds: 30,
    story: sentMuchLater,
  },
  {
    name: 'late uploads never count',
    mutant: unconfirmedIsFree,
    invariant: /^I1/,
    seeds: 30,
    story: promisedAnew,
  },
  {
    name: 'what is deleted cannot come back',
    mutant: deletedForGood,
    invariant: /^I1/,
    seeds: 30,
    story: promisedAnew,
  },
  {
    name: 'commit without appliedEpoch',
    mutant: noAppliedEpoch,
    invariant: /^I1/,
    seeds: 30,
    story: committedTwice,
  },
  {
    name: 'claims without their repo',
    mutant: entriesWithoutRepo,
    invariant: /^I1/,
    seeds: 30,
    story: claimedInBoth,
  },
  {
    name: 'claims without their size',
    mutant: entriesWithoutSize,
    invariant: /^I1/,
    seeds: 30,
    story: claimedInTwoSizes,
  },
  {
    name: 'delete without the dirty mark',
    mutant: noDirtyMark,
    invariant: /^I3/,
    seeds: 30,
    story: deletedAndLeft,
  },
  {
    name: 'no record of what is gone',
    mutant: goneForgotten,
    invariant: /^I7/,
    seeds: 100,
    story: wantedWhileDeleted,
  },
  {
    name: 'repos without their tenant',
    mutant: reposWithoutTenant,
    invariant: /^I1/,
    seeds: 30,
    story: claimedByOthers,
  },
  { name: 'an id of a message without its time', mutant: idWithoutTime, invariant: /^I6/, seeds: 100 },
  { name: 'a queue without a delay', mutant: noDelay, invariant: /^I6/, seeds: 100 },
  { name: 'only full counts are due', mutant: onlyFullIsDue, invariant: /^I3/, seeds: 300 },
  {
    name: 'an import that is not due',
    mutant: importNotDue,
    invariant: /^I3/,
    seeds: 100,
    story: importedAndLeft,
  },
  {
    name: 'a dead time without the size',
    mutant: sameTimeForAll,
    invariant: /^I1/,
    seeds: 100,
    story: sentSlowly,
  },
  {
    name: 'a failed upload is over',
    mutant: failedIsOver,
    invariant: /^I1/,
    seeds: 30,
    story: brokenAndVerified,
  },
  {
    name: 'URLs of a voided batch',
    mutant: issuedThoughGone,
    invariant: /^I1/,
    seeds: 60,
    story: voidedWhileFrozen,
  },
  {
    name: 'only folders are counted',
    mutant: onlyFolders,
    invariant: /^I3/,
    seeds: 60,
    story: putBesideFolders,
  },
  { name: 'events without a note', mutant: noNotes, invariant: /^I3/, seeds: 30, story: putAround },
  {
    name: 'all expired notes in one commit',
    mutant: allIntentsAtOnce,
    invariant: /^I[36]/,
    seeds: 12,
    story: deletedInOutage,
  },
  {
    name: 'a repo keeps every covered id',
    mutant: allIdsCovered,
    invariant: /^I[36]/,
    seeds: 6,
    story: manyReservations,
  },
  { name: 'a limit on usage never counted', mutant: unknownIsZero, invariant: /^I1/, seeds: 100 },
];
