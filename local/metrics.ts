import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry, Summary } from 'prom-client';
import { type MetricName, type Metrics, metricUnits } from '../lambda/core/rules/metrics.ts';
import { release } from '../lambda/core/rules/release.ts';
import { isFull } from '../lambda/frame/gauges/rules/disk.ts';
import { readUncounted } from '../lambda/frame/gauges/uncounted.ts';
import type { Deps } from './deps.ts';

/** Tenants whose figures are shown; the first by name. More would be too many series. */
const tenantsMax = 1_000;
/** From one read of them to the next, where the table is a service, and of what the store has beside objects. */
const restMs = 300_000;

/** Prometheus's name and help of each metric: `BytesAdmitted` → `lfs_quota_bytes_admitted`, milliseconds as seconds. */
function seriesOf(metric: MetricName): { name: string; help: string } {
  const words = metric.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
  const unit = { Count: '_total', Bytes: '', Milliseconds: '_seconds' }[metricUnits[metric]];
  const help = `${metric.charAt(0)}${words.slice(1)}${unit.replace('_', ', in ')}`;
  return { name: `lfs_quota_${words.replaceAll(' ', '_')}${unit}`, help };
}

/** What a server's figures are read from. */
type Watched = Pick<Deps, 'ledger' | 'queueGauges' | 'listing' | 'disk' | 'clock' | 'storeProbe'> & {
  /** Reads of the table cost money. */
  readonly isShared: boolean;
};

/** The figures of one server, as Prometheus reads them. */
export class ServerMetrics implements Metrics {
  readonly #registry = new Registry();
  readonly #counters = new Map<string, Counter>();
  readonly #measures = new Map<string, Summary>();
  readonly #requests: Histogram<'function' | 'status'>;
  readonly #registers = [this.#registry];
  #refresh = async (): Promise<void> => {};

  constructor() {
    const registers = this.#registers;
    collectDefaultMetrics({ register: this.#registry });
    for (const name of Object.keys(metricUnits) as MetricName[]) {
      const series = { ...seriesOf(name), registers };
      if (metricUnits[name] === 'Count') this.#counters.set(name, new Counter(series));
      else this.#measures.set(name, new Summary({ ...series, percentiles: [] }));
    }
    this.#requests = new Histogram({
      name: 'lfs_quota_request_duration_seconds',
      help: 'Duration of API requests, by function and status, in seconds',
      labelNames: ['function', 'status'],
      buckets: [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      registers,
    });
    const labels = { version: release.version, commit: release.commit ?? '' };
    new Gauge({
      name: 'lfs_quota_build_info',
      help: 'The release that runs',
      labelNames: Object.keys(labels),
      registers,
    }).set(labels, 1);
  }

  increment(name: MetricName, times = 1): void {
    this.#counters.get(name)?.inc(times);
  }

  measure(name: MetricName, value: number): void {
    this.#measures.get(name)?.observe(metricUnits[name] === 'Milliseconds' ? value / 1_000 : value);
  }

  /** Each scrape reads what there is. */
  flush(): void {}

  /** Notes a request that was answered. */
  answered(request: { function: string; status: number; latencyMs: number }): void {
    const { status, latencyMs } = request;
    this.#requests.observe({ function: request.function, status: String(status) }, latencyMs / 1_000);
  }

  /** Shows these, too, from now on. */
  watch({ ledger, queueGauges, listing, storeProbe, disk, clock, isShared }: Watched): void {
    const gauge = (name: string, help: string, labelNames: string[] = []) =>
      new Gauge({ name: `lfs_quota_${name}`, help, labelNames, registers: this.#registers });
    const diskFull = gauge('disk_full', '1 while pushes fail: see lfs-quota check --health');
    const diskFree = gauge('disk_free_bytes', 'Free space of the data folder');
    const files = gauge('store_files', "Files of the store that aren't whole objects, by state", ['state']);
    const messages = gauge('queue_messages', 'Messages of a queue, by state', ['queue', 'state']);
    const count = gauge('tenants', `Tenants that are shown, at most ${tenantsMax}`);
    const ofTenant = (name: string, help: string) => gauge(`tenant_${name}`, help, ['tenant']);
    const committed = ofTenant('committed_bytes', 'Stored and reserved: what a push is compared by');
    const limit = ofTenant('limit_bytes', 'Its limit, if it has one');
    const stored = ofTenant('stored_bytes', 'What the last scan counted');
    const objects = ofTenant('objects', 'What the last scan counted');
    const scanned = ofTenant('scanned_timestamp_seconds', 'When the last scan was, in seconds since 1970');
    const uncounted = gauge('uncounted_bytes', 'Stored, and no usage: the first 10,000 files', ['folder']);
    let listAgainMs = 0;
    let readAgainMs = 0;
    this.#refresh = async () => {
      const space = disk?.();
      diskFull.set(space && isFull(space) ? 1 : 0);
      if (space) diskFree.set(space.freeBytes);
      for (const [state, count] of Object.entries((await storeProbe.damage?.read()) ?? {}))
        files.set({ state }, count);
      for (const { queue, read } of queueGauges) {
        const { waiting, running, deadLetters } = await read();
        for (const [state, value] of Object.entries({ waiting, running, dead: deadLetters ?? 0 }))
          messages.set({ queue, state }, value);
      }
      if (clock.nowMs() >= listAgainMs) {
        listAgainMs = clock.nowMs() + restMs;
        // Without the store, all else is shown.
        for (const { folder, bytes } of await readUncounted({ listing }).catch(() => []))
          uncounted.set({ folder }, bytes);
      }
      if (clock.nowMs() < readAgainMs) return;
      const tenants = await ledger.listTenants({ pageSize: tenantsMax });
      if (isShared) readAgainMs = clock.nowMs() + restMs;
      for (const each of [committed, limit, stored, objects, scanned]) each.reset();
      for (const { tenant, committedBytes, limitBytes, scanned: last } of tenants) {
        committed.set({ tenant }, committedBytes);
        if (limitBytes !== null) limit.set({ tenant }, limitBytes);
        if (last === null) continue;
        stored.set({ tenant }, last.storedBytes);
        objects.set({ tenant }, last.objectCount);
        scanned.set({ tenant }, last.scannedAtMs / 1_000);
      }
      count.set(tenants.length);
    };
  }

  /** @returns Prometheus's text format. */
  async text(): Promise<{ contentType: string; body: string }> {
    await this.#refresh();
    return { contentType: this.#registry.contentType, body: await this.#registry.metrics() };
  }
}
