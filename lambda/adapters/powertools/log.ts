import { Logger } from '@aws-lambda-powertools/logger';
import type { Log } from '../../ports/log.ts';
import { cleanFields } from '../system/redact.ts';

/** Structured logs for CloudWatch. The event is never logged: it holds credentials. */
export function createPowertoolsLog(): Log {
  const logger = new Logger({ serviceName: 'lfs-quota' });
  return {
    info: (message, fields = {}) => logger.info(message, cleanFields(fields)),
    warn: (message, fields = {}) => logger.warn(message, cleanFields(fields)),
    error: (message, fields = {}) => logger.error(message, cleanFields(fields)),
  };
}
