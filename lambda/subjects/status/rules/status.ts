import type { Failure, FailureReason } from '../../../frame/failures/rules/failures.ts';
import {
  type GaugedQueue,
  gaugedQueues,
  type QueueLevel,
  type StoreDamage,
} from '../../../frame/gauges/rules/gauges.ts';

/** What the operator sees of a stage: facts, whether something is to be done about them, and what. */

/** What was found out about one thing, or why nothing was. */
export type Finding<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly why: string };

export const statusParts = [
  'store',
  'disk',
  'uncounted',
  'schedule',
  'tenants',
  ...gaugedQueues,
  'failures',
] as const;
type StatusPartName = (typeof statusParts)[number];

/** `act`: something is to be done. `unknown`: it could not be looked at, which is to be mended. */
export interface StatusPart {
  readonly part: StatusPartName;
  readonly state: 'fine' | 'act' | 'unknown';
  /** One sentence or two. */
  readonly says: string;
  /** What to do. null: nothing. */
  readonly todo: string | null;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Runs of the schedule are further apart on no stage. */
export const scheduleSilentMs = hourMs;
/** Who is due for longer is looked at: he was handed to the queue, and should have been counted. */
export const overdueMs = hourMs;
/** … and now something is to be done: no budget, and no outage that ended, keeps anybody waiting for so long. */
export const overdueActMs = 12 * hourMs;
/** Overdue tenants that are looked for. */
export const overdueTenantsMax = 100;

const noDamage: StoreDamage = { lost: 0, damaged: 0, foreign: 0 };

export function storePart(input: {
  kind: 's3' | 'external' | 'embedded';
  bucket: string;
  endpoint: string | null;
  answer: Finding<{ latencyMs: number; damage?: StoreDamage | undefined }>;
}): StatusPart {
  const { bucket, endpoint, answer } = input;
  const place = endpoint === null ? bucket : `${bucket} at ${endpoint}`;
  if (!answer.ok)
    return act(
      'store',
      `The object store (${place}) fails: ${sentence(answer.why)}`,
      "Until it works, pushes and pulls fail and nothing is counted. Check that it's up, and test its credentials with lfs-quota doctor.",
    );
  const { latencyMs, damage = noDamage } = answer.value;
  const found = Object.entries(damage).flatMap(([what, count]) => (count > 0 ? `${count} ${what}` : []));
  const files = found.length === 0 ? '' : ` Its files: ${found.join(', ')}.`;
  const says = `The object store (${place}) responds in ${Math.round(latencyMs)} ms.${files}`;
  if (damage.lost + damage.damaged === 0) return fine('store', says);
  const todo =
    'The log lists the files. Push lost objects again from a clone that has them, and check the disk. Then delete store/set-aside.';
  return act('store', says, todo);
}

/** @param input.found null: it never ran. */
export function schedulePart(
  found: Finding<{ ranAtMs: number; handedUntilMs: number } | null>,
  nowMs: number,
): StatusPart {
  if (!found.ok) return unknown('schedule', "The table can't be read", found.why, tableTodo);
  if (found.value === null)
    return fine('schedule', "The schedule hasn't run yet. It runs within minutes of the first start.");
  const { ranAtMs, handedUntilMs } = found.value;
  const [silentMs, behindMs] = [nowMs - ranAtMs, nowMs - handedUntilMs];
  if (silentMs > scheduleSilentMs)
    return act(
      'schedule',
      `The schedule ran last ${ageText(silentMs)} ago.`,
      "Until it runs, usage isn't updated automatically. Check that it's enabled, and the log of the function refresh.",
    );
  if (behindMs > scheduleSilentMs)
    return act(
      'schedule',
      `The schedule ran ${ageText(silentMs)} ago, and is ${ageText(behindMs)} behind.`,
      'More tenants become due than it enqueues: raise protocol.refreshTenantsMax.',
    );
  return fine('schedule', `The schedule ran ${ageText(silentMs)} ago.`);
}

/** Tenants that are due for longer than {@link overdueMs}, those due longest first. */
export interface Overdue {
  readonly tenants: readonly { readonly tenant: string; readonly dueAtMs: number }[];
  /** There may be more. */
  readonly isCut: boolean;
}

export function tenantsPart(found: Finding<Overdue>, nowMs: number): StatusPart {
  if (!found.ok) return unknown('tenants', "The table can't be read", found.why, tableTodo);
  const { tenants, isCut } = found.value;
  const [longest] = tenants;
  if (!longest) return fine('tenants', 'No tenant is overdue by more than an hour.');
  const lateMs = nowMs - longest.dueAtMs;
  const who = `${isCut ? 'More than ' : ''}${countOf(tenants.length, 'tenant is', 'tenants are')}`;
  const says = `${who} overdue by more than an hour. Longest: ${longest.tenant}, for ${ageText(lateMs)}.`;
  if (lateMs <= overdueActMs) return fine('tenants', says);
  return act(
    'tenants',
    says,
    `Reconciles are waiting, failing or deferred: see below, and lfs-quota usage ${longest.tenant}. To run one now: lfs-quota scan now ${longest.tenant}.`,
  );
}

const queueTexts: Readonly<Record<GaugedQueue, { what: string; function: string; advice: string }>> = {
  reconciles: {
    what: 'Reconciles',
    function: 'reconcile',
    advice: 'Then redrive them (docs/runbook.md#redrive), or run: lfs-quota scan now TENANT.',
  },
  webhooks: {
    what: 'Webhooks',
    function: 'sendWebhook',
    advice: 'Then redrive them (docs/runbook.md#redrive).',
  },
  emails: {
    what: 'E-mails',
    function: 'sendEmail',
    advice: 'Then redrive them (docs/runbook.md#redrive).',
  },
  exports: {
    what: 'Steps of exports',
    function: 'exportArchive',
    advice: 'Then redrive them (docs/runbook.md#redrive), or purge them: the schedule continues exports.',
  },
  chunks: {
    what: 'Steps of chunked uploads',
    function: 'assembleUpload',
    advice: 'Then redrive them (docs/runbook.md#redrive), or purge them: the push or the schedule retries.',
  },
  copies: {
    what: 'Copies from other servers',
    function: 'copyObject',
    advice: 'Then purge them: the next pull or import of these objects queues them again.',
  },
  'store-events': {
    what: 'Events of the store',
    function: 'storeEvents',
    advice: 'Then redrive them (docs/runbook.md#redrive). If you purge them, reconcile the tenants.',
  },
};

export function queuePart(part: GaugedQueue, found: Finding<QueueLevel>, nowMs: number): StatusPart {
  const { what, function: consumer, advice } = queueTexts[part];
  if (!found.ok)
    return unknown(
      part,
      `${what}: the queue can't be checked`,
      found.why,
      'Check SQS, and that the function management can use sqs:GetQueueAttributes.',
    );
  const { waiting, running, oldestAtMs, deadLetters, deadLettersAt } = found.value;
  const oldest = oldestAtMs === null ? '' : `, the oldest for ${ageText(nowMs - oldestAtMs)}`;
  const says = `${what}: ${waiting} waiting${oldest}, ${running} in progress`;
  if (deadLetters === null) return fine(part, `${says}.`);
  if (deadLetters === 0) return fine(part, `${says}, no dead letters.`);
  const isQueue = /^https?:/.test(String(deadLettersAt));
  const todo = !isQueue
    ? `Tenants: ${deadLettersAt}. Find the cause in the log and fix it. Then run 'lfs-quota scan now TENANT' for each: success removes its dead letter.`
    : `They're in ${deadLettersAt}. Find the cause in the log of ${consumer}, and fix it. ${advice}`;
  return act(part, `${says}, ${countOf(deadLetters, 'dead letter', 'dead letters')}.`, todo);
}

/** A failure, and whether it's over. */
export interface ShownFailure extends Failure {
  readonly isOver: boolean;
}

const todoOf: Readonly<Record<FailureReason, string>> = {
  store: "The store didn't respond. It's retried until it does.",
  table: "The table didn't respond. It's retried until it does.",
  'newer-format': 'A newer version wrote the tenant: deploy that version again.',
  unexpected: 'Find the error in the log of the function reconcile.',
  export: 'lfs-quota export list TENANT shows why. Start it again.',
};

export function failuresPart(found: Finding<readonly ShownFailure[]>): StatusPart {
  if (!found.ok) return unknown('failures', "Recent failures can't be read", found.why, tableTodo);
  const open = found.value.filter(({ isOver }) => !isOver);
  const [newest] = open;
  if (newest) {
    const kinds = (['reconcile', 'export'] as const)
      .map((kind) => ({ kind, count: open.filter((each) => each.kind === kind).length }))
      .filter(({ count }) => count > 0)
      .map(({ kind, count }) => countOf(count, kind, `${kind}s`));
    const whys = open.filter(({ why }, at) => open.findIndex((each) => each.why === why) === at);
    return act(
      'failures',
      `Failed, and not recovered since: ${kinds.join(' and ')}.`,
      whys.map(({ why, tenant }) => todoOf[why].replace('TENANT', tenant)).join(' '),
    );
  }
  const over = found.value.length;
  return fine('failures', over === 0 ? 'Nothing failed.' : 'All failures have since been recovered.');
}

const tableTodo = 'Check DynamoDB: without the table, pushes fail and nothing is counted.';

export const fine = (part: StatusPartName, says: string): StatusPart => ({
  part,
  state: 'fine',
  says,
  todo: null,
});

export const act = (part: StatusPartName, says: string, todo: string): StatusPart => ({
  part,
  state: 'act',
  says,
  todo,
});

export function unknown(part: StatusPartName, what: string, why: string, todo: string): StatusPart {
  return { part, state: 'unknown', says: `${what}: ${sentence(why)}`, todo };
}

const sentence = (text: string) => (/[.!?…]$/.test(text) ? text : `${text}.`);

const countOf = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;

/** How long, in its largest unit. A clock may be behind another one. */
export function ageText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}
