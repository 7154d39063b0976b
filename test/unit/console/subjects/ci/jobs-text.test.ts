import { expect, it } from 'vitest';
import { jobsText } from '../../../../../console/src/subjects/ci/jobs-text.ts';

it('jobs of a rule by host and claims', () => {
  const match = { repository_id: ['733102994'], ref: ['refs/heads/main', 'refs/heads/next'] };
  expect(jobsText({ issuer: 'https://token.actions.githubusercontent.com', match })).toBe(
    'GitHub Actions: repository_id 733102994, ref refs/heads/main or refs/heads/next',
  );
  expect(jobsText({ issuer: 'https://gitlab.acme.example', match: { project_id: ['7'] } })).toBe(
    'gitlab.acme.example: project_id 7',
  );
});
