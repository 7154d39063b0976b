import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import {
  type ApiClient,
  type Asking,
  accessOf,
  type BodyOf,
  type PageId,
  type ParamsOf,
  type RouteId,
} from './api-client.ts';
import type { ColumnOf } from './columns.ts';
import type { CliContext } from './context.ts';
import { UsageError } from './errors.ts';
import type { LfsAddress } from './git/git.ts';
import type { Examples } from './help.ts';
import type { LfsRepo, OwnRepo } from './lfs-batch.ts';
import { type ListOptions, printList, withListOptions } from './list-pages.ts';
import type { relay } from './move/relay.ts';
import type { OldNames } from './old-names.ts';
import { managerToken, parseRepo, parseTenant, withServiceOptions } from './options.ts';
import { cloneAddress, loginTenant, openClient, requireServerOf } from './server.ts';
import { type View, viewOf } from './terminal.ts';

/** Commands as rows: their words, what they are given, and what of it goes to which route. */

/** Adds a command, or a group of them, to what has it. */
export type Register = (parent: Command, context: CliContext) => void;

/** By their place: JavaScript lists numbers in their order. */
export type Rows = Readonly<Record<number, Register>>;

export type RepoBody = BodyOf<'getRepo'>;

/** A column of tables of repos, and a text below `repo show`. */
export interface RepoPart {
  /** The column is there if one of the repos has something. */
  readonly isOf: (body: RepoBody) => boolean;
  readonly column: ColumnOf<RepoBody>;
  readonly about?: (body: RepoBody) => string;
}

/** What the command line has of a subject. */
export interface CliSubject {
  /** By their place in the help of all: hundreds are its headings. */
  readonly commands?: Rows;
  /** Of `files`, `repo` and `tenant`, by their place there. One at the place of another replaces it. */
  readonly files?: Rows;
  readonly repo?: Rows;
  readonly tenant?: Rows;
  /** Of its commands. */
  readonly examples: Examples;
  /** What to do about its problems. */
  readonly hints?: Readonly<Record<string, string>>;
  /** Of its commands. */
  readonly oldNames?: OldNames;
  /** `login LINK`. */
  readonly invited?: {
    readonly isLink: (text: string) => boolean;
    readonly logIn: (
      link: string,
      options: { readonly user?: string; readonly git: boolean },
      context: CliContext,
    ) => Promise<void>;
  };
  /** What `check` finds of a server's health, a table for a person. @throws {CliError} if something needs attention. */
  readonly health?: (client: ApiClient, shown: { context: CliContext; isJson: boolean }) => Promise<void>;
  /** A token for `login`, unless one is pasted. undefined: the server has no such way. */
  readonly logIn?: (baseUrl: string, context: CliContext) => Promise<string | undefined>;
  /** What `connect` changes in a clone. */
  readonly connect?: (clone: string, context: CliContext) => Promise<void>;
  readonly repoParts?: readonly RepoPart[];
  /** What was offered for download in this month. */
  readonly offered?: (
    client: ApiClient,
    tenant: string,
  ) => Promise<{ readonly bytes: number; readonly limitBytes: number | null }>;
  /** Copies of `import` that the server makes itself. */
  readonly byService?: (servers: { readonly from: LfsRepo; readonly to: OwnRepo }) => typeof relay;
}

/** Rows of a group in their order. @param more of subjects. */
export const rowsOf = (rows: Rows, more: readonly (Rows | undefined)[]): readonly Register[] =>
  Object.values<Register>(Object.assign({}, rows, ...more));

export const group =
  (name: string, description: string, rows: readonly Register[]): Register =>
  (parent, context) => {
    const made = parent.command(name).description(description);
    for (const register of rows) register(made, context);
  };

interface Operand<T = string> {
  /** `<tenant>`, as the help shows it. */
  readonly name: string;
  readonly description: string;
  /** @param before what an earlier one of several gave. */
  parse?(text: string, before: T | undefined): T;
  readonly choices?: readonly string[];
}

interface GivenOption<T> {
  readonly option: Option;
  /** For the compiler alone. */
  readonly value?: T;
}

type Operands = Readonly<Record<string, Operand<unknown>>>;
type Options = Readonly<Record<string, GivenOption<unknown>>>;

