import { dayMs } from '../../core/rules/dates.ts';
import { answer, json, type Saying } from '../../frame/api/http.ts';
import { problem } from '../../frame/api/problems.ts';
import { cursorOf, pageSizeDefault } from '../../frame/contract/fields.ts';
import { operationsFor } from '../../frame/management/operations.ts';
import { correctionBody, linesOf, usagePage } from './byte-hours.ts';
import { byteHoursContract, type UsageBody, usageFields } from './byte-hours-contract.ts';
import type { ByteHourPorts } from './ports.ts';
import { finalUntilMs, hourMs, hourName, usageDaysMax } from './rules/byte-hours.ts';

/** With its hours: those that are final may be more by the next page. */
const cursor = cursorOf('fromMs', 'toMs', 'records', 'tenant');

export const byteHoursOperations = operationsFor<ByteHourPorts>()(byteHoursContract, {
  'GET /v1/usage': async (deps, { query, event }) => {
    const { limit = pageSizeDefault, format = 'json' } = query;
    const nowMs = deps.clock.nowMs();
    const place = query.cursor === undefined ? undefined : placeOf(query.cursor);
    if (place === null)
      return problem('invalid-query', 'cursor: must be the nextCursor of the previous page.');
    const toMs = Math.min(place?.toMs ?? query.to ?? finalUntilMs(nowMs), finalUntilMs(nowMs));
    const fromMs = place?.fromMs ?? query.from ?? toMs - hourMs;
    if (query.to !== undefined && query.to < fromMs)
      return problem('invalid-query', "to: can't be before from.");
    if (fromMs < nowMs - usageDaysMax * dayMs)
      return problem('invalid-query', `from: can't be more than ${usageDaysMax} days ago.`);
    const { usage, next } = await usagePage(deps, { fromMs, toMs, limit, after: place });
    const nextCursor = next ? cursor.encode({ ...next, fromMs, toMs }) : null;
    if (format === 'json') return json(200, { usage, nextCursor });
    const link = new URLSearchParams({ format, limit: String(limit), cursor: nextCursor ?? '' });
    return texts[format](
      usage,
      nextCursor === null ? null : { link: `<${event.rawPath}?${link}>; rel="next"` },
    );
  },

  'POST /v1/tenants/{tenant}/usage/corrections': {
    askedOf: ({ hour, ...correction }) => ({ hour: hourName(hour), ...correction }),
    run: async (deps, { tenant: { tenant }, body }) => {
      const atMs = deps.clock.nowMs();
      const { hour: startMs, number, byteSeconds, reason } = body;
      if (startMs >= finalUntilMs(atMs) || startMs < atMs - usageDaysMax * dayMs)
        return problem('invalid-body', `hour: must be a final one of the last ${usageDaysMax} days.`);
      const made = await deps.corrections.add({ tenant, hourMs: startMs, number, byteSeconds, reason, atMs });
      if (made.kind === 'other') {
        const detail = `${hourName(startMs)} has another correction with the number ${number}. Use the next number.`;
        return problem('correction-exists', detail);
      }
      return json(made.kind === 'added' ? 201 : 200, correctionBody(made.correction));
    },
  },
});

/** null: it's none that was given out. */
function placeOf(text: string) {
  const { tenant, ...texts } = cursor.decode(text);
  const [fromMs = 0, toMs = 0, records = 0] = [texts.fromMs, texts.toMs, texts.records].map(Number);
  const place = { fromMs, toMs, records, tenant };
  const isWhole = fromMs % hourMs === 0 && toMs % hourMs === 0 && records % 1 === 0;
  return isWhole && records >= 0 && cursor.encode(place) === text ? place : null;
}

/** RFC 4180. Only a reason can have what needs quotes; a sheet must not take one for a formula. */
const csvOf = (usage: readonly UsageBody[]): string =>
  [usageFields.join(), ...usage.map((record) => usageFields.map((name) => csvCell(record[name])).join())]
    .map((line) => `${line}\r\n`)
    .join('');

function csvCell(value: string | number | undefined): string {
  const text = String(value ?? '').replace(/^[=@+-](?!\d)/, "'$&");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const textAnswer =
  (type: string, textOf: (usage: readonly UsageBody[]) => string) =>
  (usage: readonly UsageBody[], headers: Readonly<Record<string, string>> | null) =>
    ({ ...answer(200, type, '', headers ?? {}), body: textOf(usage) }) as Saying<200, never>;

const texts = {
  jsonl: textAnswer('application/jsonl', linesOf),
  csv: textAnswer('text/csv; charset=utf-8', csvOf),
};
