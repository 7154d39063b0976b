import type { Ledger } from '../../lambda/core/ledger/ledger.ts';
import { unconfirmedForMs } from '../../lambda/core/ledger/rules/reservation.ts';
import { isOfLfs } from '../../lambda/core/ledger/rules/tenant.ts';
import type { AdmitUploadOutcome, UploadVerdict } from '../../lambda/core/ledger/upload-batch.ts';
import { isOid } from '../../lambda/core/rules/names.ts';
import { having } from './act-beside.ts';
import { breakOff } from './broken-put.ts';
import type { Code } from './code.ts';
import { Violation } from './invariants.ts';
import { repoName } from './names.ts';
import type { SimDeps } from './ports.ts';
import { replacing } from './replacing.ts';
import type { PushAction, UploadPlan } from './scenario.ts';
import type { AskedInParts } from './subject.ts';
import type { TenantWorld } from './tenant-world.ts';

const minute = 60_000;
const errorsMax = 8;
/** How often somebody waits for what is late. */
const heldMax = 3;
/** The number of 429s in calm weather after which a client counts as stalled. */
export const calmRetriesMax = 30;
/**
 * Some are patient for longer: a tenant that claims two sizes of one object makes its own usage uncertain until the
 * object is stored or the reservations are no longer late. And in SQS a message whose function died keeps back those
 * behind it for half an hour.
 */
const calmRetriesOfPatientMax = calmRetriesMax + 90;
const patienceOfLiarsMs = 20 * minute;
export const patienceWithSqsMs = 2 * minute;

/** A client that pushes: it asks for URLs until it gets an answer, then sends the objects that it got URLs for. */
export async function push(world: TenantWorld, action: PushAction, sizes: readonly number[]): Promise<void> {
  const { scheduler } = world;
  const repo = repoName(action.repo);
  const objects = new Map(
    action.objects.map(({ oid, lie }) => [
      world.nameOf(action.repo, oid),
      lie ? falseSize(sizes[oid] ?? 0) : (sizes[oid] ?? 0),
    ]),
  );
  let errors = 0;
  let calmRetries = 0;
  let held = 0;
  while (errors < errorsMax) {
    const inParts = having('askInParts')[0]?.(world, { repo, objects });
    const request = { repo, objects, madeBy: makerOf(world, action), ...inParts?.asked };
    const verdicts = await askOnce(world, request);
    if (verdicts === 'absent') return;
    if (verdicts === 'error') {
      errors += 1;
      await world.wait(world.random.int(500, 10_000));
    } else if (typeof verdicts === 'number') {
      world.coverage.retries += 1;
      if (world.weather.calm) calmRetries += 1;
      const isPatient = world.hasLies || world.isSqs;
      if (calmRetries > (isPatient ? calmRetriesOfPatientMax : calmRetriesMax))
        throw new Violation('I6: answered 429 forever');
      const patienceMs = world.hasLies ? patienceOfLiarsMs : patienceWithSqsMs;
      await world.wait(calmRetries > calmRetriesMax ? patienceMs : verdicts);
    } else if ('heldUntilMs' in verdicts) {
      // Most give up. Some come back when nothing of theirs is late any more.
      held += 1;
      if (world.hasTricklers || held > heldMax || !world.random.chance(0.1)) return;
      await world.wait(Math.max(0, verdicts.heldUntilMs - scheduler.nowMs) + minute);
    } else {
      if (action.mustPass && [...verdicts.values()].some(({ kind }) => kind === 'over-limit'))
        throw new Violation('Late: what others never sent took the room of a small push');
      await sendAll(world, { action, repo, sizes, verdicts, inParts });
      return;
    }
  }
}

/** Who pushes. In a world where batches say so, the same object is always pushed by the same. */
function makerOf({ makers }: TenantWorld, { maker, objects }: PushAction): string | undefined {
  if (maker !== undefined) return `maker-${maker}`;
  return makers === 0 ? undefined : `maker-${(objects[0]?.oid ?? 0) % makers}`;
}

