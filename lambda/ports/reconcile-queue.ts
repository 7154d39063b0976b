/** Why a tenant is to be recounted; for the logs alone. */
export type ReconcileReason =
  | 'upload'
  | 'verify'
  | 'delete'
  | 'import'
  | 'miss'
  | 'refusal'
  | 'schedule'
  | 'manual'
  | 'event'
  | 'unfinished';

/** One request for a recount. */
export interface ReconcileRequest {
  readonly tenant: string;
  readonly reason: ReconcileReason;
  /** List the whole tenant, repos that nobody knew too; otherwise only what may have changed. */
  readonly full: boolean;
}

/**
 * The queue of recounts: at least once, one at a time per tenant, bursts collapse, and a request is always
 * followed by a recount that begins after it (a trailing trigger is never lost).
 */
export interface ReconcileQueue {
  request(request: ReconcileRequest): Promise<void>;
}
