import { z } from 'zod';
import { awsCall } from './aws-call.ts';
import type { Emulator } from './emulator.ts';

const groupsShape = z.object({
  logGroups: z.array(z.object({ logGroupName: z.string() })),
  nextToken: z.string().optional(),
});
const eventsShape = z.object({ events: z.array(z.object({ timestamp: z.number(), message: z.string() })) });

const linesMax = 10_000;

/** A line that a function wrote as JSON: a log entry or metrics. */
type LogEntry = Readonly<Record<string, unknown>>;

/** Reads the functions' logs from CloudWatch Logs. */
export class CloudWatchLogs {
  readonly #emulator: Emulator;

  constructor(emulator: Emulator) {
    this.#emulator = emulator;
  }

  /** Every line of every function. A line may occur twice. */
  async lines(): Promise<string[]> {
    const lines: string[] = [];
    for (const group of await this.#groups()) lines.push(...(await this.#linesOf(group)));
    return lines;
  }

  /** The lines that are JSON. */
  async entries(): Promise<LogEntry[]> {
    const json = (await this.lines()).filter((line) => line.startsWith('{'));
    return [...new Set(json)].map((line) => JSON.parse(line) as LogEntry);
  }

  async #groups(): Promise<string[]> {
    const names: string[] = [];
    let nextToken: string | undefined;
    do {
      const page = groupsShape.parse(await this.#call('DescribeLogGroups', { limit: 50, nextToken }));
      names.push(...page.logGroups.map(({ logGroupName }) => logGroupName));
      nextToken = page.nextToken;
    } while (nextToken !== undefined);
    return names;
  }

  /** Each page begins at the time of the last line before, because the emulator returns no token for the next page. */
  async #linesOf(logGroupName: string): Promise<string[]> {
    const lines: string[] = [];
    for (let startTime = 0; ; ) {
      const asked = { logGroupName, startTime, limit: linesMax };
      const { events } = eventsShape.parse(await this.#call('FilterLogEvents', asked));
      lines.push(...events.map(({ message }) => message));
      const lastMs = events.at(-1)?.timestamp ?? startTime;
      if (events.length < linesMax) return lines;
      if (lastMs === startTime) throw new Error(`${logGroupName} has too many lines of one millisecond.`);
      startTime = lastMs;
    }
  }

  async #call(action: string, input: object): Promise<unknown> {
    const headers = {
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-target': `Logs_20140328.${action}`,
    };
    const answer = await awsCall(this.#emulator, { service: 'logs', headers, body: JSON.stringify(input) });
    return JSON.parse(answer);
  }
}
