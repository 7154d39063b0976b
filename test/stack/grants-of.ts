import type { Template } from 'aws-cdk-lib/assertions';

type Intrinsic = string | { readonly [name: string]: unknown };

interface Statement {
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource: Intrinsic | readonly Intrinsic[];
  readonly Condition?: {
    readonly 'ForAllValues:StringLike'?: Readonly<
      Partial<Record<'dynamodb:LeadingKeys' | 'dynamodb:Attributes', readonly string[]>>
    >;
    readonly StringEquals?: { readonly 'ses:FromAddress'?: string };
    readonly Null?: Readonly<Partial<Record<'dynamodb:LeadingKeys' | 'dynamodb:Attributes', string>>>;
  };
}

interface Role {
  readonly Properties: {
    readonly ManagedPolicyArns?: readonly unknown[];
    readonly Policies?: readonly { readonly PolicyDocument: { readonly Statement: readonly Statement[] } }[];
  };
}

/**
 * The grants of each role: function name → sorted lines `action on resource`, with the resource's logical id.
 * @throws {Error} when a role has managed policies or a statement that denies.
 */
export function grantsOf(template: Template): Map<string, string[]> {
  const roles = template.findResources('AWS::IAM::Role') as unknown as Readonly<Record<string, Role>>;
  const grants = new Map<string, string[]>();
  for (const [logicalId, role] of Object.entries(roles)) {
    const name =
      /^Functions(?<name>\w+?)Role[0-9A-F]{8}$/.exec(logicalId)?.groups?.['name'] ?? withoutHash(logicalId);
    if (role.Properties.ManagedPolicyArns !== undefined)
      throw new Error(`${logicalId} has managed policies.`);
    const statements = (role.Properties.Policies ?? []).flatMap((policy) => policy.PolicyDocument.Statement);
    grants.set(name, statements.flatMap(linesOf).sort());
  }
  return grants;
}

function linesOf({ Effect, Action, Resource, Condition }: Statement): string[] {
  if (Effect !== 'Allow')
    throw new Error(`A statement with effect ${Effect}: the table of grants can't show it.`);
  const {
    'dynamodb:LeadingKeys': keys = [],
    'dynamodb:Attributes': attributes = [],
    ...more
  } = Condition?.['ForAllValues:StringLike'] ?? {};
  if (Object.keys(more).length > 0) throw new Error('A condition on something else.');
  const from = Condition?.StringEquals?.['ses:FromAddress'];
  if (Condition && keys.length === 0 && from === undefined)
    throw new Error("A statement with another condition: the table of grants can't show it.");
  if (keys.length > 0 && Condition?.Null?.['dynamodb:LeadingKeys'] !== 'false')
    throw new Error('Keys that hold for a request without keys as well.');
  if (attributes.length > 0 && Condition?.Null?.['dynamodb:Attributes'] !== 'false')
    throw new Error('Attributes that hold for a request without attributes as well.');
  const ofAttributes = attributes.length === 0 ? '' : `, attributes ${attributes.join(' and ')}`;
  const where =
    from !== undefined
      ? `, from ${from}`
      : keys.length === 0
        ? ''
        : `, partitions ${[...keys].sort().join(' and ')}${ofAttributes}`;
  return [Action]
    .flat()
    .flatMap((action) => [Resource].flat().map((each) => `${action} on ${shown(each)}${where}`));
}

/** `{"Fn::GetAtt": ["DataTable1234ABCD", "Arn"]}` → `DataTable`. The parts of a join are concatenated. */
function shown(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(shown).join('');
  if (typeof value !== 'object' || value === null) return String(value);
  const [[name, argument] = []] = Object.entries(value);
  if (name === 'Ref') return withoutHash(argument);
  if (name === 'Fn::GetAtt' && Array.isArray(argument) && ['Arn', 'Id'].includes(argument[1]))
    return withoutHash(argument[0]);
  if (name === 'Fn::Join' && Array.isArray(argument)) return shown(argument[1]);
  return JSON.stringify(value);
}

const withoutHash = (logicalId: unknown) => String(logicalId).replace(/[0-9A-F]{8}$/, '');
