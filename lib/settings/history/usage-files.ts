import { z } from 'zod';

const setting = z
  .boolean()
  .default(false)
  .describe('Also write each hour of usage to the bucket: docs/saas-builders.md#bill.');

export const usageFiles = { setting, toJson: (isOn: boolean) => (isOn ? 'on' : undefined) };
