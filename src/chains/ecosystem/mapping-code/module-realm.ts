import { type Context, constants, createContext, Script } from 'node:vm'
import { ROWS_MAX } from '#domain/chain.ts'
import { isObject } from '#lib/json.ts'
import type { EventArguments } from '../event-arguments.ts'
import { BARE_REALM, RUNNER } from './bare-realm.ts'
import type { CodeModule } from './read-module.ts'

/** A decoded log as the module sees it. */
export interface RealmLog {
  readonly args: EventArguments
  readonly blockNumber: number
  readonly timestamp: number
  readonly blockHash: string
  readonly txHash: string
  readonly address: string
  readonly logIndex: number
  /** The logs of the same transaction that the mapping asks for. */
  readonly logs?: readonly NamedLog[]
}

interface NamedLog extends Omit<RealmLog, 'logs'> {
  /** Names of the event and of its arguments. */
  readonly name: string
  readonly names: readonly string[]
}

/** What went wrong, or the rows with the values of the members. */
export type Outcome = string | readonly (readonly (bigint | string | undefined)[])[]

/**
 * The module took too long, or needed too much stack. Whether it does so again depends on the
 * machine, so the log may be neither counted nor skipped.
 */
export class CodeStallError extends Error {
  override readonly name = 'CodeStallError'
}

/** A thousand logs take some milliseconds; a function that has not ended by then hardly ever will. */
const RUN_MS_MAX = 1_000

interface RowSpec {
  readonly names: readonly string[]
  readonly members: readonly string[]
}

/** Runs a module in a context without I/O, clock or randomness. It guards against mistakes, not strangers. */
export class ModuleRealm {
  readonly #module: CodeModule
  readonly #spec: RowSpec
  readonly #box: { logs: readonly RealmLog[]; outcomes: Outcome[] } = { logs: [], outcomes: [] }
  #context: Context | undefined

  /** `names`: the arguments of the event. `members`: what its rows have. */
  constructor(module: CodeModule, spec: RowSpec) {
    this.#module = module
    this.#spec = spec
  }

  /**
   * Returns outcomes in the order of the logs: at least one, and fewer than all if the time is up.
   * Throws CodeStallError.
   */
  run(logs: readonly RealmLog[]): readonly Outcome[] {
    this.#context ??= this.#open()
    const outcomes: Outcome[] = []
    this.#box.logs = logs
    this.#box.outcomes = outcomes
    try {
      RUN.runInContext(this.#context, { timeout: RUN_MS_MAX })
    } catch (error) {
      this.#context = undefined
      const log = logs[outcomes.length]
      if (outcomes.length === 0)
        throw new CodeStallError(
          `${this.#module.file}: ${reasonOf(error)} at log ${log?.logIndex} of ${log?.txHash} in block ${log?.blockNumber}`,
        )
    }
    return outcomes
  }

  #open(): Context {
    const { source, functions, file } = this.#module
    const context = createContext(constants.DONT_CONTEXTIFY, {
      codeGeneration: { strings: false, wasm: false },
      microtaskMode: 'afterEvaluate',
    })
    new Script(BARE_REALM).runInContext(context)
    const wrapped = `(function () { 'use strict';${source}\nreturn { ${functions.join(', ')} } })`
    const make = new Script(wrapped, { filename: file }).runInContext(context)
    const run = new Script(RUNNER).runInContext(context)
    Object.defineProperty(context, 'runMapping', {
      value: run(this.#box, { make, file, rowsMax: ROWS_MAX, ...this.#spec }),
    })
    return Object.freeze(context)
  }
}

const RUN = new Script('runMapping()')

function reasonOf(error: unknown): string {
  const isTimeout = isObject(error) && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
  return isTimeout ? `took more than ${RUN_MS_MAX} ms` : String(error)
}
