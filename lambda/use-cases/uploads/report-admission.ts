import type { Deps } from '../../deps.ts';
import type { AdmitUploadOutcome, UploadVerdict } from './batch-attempt.ts';

/** Measures and logs the outcome of one batch of uploads. */
export function reportAdmission(
  deps: Pick<Deps, 'metrics' | 'log'>,
  batch: { tenant: string; repo: string; objects: ReadonlyMap<string, number>; outcome: AdmitUploadOutcome },
): void {
  const { tenant, repo, objects, outcome } = batch;
  const { metrics, log } = deps;
  switch (outcome.kind) {
    case 'answered': {
      const oidsOf = (kind: UploadVerdict['kind']) =>
        [...outcome.verdicts].filter(([, verdict]) => verdict.kind === kind).map(([oid]) => oid);
      const admitted = oidsOf('upload');
      const admittedBytes = admitted.reduce((sum, oid) => sum + (objects.get(oid) ?? 0), 0);
      const refused = oidsOf('over-limit').length;
      if (admitted.length > 0) {
        metrics.increment('UploadsAdmitted', admitted.length);
        metrics.measure('BytesAdmitted', admittedBytes);
      }
      if (refused > 0) metrics.increment('UploadsRefused', refused);
      log.info('uploads', { tenant, repo, admitted: admitted.length, admittedBytes, refused });
      return;
    }
    case 'retry':
      metrics.increment('BatchesDeferred');
      log.info('uploads deferred', { tenant, repo, retryAfterMs: outcome.retryAfterMs });
      return;
    case 'absent':
      return;
  }
}
