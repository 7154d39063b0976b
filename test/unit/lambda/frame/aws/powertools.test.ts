import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { metricUnits } from '../../../../../lambda/core/rules/metrics.ts';
import { StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { createInvocationLog, createInvocations } from '../../../../../lambda/frame/aws/invocation-log.ts';
import { createPowertoolsLog, createPowertoolsMetrics } from '../../../../../lambda/frame/aws/powertools.ts';

const token = `lfsq_${'Ab3'.repeat(13)}Z`;
const verifyToken = `lfsv_${'Cd4'.repeat(13)}Z`;
const signed = 'https://store.example/acme/game/0?X-Amz-Credential=K&X-Amz-Signature=0123abcdef';

describe('the log on AWS', () => {
  let written: string[];
  beforeEach(() => {
    written = [];
    const keep = (text: unknown) => {
      written.push(String(text));
      return true;
    };
    vi.spyOn(process.stdout, 'write').mockImplementation(keep);
    vi.spyOn(process.stderr, 'write').mockImplementation(keep);
  });
  afterEach(() => void vi.restoreAllMocks());

  /** The JSON lines of the output. */
  const lines = () =>
    written
      .join('')
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  it('writes one JSON line for each entry, with the ids of its invocation', async () => {
    const invocations = createInvocations({ firstIsCold: true });
    const log = createInvocationLog(createPowertoolsLog(), invocations);
    await invocations.during({ requestId: 'r1', functionRequestId: 'f1' }, async () => {
      log.info('uploads', { tenant: 'acme', admitted: 2 });
      log.warn('slow');
    });
    await invocations.during({ messageId: 'm1', correlationId: 'r1' }, async () => log.error('failed'));
    vi.restoreAllMocks();
    expect(lines()).toMatchObject([
      {
        level: 'INFO',
        message: 'uploads',
        service: 'lfs-quota',
        version: 'dev',
        tenant: 'acme',
        admitted: 2,
        requestId: 'r1',
        functionRequestId: 'f1',
        coldStart: true,
      },
      { level: 'WARN', message: 'slow', requestId: 'r1', functionRequestId: 'f1', coldStart: true },
      { level: 'ERROR', message: 'failed', messageId: 'm1', correlationId: 'r1' },
    ]);
    expect(lines()[2]).not.toHaveProperty('coldStart');
  });

  it('removes tokens, credentials and the signatures of URLs, however deep in an error they are', () => {
    const log = createPowertoolsLog();
    const request = { headers: { authorization: `Basic ${btoa(`any:${token}`)}` }, href: signed };
    const cause = Object.assign(new Error(`GET ${signed} failed`), { request });
    log.info('m', { token, verifyToken, request, list: [signed, `Bearer ${token}`] });
    log.error('m', { error: new StoreUnavailableError(`with ${verifyToken}`, { cause }) });
    log.warn('m', { reason: `token ${token}, verify ${verifyToken}, at ${signed}` });
    vi.restoreAllMocks();
    expect(lines()).toHaveLength(3);
    const text = written.join('');
    for (const secret of [token, verifyToken, btoa(`any:${token}`), '0123abcdef', 'X-Amz-Credential'])
      expect(text).not.toContain(secret);
    expect(text).toContain(
      'StoreUnavailableError: with lfsv_… < Error: GET https://store.example/acme/game/0?…',
    );
  });
});

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
