import { buildApp } from '../lib/app.ts';
import { StageSettingsError } from '../lib/settings/stages.ts';

try {
  buildApp();
} catch (error) {
  if (!(error instanceof StageSettingsError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
