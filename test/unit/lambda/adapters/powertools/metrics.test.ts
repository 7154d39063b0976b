import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createPowertoolsMetrics } from '../../../../../lambda/adapters/powertools/metrics.ts';
import { createInvocations } from '../../../../../lambda/adapters/system/invocations.ts';
import { metricUnits } from '../../../../../lambda/ports/metrics.ts';

describe('the embedded metric format', () => {
  let written: string[];
  beforeEach(() => {
    written = [];
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      written.push(String(text));
      return true;
    });
  });
  afterEach(() => void vi.restoreAllMocks());

  it('has each metric with its unit, the namespace of the stage, the service as the only dimension, and the ids', async () => {
    const invocations = createInvocations();
    const metrics = createPowertoolsMetrics({ namespace: 'lfs-quota-test', invocations });
    await invocations.during({ messageId: 'm1', correlationId: 'r1' }, async () => {
      metrics.increment('CacheHits');
      metrics.measure('DriftBytes', 7);
      metrics.measure('DriftBytes', 9);
      metrics.flush();
      metrics.flush();
    });
    vi.restoreAllMocks();
    const lines = written.filter((line) => line.startsWith('{'));
    expect(lines).toHaveLength(1);
    const { _aws, ...values } = JSON.parse(lines[0] ?? '');
    expect(values).toEqual({
      service: 'lfs-quota',
      CacheHits: 1,
      DriftBytes: [7, 9],
      messageId: 'm1',
      correlationId: 'r1',
    });
    expect(_aws.CloudWatchMetrics).toEqual([
      {
        Namespace: 'lfs-quota-test',
        Dimensions: [['service']],
        Metrics: [
          { Name: 'CacheHits', Unit: 'Count' },
          { Name: 'DriftBytes', Unit: 'Bytes' },
        ],
      },
    ]);
  });

  it('has a unit for every metric', () => {
    expect(new Set(Object.values(metricUnits))).toEqual(new Set(['Count', 'Bytes', 'Milliseconds']));
  });
});
