import { Agent, get } from 'node:http';
import type { ListServerProcess } from '../list-server/process.ts';

export interface ServerLimits {
  readonly pagesPerSecond: number;
  readonly cpuMsPerPage: number;
}

/** How fast the list server is if nobody parses its answers. Everything that is measured must stay well below. */
export async function measureServer(server: ListServerProcess, keys: number): Promise<ServerLimits> {
  await server.call('behave', { latencyMs: 0 });
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const url = `${server.ready}/n${keys}?list-type=2&encoding-type=url&prefix=acme%2Fapp%2F&start-after=acme%2Fapp%2F`;
  const digits = [...'0123456789abcdef'];
  const before = await server.call('stats');
  const startedMs = performance.now();
  for (let round = 0; round < 20; round += 1) {
    await Promise.all(digits.map((digit) => fetchAndForget(`${url}${digit}`, agent)));
  }
  const seconds = (performance.now() - startedMs) / 1000;
  const after = await server.call('stats');
  agent.destroy();
  const pages = after.requests - before.requests;
  return { pagesPerSecond: pages / seconds, cpuMsPerPage: (after.cpuMs - before.cpuMs) / pages };
}

function fetchAndForget(url: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => {
      response.on('data', () => {});
      response.on('end', resolve);
      response.on('error', reject);
    }).on('error', reject);
  });
}
