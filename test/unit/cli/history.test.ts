import { afterEach, describe, expect, it } from 'vitest';
import { forecastText } from '../../../cli/forecast-text.ts';
import { historyChart } from '../../../cli/history-chart.ts';
import { dayAfter } from '../../../lambda/domain/calendar.ts';
import { cli, startServer, type TestServer } from './harness.ts';

const mib = 1024 ** 2;
const today = '2026-11-21';

const dayOf = (day: string, storedBytes: number, more: object = {}) => ({
  day,
  storedBytes,
  objectCount: 3,
  maxStoredBytes: storedBytes,
  refusals: 0,
  downloads: { bytes: 0, objects: 0 },
  carried: false,
  ...more,
});
const daysOf = (...values: number[]) =>
  values.map((bytes, index) => dayOf(dayAfter(today, index + 1 - values.length), bytes));

const body = {
  tenant: 'acme',
  limitBytes: 100 * mib,
  from: '2026-11-20',
  to: today,
  days: [
    dayOf('2026-11-20', 20 * mib, { maxStoredBytes: 60 * mib, refusals: 1, downloads: null }),
    dayOf(today, 40 * mib, { downloads: { bytes: 3 * mib, objects: 2 } }),
  ],
  forecast: { fullOn: '2027-02-03', reason: null, bytesPerDay: mib },
  lastRefusals: [],
};

let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function run(args: string[], change: object = {}, lang = 'en_US.UTF-8') {
  server = await startServer(() => ({ status: 200, body: { ...body, ...change } }));
  const env = { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 't', LANG: lang };
  const result = await cli(['history', 'acme', ...args], { env });
  return { ...result, path: server.asked[0]?.path };
}

describe('history', () => {
  it('draws the days, and says what they sum up to and when the tenant is full', async () => {
    const { out, err, code, path } = await run([]);
    expect([code, err, path]).toEqual([0, '', '/v1/tenants/acme/history']);
    expect(out).toBe(
      [
        '100 MiB |   limit',
        '        |',
        '        |',
        '        |▆',
        '        |█▂',
        '        |██',
        '        |██',
        '    0 B |██',
        '         2026-11-20 to 2026-11-21',
        '',
        'stored    40 MiB on 2026-11-21',
        'highest   60 MiB on 2026-11-20',
        'limit     100 MiB',
        'full      on 2027-02-03, growing by 1 MiB a day',
        'refused   1 batch',
        'offered   3 MiB for download',
        '',
      ].join('\n'),
    );
  });

  it('has a line for each day with --table', async () => {
    const { out } = await run(['--table']);
    expect(out).toBe(
      [
        'day         stored  highest  objects  refused  offered',
        '2026-11-20  20 MiB   60 MiB        3        1        -',
        '2026-11-21  40 MiB   40 MiB        3        0    3 MiB',
        '',
      ].join('\n'),
    );
  });

  it.each([
    [['--days', '10'], '?from=2026-11-12'],
    [['--days', '400'], '?from=2025-10-18'],
    [['--days', '2', '--to', '2026-10-01'], '?from=2026-09-30&to=2026-10-01'],
    [['--from', '2026-10-01', '--days', '2'], '?from=2026-10-01&to=2026-10-02'],
    [['--from', '2026-10-01', '--to', '2026-10-01'], '?from=2026-10-01&to=2026-10-01'],
  ])('asks for %j', async (args, query) => {
    expect((await run(args)).path).toBe(`/v1/tenants/acme/history${query}`);
  });

  it.each([['0'], ['401'], ['-1'], ['ten'], ['1.5']])('takes no %s days', async (count) => {
    const { code, err, path } = await run(['--days', count]);
    expect([code, path]).toEqual([2, undefined]);
    expect(err).toContain('from 1 to 400');
  });

  it.each([
    [
      ['--from', '2026-10-02', '--to', '2026-10-01'],
      '--from 2026-10-02 is after --to 2026-10-01. Swap them.',
    ],
    [['--from', '2026-10-01', '--to', '2026-10-02', '--days', '2'], 'Give two of --from, --to and --days'],
  ])('asks for nothing with %j', async (args, said) => {
    const { code, err, path } = await run(args);
    expect([code, path]).toEqual([2, undefined]);
    expect(err).toContain(said);
  });

  it('says so if nothing is known', async () => {
    expect((await run([], { days: [] })).out).toBe('Nothing is known of these days.\n');
  });
});

describe('the chart', () => {
  const chart = (values: number[], limitBytes: number | null, drawBlocks = true) =>
    historyChart({ days: daysOf(...values), limitBytes }, { drawBlocks }).split('\n');

  it('is as high as the highest day, unless that is half of the limit', () => {
    expect(chart([40, 80], 161)[0]).toBe('80 B | █');
    expect(chart([40, 80], 160)[0]).toBe('160 B |   limit');
    expect(chart([40, 200], 100)[0]).toBe('200 B | █');
    expect(chart([40, 80], null)[0]).toBe('80 B | █');
  });

  it('shows the smallest amount, and nothing of nothing', () => {
    expect(chart([0, 1, 8000], null)[7]).toBe('     0 B | ▁█');
    expect(chart([0, 0], null)[7]).toBe('0 B |');
    expect(chart([0, 1, 8000], null, false)[7]).toBe('     0 B | ##');
  });

  it('draws with ASCII', () => {
    const lines = chart([50, 100], null, false);
    expect(lines.slice(0, 8).map((line) => line.slice(-2).trim())).toEqual([
      '#',
      '#',
      '#',
      '#',
      '##',
      '##',
      '##',
      '##',
    ]);
  });

  it('names the first and the last day below their columns, if there is room', () => {
    const lines = chart(
      Array.from({ length: 30 }, () => 5),
      null,
    );
    expect(lines[8]).toBe('     2026-10-23          2026-11-21');
    expect(chart([5], null)[8]).toBe('     2026-11-21');
  });

  it('has at most 60 columns, each with the highest of its days', () => {
    const values = Array.from({ length: 400 }, (_, index) => (index === 300 ? 100 : 1));
    const lines = chart(values, null);
    expect(lines[7]?.length).toBe('100 B |'.length + Math.ceil(400 / 7));
    expect(lines[0]?.indexOf('█')).toBe('100 B |'.length + Math.floor(300 / 7));
  });
});

describe('the text of a forecast', () => {
  it.each([
    [{ fullOn: '2027-02-03', reason: null, bytesPerDay: 1024 }, 'on 2027-02-03, growing by 1 KiB a day'],
    [{ fullOn: today, reason: null, bytesPerDay: null }, 'on 2026-11-21'],
    [{ fullOn: today, reason: null, bytesPerDay: -5 }, 'on 2026-11-21'],
    [{ fullOn: null, reason: 'unlimited', bytesPerDay: 5 }, 'never: there is no limit'],
    [{ fullOn: null, reason: 'not-counted', bytesPerDay: null }, 'not known: not counted yet'],
    [{ fullOn: null, reason: 'too-few-days', bytesPerDay: null }, 'not known: too few days are known'],
    [{ fullOn: null, reason: 'not-growing', bytesPerDay: -5 }, 'not in sight: it does not grow'],
    [
      { fullOn: null, reason: 'beyond-two-years', bytesPerDay: 1024 },
      'in more than two years, growing by 1 KiB a day',
    ],
    [{ fullOn: null, reason: null, bytesPerDay: null }, 'not known'],
  ] as const)('%j', (forecast, text) => {
    expect(forecastText(forecast)).toBe(text);
  });
});
