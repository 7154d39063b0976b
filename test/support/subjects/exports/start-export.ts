import { type ExportWish, prepareExport } from '../../../../lambda/subjects/exports/start.ts';

type Deps = Parameters<typeof prepareExport>[0];
type Prepared = Awaited<ReturnType<typeof prepareExport>>;
type Ready = Extract<Prepared, { kind: 'ready' }>;

/** Begins an export if it can begin now. */
export function startExport(deps: Deps, wish: ExportWish) {
  return startExportOnce(deps, { wish });
}

/** The same with a request key. */
export async function startExportOnce(
  deps: Deps,
  input: Parameters<typeof prepareExport>[1],
): Promise<Exclude<Prepared, Ready>> {
  const prepared = await prepareExport(deps, input);
  return prepared.kind === 'ready' ? prepared.begin() : prepared;
}