/** They have to wait until then, for what they claimed and never sent. */
interface Held {
  readonly heldUntilMs: number;
}

/** Usually far too small, as somebody would claim who wants to get past a limit. */
function falseSize(sizeBytes: number): number {
  return sizeBytes > 1 ? 1 : sizeBytes + 3;
}

/**
 * One batch request.
 *
 * @returns what it was told of each object, or after how many milliseconds to ask again.
 */
export async function askOnce(
  world: TenantWorld,
  request: {
    repo: string;
    objects: ReadonlyMap<string, number>;
    madeBy?: string | undefined;
    tokenId?: string | undefined;
    /** Those that the client can upload in chunks. */
    chunked?: ReadonlySet<string>;
    /** Called with each upload in chunks that it has got. */
    onChunks?: (oid: string, upload: string) => void;
  } & Partial<AskedInParts['asked']>,
): Promise<ReadonlyMap<string, UploadVerdict> | number | Held | 'error' | 'absent'> {
  const { tenant, invariants, scheduler, coverage } = world;
  coverage.batches += 1;
  const beganMs = scheduler.nowMs;
  const open = invariants.begin(request, scheduler.nowMs);
  try {
    const ask = async (deps: SimDeps, code: Code) => {
      const record = await deps.ledger.readTenant(tenant);
      const repo = await deps.ledger.readRepo({ tenant, repo: request.repo });
      const isOpen = record && typeof repo?.closedAtMs !== 'number';
      if (!isOpen) return { kind: 'absent' } as const;
      const { watch, objectCount: repoObjects } = repo ?? {};
      const isOfFiles = repo?.kind === 'files';
      // Another front asks for names that are no oids.
      if (!isOfFiles && ![...request.objects.keys()].every(isOid)) return { kind: 'absent' } as const;
      const files = isOfFiles && { files: new Map([...request.objects.keys()].map((name) => [name, {}])) };
      const admitted = await grantedOnly(world, request.with?.(deps, code) ?? deps, (noted) =>
        code.admitUpload(noted, {
          tenant: record,
          repoObjects,
          isOfLfs: isOfLfs(repo),
          watch,
          ...request,
          ...files,
        }),
      );
      await request.sign?.(deps, code);
      return admitted;
    };
    const result = await world.invoke(ask, { waitsOn: true });
    if (result === 'error' || result === 'dead') return 'error';
    const { answer } = result;
    if (answer.kind === 'absent') return 'absent';
    if (answer.kind === 'retry') {
      const { retryAfterMs, unconfirmedUntilMs: heldUntilMs } = answer;
      if (heldUntilMs === undefined) return retryAfterMs;
      coverage.held += 1;
      invariants.checkHeld({ madeBy: request.madeBy, untilMs: heldUntilMs });
      return { heldUntilMs };
    }
    // Only a batch that ends within its time limit is promised to be right: nobody gets an answer after that.
    const isUnconfirmed = scheduler.nowMs > beganMs + world.settings.batchTimeLimitMs;
    if (isUnconfirmed) coverage.lateAnswers += 1;
    const kinds = new Set([...answer.verdicts.values()].map(kindOf));
    for (const [oid, verdict] of answer.verdicts) {
      if (verdict.kind === 'stored' && !isUnconfirmed && !world.truth.files.has(request.repo))
        invariants.reportStored({ repo: request.repo, oid }, beganMs);
      if (verdict.kind === 'chunks') request.onChunks?.(oid, verdict.upload);
      if (verdict.kind !== 'upload') continue;
      const { expiresAtMs, onlyNew } = urlOf(verdict.put.href);
      const sizeBytes = request.objects.get(oid) ?? 0;
      // Nobody can use a URL for a false size, because the store checks size and hash together. A file has any.
      if (onlyNew || sizeBytes === world.sizeOf(oid))
        world.truth.hold({ repo: request.repo, oid, sizeBytes, expiresAtMs });
    }
    if (kinds.has('upload') || kinds.has('chunks')) {
      coverage.admissions += 1;
      if (request.madeBy !== undefined) invariants.checkMaker(request.madeBy, scheduler.nowMs);
      // Empty objects take up nothing, so they are admitted above a limit too.
      const bytes = [...answer.verdicts].map(([oid, verdict]) =>
        ['upload', 'chunks'].includes(kindOf(verdict)) ? (request.objects.get(oid) ?? 0) : 0,
      );
      if (Math.max(...bytes) > 0) invariants.checkAdmission(open, scheduler.nowMs);
    }
    if (kinds.has('over-limit')) {
      if (kinds.has('upload') || kinds.has('chunks')) coverage.partial += 1;
      else coverage.refusals += 1;
      if (!isUnconfirmed) invariants.checkRefusal(open);
      // A reconcile that comes before its batch is done may count what the batch then adds. The deployed queue's come later.
      if (world.isFair() && world.isSqs) world.start(0, () => checkForgotten(world));
    }
    return answer.verdicts;
  } finally {
    invariants.end(open, scheduler.nowMs);
  }
}

