import type { S3Client } from '@aws-sdk/client-s3';

/** Statuses with which a store says that it is asked too much. */
const throttlingStatuses: ReadonlySet<number> = new Set([429, 503]);

/** Counts what the store answered, retries of the SDK included. */
export class Traffic {
  requests = 0;
  throttled = 0;

  note(status: number): void {
    this.requests += 1;
    if (throttlingStatuses.has(status)) this.throttled += 1;
  }

  /** Counts each attempt of a client: innermost, because the SDK hides from its callers what it retries. */
  watch({ middlewareStack }: S3Client): void {
    middlewareStack.add(
      (next) => async (args) => {
        const result = await next(args);
        this.note((result.response as { statusCode?: number }).statusCode ?? 0);
        return result;
      },
      { step: 'deserialize', priority: 'low', name: 'doctorTraffic' },
    );
  }
}
