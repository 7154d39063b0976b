import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Stack } from '../../stack.ts';

const exportShape = z.object({
  exportId: z.string(),
  state: z.string(),
  failure: z.unknown(),
  plan: z.object({ objectCount: z.number(), copiedBytes: z.number(), uploadedBytes: z.number() }).nullable(),
  progress: z.unknown(),
  archives: z.array(z.object({ name: z.string(), sizeBytes: z.number(), url: z.string().nullable() })),
});

/** An export, as the API shows it. */
type ShownExport = z.infer<typeof exportShape>;

async function ask(stack: Stack, path: string, body?: unknown): Promise<ShownExport> {
  const response = await fetch(`${stack.url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${stack.adminToken}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
  return exportShape.parse(JSON.parse(text));
}

/** Asks for an archive of all that a tenant has. @returns the export's id. */
export async function startExport(stack: Stack, tenant: string, format: 'tar' | 'zip'): Promise<string> {
  return (await ask(stack, `/v1/tenants/${tenant}/exports`, { format })).exportId;
}

export function readExport(stack: Stack, tenant: string, exportId: string): Promise<ShownExport> {
  return ask(stack, `/v1/tenants/${tenant}/exports/${exportId}`);
}

/** Waits for the end of an export, however long that takes a busy machine. @throws if nothing moves for so long. */
export async function endOfExport(
  stack: Stack,
  { tenant, exportId, idleMaxMs }: { tenant: string; exportId: string; idleMaxMs: number },
): Promise<ShownExport> {
  let seen = '';
  let movedAtMs = performance.now();
  for (;;) {
    const shown = await readExport(stack, tenant, exportId);
    if (!['planning', 'copying'].includes(shown.state)) return shown;
    const now = JSON.stringify([shown.state, shown.progress]);
    if (now !== seen) movedAtMs = performance.now();
    else if (performance.now() - movedAtMs > idleMaxMs)
      throw new Error(`The export is still ${now}:\n${stack.output().slice(-1500)}`);
    seen = now;
    await sleep(100);
  }
}

/** Downloads the only archive of an export, by its URL. */
export async function downloadArchive({ archives }: ShownExport): Promise<Buffer> {
  const [archive] = archives;
  if (!archive?.url || archives.length > 1) throw new Error(`There are ${archives.length} archives.`);
  const response = await fetch(archive.url);
  if (!response.ok) throw new Error(`The archive's URL answered ${response.status}.`);
  return Buffer.from(await response.arrayBuffer());
}