/** What goes on in chunks was admitted before. */
const kindOf = (verdict: UploadVerdict) =>
  verdict.kind === 'chunks' && verdict.isResumed ? 'resumed' : verdict.kind;

/** Of a batch that was refused nothing is left soon after the last one. */
async function checkForgotten(world: TenantWorld): Promise<void> {
  const { invariants, scheduler } = world;
  while (scheduler.nowMs < invariants.forgottenAtMs || invariants.open.size > 0)
    await world.wait(Math.max(1_000, invariants.forgottenAtMs - scheduler.nowMs));
  if (!world.isFair()) return;
  world.coverage.forgotten += 1;
  invariants.checkReserved({ nowMs: scheduler.nowMs, lookedFromMs: world.scheduledFromMs });
}

/** What a batch issued and did not answer, nobody has a URL of. */
async function grantedOnly(
  { truth }: TenantWorld,
  deps: SimDeps,
  admit: (deps: SimDeps) => Promise<AdmitUploadOutcome>,
): Promise<AdmitUploadOutcome> {
  let issuedId: string | undefined;
  const ledger = replacing<Ledger>(deps.ledger, {
    issueReservation: (input) => {
      issuedId = input.reservationId;
      return deps.ledger.issueReservation(input);
    },
  });
  const outcome = await admit({ ...deps, ledger });
  const verdicts = outcome.kind === 'answered' ? outcome.verdicts : noVerdicts;
  const oids = [...verdicts]
    .filter(([, { kind }]) => kind === 'upload' || kind === 'chunks')
    .map(([oid]) => oid);
  if (issuedId !== undefined) truth.narrow(issuedId, new Set(oids));
  return outcome;
}

const noVerdicts: ReadonlyMap<string, UploadVerdict> = new Map();

async function sendAll(
  world: TenantWorld,
  input: {
    action: PushAction;
    repo: string;
    sizes: readonly number[];
    verdicts: ReadonlyMap<string, UploadVerdict>;
    inParts: AskedInParts | undefined;
  },
): Promise<void> {
  const again = (name: string) => {
    const objects = input.action.objects.filter(
      (object) => world.nameOf(input.action.repo, object.oid) === name,
    );
    return push(world, { ...input.action, objects }, input.sizes);
  };
  await Promise.all(
    [...input.verdicts].map(async ([oid, verdict]) => {
      if (verdict.kind === 'chunks' && (await input.inParts?.send(oid, verdict.upload, input.action.plan)))
        return again(oid);
      if (verdict.kind !== 'upload') return;
      const broken = await breakOff(world, { repo: input.repo, oid, href: verdict.put.href });
      const verified = { repo: input.repo, oid, verifyToken: verdict.verifyToken };
      if (broken && input.action.verify) await verify(world, verified);
      if (broken === 'give-up') return;
      if (broken === 'new-batch') return again(oid);
      const sent = await send(world, {
        repo: input.repo,
        oid,
        plan: input.action.plan,
        href: verdict.put.href,
      });
      if (sent && input.action.verify) await verify(world, verified);
    }),
  );
}