type Parse<T> = (text: string, before: T | undefined) => T;

export function operand(name: string, description: string): Operand;
export function operand<T>(name: string, description: string, parse: Parse<T>): Operand<T>;
export function operand<T>(name: string, description: string, parse?: Parse<T>): Operand<T> {
  return { name, description, ...(parse && { parse }) };
}

export const choiceOperand = <T extends string>(
  name: string,
  description: string,
  choices: readonly T[],
): Operand<T> => ({ name, description, choices });

export const tenantOperand = operand('<tenant>', 'name of the tenant', parseTenant);
export const tenantNameOperand = operand('<name>', 'name of the tenant', parseTenant);
const repoOperand = operand('<repo>', 'name of the repo', parseRepo);

/** @param change what commander is to know of it besides. */
export function option(flags: string, description: string): GivenOption<string | undefined>;
export function option<T>(
  flags: string,
  description: string,
  parse: Parse<T>,
  change?: (option: Option) => Option,
): GivenOption<T | undefined>;
export function option<T>(
  flags: string,
  description: string,
  parse?: Parse<T>,
  change: (option: Option) => Option = (same) => same,
): GivenOption<T | undefined> {
  const made = new Option(flags, description);
  return { option: change(parse ? made.argParser(parse) : made) };
}

/** One that takes no value. */
export const flag = (flags: string, description: string): GivenOption<boolean | undefined> => ({
  option: new Option(flags, description),
});

export const choice = <const T extends string>(
  flags: string,
  description: string,
  choices: readonly T[],
): GivenOption<T | undefined> => ({ option: new Option(flags, description).choices(choices) });

/** One of commander's that always has a value. */
export const given = <T>(made: Option): GivenOption<T> => ({ option: made });

/** One that must be given. */
export function required<T>({ option: made }: GivenOption<T | undefined>): GivenOption<T> {
  return { option: made.makeOptionMandatory() };
}

/** A tenant's repo. */
export const ofRepo = { tenant: tenantOperand, repo: repoOperand };

type ValuesOf<O extends Operands> = { readonly [K in keyof O]: O[K] extends Operand<infer T> ? T : never };
/** Of commands that register themselves, too. */
export type OptionsOf<P extends Options> = {
  readonly [K in keyof P]: P[K] extends GivenOption<infer T> ? T : never;
};

interface Given<O extends Operands, P extends Options> {
  readonly operands: ValuesOf<O>;
  readonly options: OptionsOf<P> & ListOptions;
  readonly context: CliContext;
}

/** What the help says of a command. */
interface Row<O extends Operands, P extends Options> {
  readonly name: string;
  readonly description: string;
  /** In their order. Those of the route's path have the names that they have there. */
  readonly operands?: O;
  /** Its tenant and repo are never those of the clone: it can't be undone. */
  readonly isExplicit?: true;
  /** No help has it. */
  readonly isHidden?: true;
  readonly options?: P;
  /** Adds the options that alike commands share. */
  readonly base?: (command: Command) => Command;
  /** The token that it needs, for a person. Default: what its route says. undefined: it depends on what is asked. */
  readonly wanted?: string | undefined;
}

interface Action<O extends Operands, P extends Options> extends Row<O, P> {
  readonly run: (client: ApiClient, given: Given<O, P>) => Promise<void>;
}

interface RouteCommand<Id extends RouteId, O extends Operands, P extends Options> extends Row<O, P> {
  readonly route: Id;
  /** Before it is asked, such as a question to the person. */
  readonly before?: (client: ApiClient, given: Given<O, P>) => Promise<void>;
  readonly query?: (given: Given<O, P>) => Asking<Id>['query'];
  readonly body?: (given: Given<O, P>) => Asking<Id>['body'];
  /** The answer for a person, newline at its end. With `--json` it is printed as it came. */
  readonly print: (body: BodyOf<Id>, given: Given<O, P> & { readonly view: View }) => string;
  /** After that, for a person or with `--json`. */
  readonly after?: (client: ApiClient, given: Given<O, P> & { readonly body: BodyOf<Id> }) => Promise<void>;
}

