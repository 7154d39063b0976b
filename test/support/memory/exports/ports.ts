import { exportSettingsFor } from '../../../../lambda/subjects/exports/rules/settings.ts';

export const exportPorts = () => ({ exportSettings: exportSettingsFor('local', { workers: 1 }) });
