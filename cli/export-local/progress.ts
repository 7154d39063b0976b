import { formatBytes } from '../../lambda/domain/bytes.ts';
import type { CliContext } from '../context.ts';
import { Rate } from '../rate.ts';
import { formatCount, formatDuration } from '../render.ts';
import { WaitLine } from '../wait-line.ts';

/** The line is drawn anew. */
const redrawMs = 500;

/** How far an export is, on standard error. */
export class ExportProgress {
  readonly #context: CliContext;
  readonly #line: WaitLine;
  readonly #rate = new Rate();
  #total = { bytes: 0, objects: 0 };
  #bytes = 0;
  #objects = 0;
  #shownMs = 0;

  constructor(context: CliContext) {
    this.#context = context;
    this.#line = new WaitLine(context, { isQuiet: false });
  }

  listed(objectCount: number): void {
    if (this.#line.inPlace) this.#line.show(`listing: ${formatCount(objectCount)} objects`);
  }

  /** Of a second archive, without what is gone. */
  copied(share: number): void {
    const nowMs = this.#context.nowMs();
    if (!this.#line.inPlace || nowMs - this.#shownMs < redrawMs) return;
    this.#shownMs = nowMs;
    this.#line.show(`leaving out what is gone: ${(share * 100).toFixed(1)} %`);
  }

  /** @param done what an earlier call has fetched. */
  begin(total: { bytes: number; objects: number }, done: { bytes: number; objects: number }): void {
    this.#total = total;
    this.#bytes = done.bytes;
    this.#objects = done.objects;
  }

  addBytes(bytes: number): void {
    this.#bytes += bytes;
    const nowMs = this.#context.nowMs();
    if (nowMs - this.#shownMs < redrawMs) return;
    this.#shownMs = nowMs;
    this.#rate.note({ ms: nowMs, done: this.#bytes });
    this.#line.show(this.#text());
  }

  addObject(): void {
    this.#objects += 1;
  }

  /** Before anything else is printed. */
  clear(): void {
    this.#line.clear();
  }

  #text(): string {
    const { bytes, objects } = this.#total;
    const share = bytes === 0 ? 1 : this.#bytes / bytes;
    if (!this.#line.inPlace) return `${Math.floor(share * 10) * 10} %`;
    const { perSecond } = this.#rate;
    return [
      `${(share * 100).toFixed(1)} %`,
      `${formatBytes(this.#bytes)} of ${formatBytes(bytes)}`,
      ...(perSecond
        ? [
            `${formatBytes(Math.round(perSecond))}/s`,
            `${formatDuration(((bytes - this.#bytes) * 1000) / perSecond)} left`,
          ]
        : []),
      `${formatCount(this.#objects)} of ${formatCount(objects)} objects`,
    ].join(', ');
  }
}
