import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics as Powertools } from '@aws-lambda-powertools/metrics';
import type { Invocations, Log } from '../../core/rules/clock-and-log.ts';
import { type Metrics, metricUnits, serviceName } from '../../core/rules/metrics.ts';
import { release } from '../../core/rules/release.ts';
import { redact } from './invocation-log.ts';

/** Structured logs for CloudWatch. Events are never logged, because they contain credentials. */
export function createPowertoolsLog(): Log {
  const logger = new Logger({ serviceName, persistentKeys: { ...release } });
  return {
    info: (message, fields = {}) => logger.info(message, redact(fields)),
    warn: (message, fields = {}) => logger.warn(message, redact(fields)),
    error: (message, fields = {}) => logger.error(message, redact(fields)),
  };
}

/**
 * Metrics as log lines in CloudWatch's embedded metric format, so sending them needs no request. Each line also has the
 * ids of its invocation. These are metadata, not dimensions, and cost nothing.
 *
 * @param input.namespace each stage has its own, which separates the stages of one account without a dimension.
 */
export function createPowertoolsMetrics(input: { namespace: string; invocations: Invocations }): Metrics {
  const powertools = new Powertools({ namespace: input.namespace, serviceName });
  return {
    increment: (name, times = 1) => void powertools.addMetric(name, metricUnits[name], times),
    measure: (name, value) => void powertools.addMetric(name, metricUnits[name], value),
    flush() {
      // With nothing to send, Powertools would log a warning.
      if (!powertools.hasStoredMetrics()) return;
      for (const [name, id] of Object.entries(input.invocations.current())) {
        if (typeof id === 'string') powertools.addMetadata(name, id);
      }
      powertools.publishStoredMetrics();
    },
  };
}
