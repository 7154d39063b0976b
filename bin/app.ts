import { buildApp } from '../lib/app.ts';
import { DeploymentSettingsError } from '../lib/settings/stages.ts';

try {
  buildApp();
} catch (error) {
  if (!(error instanceof DeploymentSettingsError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