type HasParams<Id extends RouteId> = Readonly<Record<ParamsOf<Id>, Operand>>;

/** A command that asks the API in its own way. */
export function actionCommand<
  O extends Operands = Record<never, never>,
  P extends Options = Record<never, never>,
>(row: Action<O, P>): Register {
  const { name, base = withApiOptions, isHidden = false, wanted, run } = row;
  return (parent, context) => {
    const command = add(base(parent.command(name, { hidden: isHidden })), row);
    command.action(async (...args: unknown[]) => {
      const { options, operands, clone } = await givenOf(row, { command, args, context });
      const client = await openClient(options, context, wanted);
      if (clone) requireServerOf(clone, client);
      await run(client, { options, operands, context });
    });
  };
}

/** A command that is one request. */
export function routeCommand<
  Id extends RouteId,
  O extends Operands & HasParams<Id>,
  P extends Options = Record<never, never>,
>(row: RouteCommand<Id, O, P>): Register {
  const { route, before, query, body, print, after } = row;
  const run = async (client: ApiClient, given: Given<O, P>) => {
    const { context, operands, options } = given;
    await before?.(client, given);
    const asking = { params: operands, query: query?.(given), body: body?.(given) };
    const answer = await client.ask(route, asking as Asking<Id>);
    if (!options.json) context.out(print(answer.body, { ...given, view: viewOf(context) }));
    // What is answered without a body is told by what was asked.
    else context.out(answer.text === '' ? `${JSON.stringify(operands)}\n` : `${answer.text}\n`);
    await after?.(client, { ...given, body: answer.body });
  };
  return actionCommand({ ...row, wanted: wantedOf(row), run });
}

const wantedOf = ({ route, wanted }: { readonly route: RouteId; readonly wanted?: string | undefined }) =>
  wanted ?? (['manager', 'auditor'].includes(accessOf(route)) ? managerToken : undefined);

interface ListCommand<
  Id extends PageId,
  Key extends keyof BodyOf<Id> & string,
  O extends Operands,
  P extends Options,
> extends Row<O, P> {
  readonly route: Id;
  /** The field of a page that has its items. */
  readonly items: Key;
  readonly query?: (given: Given<O, P>) => Asking<Id>['query'];
  /** What is printed of no items. */
  readonly none: string | ((given: Given<O, P>) => string);
  readonly print: (items: BodyOf<Id>[Key], view: View) => string;
  /** Of a page, unless somebody says so. */
  readonly pageSize?: number;
}

/** A command that shows all pages of a list. */
export function listCommand<
  Id extends PageId,
  Key extends keyof BodyOf<Id> & string,
  O extends Operands & HasParams<Id>,
  P extends Options = Record<never, never>,
>(row: ListCommand<Id, Key, O, P>): Register {
  const { route, items, query, none, print, pageSize } = row;
  const run = (client: ApiClient, given: Given<O, P>) => {
    const { context, operands, options } = given;
    return printList(context, client, {
      route,
      params: operands as Readonly<Record<ParamsOf<Id>, string>>,
      query: query?.(given),
      items,
      options: { ...(pageSize !== undefined && { pageSize }), ...options },
      render: (pages: readonly BodyOf<Id>[]) => {
        const all = pages.flatMap((page) => page[items] as readonly unknown[]);
        if (all.length === 0) return typeof none === 'string' ? none : none(given);
        return print(all as BodyOf<Id>[Key], viewOf(context));
      },
    });
  };
  return actionCommand({ ...row, wanted: wantedOf(row), base: withListOptions, run });
}

function add(command: Command, row: Row<Operands, Options>): Command {
  const { description, operands = {}, options = {} } = row;
  command.description(description);
  const leaves = cloneOperands(row);
  for (const [key, { name, description: what, parse, choices }] of Object.entries(operands)) {
    // A place that can be left out moves the others: what they hold is known, and checked, once all are there.
    const argument = new Argument(leaves.length > 0 ? name.replace(/^<(.*)>$/, '[$1]') : name, what);
    if (leaves.includes(key)) argument.description += '; default: of the clone';
    if (choices) argument.choices([...choices]);
    else if (parse) argument.argParser(parse);
    if (leaves.length > 0) delete argument.parseArg;
    command.addArgument(argument);
  }
  if (leaves.length > 0) {
    const shown = Object.entries(operands).map(([key, { name }]) =>
      leaves.includes(key) ? name.replace(/^<(.*)>$/, '[$1]') : name,
    );
    command.usage(['[options]', ...shown].join(' ')).allowExcessArguments();
  }
  for (const { option: made } of Object.values(options)) command.addOption(made);
  return command;
}

