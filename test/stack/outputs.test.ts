import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { templateOf } from './stack-template.ts';
import { trusting } from './trusting.ts';

const page = ['deploy', 'runbook']
  .map((name) => readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8'))
  .join('\n');
const certificateArn = 'arn:aws:acm:eu-central-1:111122223333:certificate/0a1b';
const outputsOf = (...settings: Parameters<typeof templateOf>) =>
  Object.keys(templateOf(...settings).findOutputs('*')).sort();

describe('the outputs of the stack', () => {
  const all = outputsOf({
    storeEvents: true,
    email: { from: 'quota@example.com' },
    ...trusting,
    domain: { name: 'lfs.example.com', certificateArn, keepDefaultUrl: true },
  });

  it('lead to all that the pages for operators have them look at', () => {
    const used = [...page.matchAll(/\$\{?([A-Z][A-Za-z]+[a-z][A-Za-z]*)\b/g)].map(([, name = '']) => name);
    expect(new Set(used).size).toBeGreaterThan(5);
    expect([...new Set(used)].filter((name) => !all.includes(name))).toEqual([]);
  });

  it('are all explained there', () => {
    expect(all.filter((name) => !new RegExp(`\\b${name}\\b`).test(page))).toEqual([]);
  });

  it('show which release is deployed', () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    const template = templateOf();
    const { Value: shown } = template.findOutputs('Version')['Version'] ?? {};
    expect(shown).toMatch(new RegExp(`^${version}( \\([0-9a-f]{12}(-dirty)?\\))?$`));
    expect(template.toJSON()['Description']).toContain(shown);
  });

  it('are only of what the stage has', () => {
    expect(all.filter((name) => !outputsOf().includes(name))).toEqual([
      'CopyDlqUrl',
      'DomainTarget',
      'EmailDlqUrl',
      'StoreEventsDlqUrl',
    ]);
  });
});
