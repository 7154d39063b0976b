import type { UsageFilePorts, UsageFiles } from '../../lambda/subjects/history/ports.ts';
import type { SubjectPorts } from '../subject-ports.ts';

export const history = {
  create: ({
    writesUsageFiles,
    ...files
  }: UsageFiles & { readonly writesUsageFiles?: boolean | undefined }): UsageFilePorts =>
    writesUsageFiles ? { usageFiles: files } : {},
  options: { writesUsageFiles: ({ usageFiles = false }: { usageFiles?: boolean }) => usageFiles },
} as const satisfies SubjectPorts;