/** The operands that a clone can stand for: the tenant, or the tenant and the repo behind it. */
function cloneOperands({ operands = {}, isExplicit }: Row<Operands, Options>): string[] {
  if (isExplicit || operands['tenant'] !== tenantOperand) return [];
  return operands['repo'] === repoOperand ? ['tenant', 'repo'] : ['tenant'];
}

interface Called {
  readonly command: Command;
  /** What commander passes to an action: operands, options, the command. */
  readonly args: readonly unknown[];
  readonly context: CliContext;
}

/** @returns clone: where the clone keeps its objects, if tenant or repo are its. @throws {UsageError} */
async function givenOf<O extends Operands, P extends Options>(
  row: Row<O, P>,
  { command, args, context }: Called,
): Promise<Omit<Given<O, P>, 'context'> & { clone: LfsAddress | undefined }> {
  const operands: Operands = row.operands ?? {};
  const names = Object.keys(operands);
  const options = args[names.length] as OptionsOf<P> & ListOptions;
  const leaves = cloneOperands(row);
  const asValues = (values: readonly unknown[]) =>
    Object.fromEntries(names.map((name, index) => [name, values[index]])) as ValuesOf<O>;
  if (leaves.length === 0) return { operands: asValues(args), options, clone: undefined };
  const given = command.args;
  const missing = names.length - given.length;
  if (missing < 0) throw tooMany(command, given);
  const clone = missing > 0 && missing <= leaves.length ? await cloneAddress(context) : undefined;
  const tenant = clone?.tenant ?? (missing === 1 ? loginTenant(options, context) : undefined);
  // The tenant itself may be what was given, without a repo.
  const isMissing = tenant === undefined || (!clone && given[0] === tenant);
  if (missing > 0 && isMissing) throw tooFew(names[given.length] ?? '', command);
  const texts = [tenant ?? '', clone?.repo ?? ''].slice(0, missing);
  const values = [...texts, ...given].map((text, index) =>
    parsed(command, operands[names[index] ?? ''], text),
  );
  return { operands: asValues(values), options, clone };
}

function parsed(command: Command, operand: Operand<unknown> | undefined, text: string): unknown {
  const { name = '', parse, choices } = operand ?? {};
  try {
    if (choices && !choices.includes(text))
      throw new InvalidArgumentError(`Allowed choices are ${choices.join(', ')}.`);
    return parse ? parse(text, undefined) : text;
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    const argument = name.replaceAll(/[<>[\]]/g, '');
    return command.error(
      `error: command-argument value '${text}' is invalid for argument '${argument}'. ${error.message}`,
      { exitCode: error.exitCode, code: error.code },
    );
  }
}

const wordsOf = (command: Command): string =>
  command.parent ? `${wordsOf(command.parent)} ${command.name()}`.trim() : 'lfs-quota';

/** A repo goes behind `--repo` where it only narrows what's shown. */
function tooMany(command: Command, given: readonly string[]): UsageError {
  const [tenant = '', repo = ''] = given;
  const takesRepo = command.options.some(({ long }) => long === '--repo');
  if (takesRepo && given.length === 2)
    return new UsageError(`Pass the repo as an option: ${wordsOf(command)} ${tenant} --repo ${repo}`);
  return new UsageError(`Too many arguments: ${given.join(' ')}\nSee: ${wordsOf(command)} --help`);
}

function tooFew(name: string, command: Command): UsageError {
  return new UsageError(
    `Missing argument: ${name.toUpperCase()}. In a connected clone, you can leave out TENANT and REPO.\nSee: ${wordsOf(command)} --help`,
  );
}

function withApiOptions(command: Command): Command {
  return withServiceOptions(command).option('--json', "print the API's response as JSON");
}
