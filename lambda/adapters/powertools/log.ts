import { Logger } from '@aws-lambda-powertools/logger';
import type { Log } from '../../ports/log.ts';
import { serviceName } from '../../ports/metrics.ts';
import { redact } from '../system/redact.ts';

/** Structured logs for CloudWatch. Events are never logged, because they contain credentials. */
export function createPowertoolsLog(): Log {
  const logger = new Logger({ serviceName });
  return {
    info: (message, fields = {}) => logger.info(message, redact(fields)),
    warn: (message, fields = {}) => logger.warn(message, redact(fields)),
    error: (message, fields = {}) => logger.error(message, redact(fields)),
  };
}
