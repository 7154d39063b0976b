import type { Tally } from './actor.ts';

/** What happened in a run. */
export interface Coverage extends Tally {
  tenants: number;
  batches: number;
  admissions: number;
  refusals: number;
  partial: number;
  retries: number;
  puts: number;
  /** Files that were made of parts. */
  ofParts: number;
  /** PUTs whose connection broke. */
  broken: number;
  /** Answers of batches after their time limit. */
  lateAnswers: number;
  /** Answers of the due index that were out of date. */
  staleReads: number;
  /** Objects that were put or removed around the API. */
  around: number;
  outages: number;
  /** Of the service's own files alone. */
  fileOutages: number;
  deletes: number;
  /** Empty objects that were put at names of files. */
  emptied: number;
  tenantDeletes: number;
  reconciles: number;
  /** Reconciles that ended by requesting another one. */
  requeued: number;
  /** Reconciles that the policy deferred. */
  deferred: number;
  /** Messages of SQS that were handled, which it did not learn. */
  unacknowledged: number;
  /** Messages of SQS that failed and succeeded later. */
  redelivered: number;
  /** Messages of SQS that failed too often. */
  deadLetters: number;
  reads: number;
  /** GC runs that were opened. */
  gcs: number;
  exports: number;
  /** Batches of downloads that were answered. */
  downloads: number;
  /** How often the limit of a repo was set or lifted. */
  repoLimits: number;
  /** Batches of somebody who has to wait for what they claimed and never sent. */
  held: number;
  /** Late reservations that the operator cancelled. */
  cancelled: number;
  /** Refused batches of which nothing may be left, as was checked. */
  forgotten: number;
  /** Events of the store that were delivered. */
  told: number;
}

/** At the beginning of a run. */
export function nothingYet(): Coverage {
  return {
    operations: 0,
    kills: 0,
    faults: 0,
    lateWrites: 0,
    freezes: 0,
    tenants: 0,
    batches: 0,
    admissions: 0,
    refusals: 0,
    partial: 0,
    retries: 0,
    puts: 0,
    ofParts: 0,
    broken: 0,
    lateAnswers: 0,
    staleReads: 0,
    around: 0,
    outages: 0,
    fileOutages: 0,
    deletes: 0,
    emptied: 0,
    tenantDeletes: 0,
    reconciles: 0,
    requeued: 0,
    deferred: 0,
    unacknowledged: 0,
    redelivered: 0,
    deadLetters: 0,
    reads: 0,
    gcs: 0,
    exports: 0,
    downloads: 0,
    repoLimits: 0,
    held: 0,
    cancelled: 0,
    forgotten: 0,
    told: 0,
  };
}
