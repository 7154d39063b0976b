import { AwsServiceError } from '../../lambda/core/rules/errors.ts';
import type { TableClient } from '../../lambda/core/table/table.ts';
import { Random } from '../support/random.ts';
import { type Code, code } from './code.ts';

/** The table as a version sees it, which knows its own class of errors alone. */
export function tableFor({ AwsServiceError: OwnError }: Code, client: TableClient): TableClient {
  if (OwnError === AwsServiceError) return client;
  return {
    send: async (operation, input) => {
      try {
        return await client.send(operation, input);
      } catch (error) {
        if (!(error instanceof AwsServiceError)) throw error;
        const { message, code, status } = error;
        throw new OwnError({ message, code, ...(status !== undefined && { status }) });
      }
    },
  };
}

/** Where functions run. It remembers what they listed. */
interface Process {
  readonly code: Code;
  readonly knownObjects: InstanceType<Code['KnownObjects']>;
}

const processesPerVersion = 3;

/** The processes of this version, and of another one if there is one: then each function is of one of them, by chance. */
export class Processes {
  /** Its own random source, so that it does not change other choices. */
  readonly #random: Random;
  readonly #versions: readonly (readonly Process[])[];
  #invocations = 0;

  constructor(seed: number, other?: Code) {
    this.#random = new Random(seed ^ 0x7_e2);
    this.#versions = [code, ...(other ? [other] : [])].map((its) =>
      Array.from({ length: processesPerVersion }, () => ({
        code: its,
        knownObjects: new its.KnownObjects(),
      })),
    );
  }

  /** They take turns. */
  next(): Process {
    this.#invocations += 1;
    const version = this.#versions.length > 1 ? this.#random.int(0, 1) : 0;
    const found = this.#versions[version]?.[this.#invocations % processesPerVersion];
    if (found === undefined) throw new Error('There is no process.');
    return found;
  }
}
