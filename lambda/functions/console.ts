import { deployed } from '../frame/aws/deployed.ts';
import { createConsoleFiles } from '../frame/aws/function-environment.ts';
import { create } from '../frame/service/console-handler.ts';

export function consoleDeps() {
  return { files: createConsoleFiles() };
}

export const handler = await deployed(create, consoleDeps, async ({ files }) => void (await files.read()));