/** The PUTs of one URL: usually one, but nothing keeps a client from more. @returns whether the first was accepted. */
export function send(world: TenantWorld, put: Put): Promise<boolean> {
  const { random, hasTricklers } = world;
  if (put.plan === 'twice' || (put.plan !== 'never' && random.chance(0.1))) {
    const again = hasTricklers ? 'trickled' : random.pick(['soon', 'last-moment'] as const);
    const second = sendOnce(world, { ...put, plan: again });
    second.catch((error: unknown) => world.fail(error));
  }
  return sendOnce(world, put);
}

interface Put {
  readonly repo: string;
  readonly oid: string;
  readonly plan: UploadPlan;
  readonly href: string;
}

/** As the client does it: if the answer asked for it. */
async function verify(
  world: TenantWorld,
  input: { repo: string; oid: string; verifyToken: string | null },
): Promise<void> {
  const { tenant } = world;
  const { repo, oid, verifyToken } = input;
  if (verifyToken === null) return;
  const sizeBytes = world.sizeOf(oid);
  await world.invoke((deps, code) => code.verifyUpload(deps, { tenant, repo, oid, sizeBytes, verifyToken }));
}

const urlOf = (href: string) =>
  JSON.parse(href) as { expiresAtMs: number; onlyNew?: boolean; sizeBytes: number };

/** One PUT. The store accepts it if it begins before its URL expires, and it may end long after. */
async function sendOnce(world: TenantWorld, input: Put): Promise<boolean> {
  const { scheduler, random, truth, settings } = world;
  const { repo, oid, plan } = input;
  const { expiresAtMs, onlyNew, sizeBytes } = urlOf(input.href);
  const leftMs = Math.max(0, expiresAtMs - scheduler.nowMs);
  const waits: Record<UploadPlan, number | undefined> = {
    'at-once': random.int(0, 100),
    twice: random.int(0, 100),
    soon: random.int(0, 120_000),
    'last-moment': Math.max(0, leftMs - random.int(0, 2_000)),
    trickled: Math.max(0, leftMs - random.int(0, 2_000)),
    'after-expiry': leftMs + random.int(1, 60_000),
    never: undefined,
  };
  const waitMs = waits[plan];
  if (waitMs === undefined) return false;
  await world.wait(waitMs);
  const isTrue = truth.urls.some(
    (url) =>
      url.repo === repo && url.oid === oid && url.expiresAtMs === expiresAtMs && url.sizeBytes === sizeBytes,
  );
  if (scheduler.nowMs > expiresAtMs || !isTrue) return false;
  const name = `${repo}/${oid}`;
  // HTTP 412. Some stores look when a PUT ends, and not when it begins.
  const isTaken = () => onlyNew && truth.stored.has(name);
  if (isTaken() && random.chance(0.5)) return false;
  const uploading = { name, sizeBytes };
  truth.beginUpload(uploading);
  const beganMs = scheduler.nowMs;
  const longestMs = settings.putGraceMs + Math.floor((sizeBytes / settings.putMinBytesPerSecond) * 1000);
  // Not to the very end: the last look begins a while after it, and a function's clock may be ahead.
  const trickledMs = settings.reservationSlackMs + longestMs + unconfirmedForMs - minute;
  if (plan === 'trickled') await world.wait(trickledMs - random.int(0, 20 * minute));
  else if (world.hasTricklers && plan !== 'twice' && random.chance(0.5))
    await world.wait(random.int(0, trickledMs));
  else await world.wait(random.chance(0.2) ? random.int(0, longestMs) : random.int(1, 2_000));
  const landed = !isTaken();
  if (landed) world.land({ repo, oid, sizeBytes, beganMs });
  truth.endUpload(uploading);
  if (!landed) return false;
  world.coverage.puts += 1;
  return true;
}
