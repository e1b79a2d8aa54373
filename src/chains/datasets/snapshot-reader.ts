import { setImmediate } from 'node:timers/promises'
import type { Chain } from '#chains/ecosystem/ecosystem.ts'
import { type AsOfSnapshot, finalSnapshot, statusAt } from '#chains/indexer/as-of-snapshot.ts'
import type { FileParts } from '#chains/indexer/indexed-config/file-part.ts'
import { type IndexStatus, readIndexStatus } from '#chains/indexer/status.ts'
import { isRefusal, type Refusal, refuse } from '#domain/refusal.ts'
import { FairSlots } from '#lib/mutex.ts'
import type { Effective } from '#route/parameter.ts'
import type { Connection, Engine } from '#store/engine.ts'
import type { AsOf, FindDeps } from './as-of/find-blocks.ts'
import type { ResolvedSnapshot } from './as-of/resolve-snapshot.ts'
import type { Page } from './meta.ts'
import { notReadYet } from './reindexing.ts'

/** SQLite reads one at a time; a pool has eight connections. */
const READING_MAX = 4

export interface ReadDeps extends FindDeps {
  readonly file: FileParts
}

export interface Query<Values> {
  readonly connection: Connection
  /** The status as if the index stood at the snapshot, if there is one. */
  readonly status: IndexStatus
  readonly parameters: Values
  /** Undefined for the newest figures. */
  readonly snapshot: AsOfSnapshot | undefined
  /** Names the blocks of an answer as of blocks; cursors are bound to them. */
  readonly boundTo: string | undefined
}

export interface DataResult {
  readonly data: unknown
  readonly totals?: unknown
  readonly page?: Page
  /** Overrides `meta.query` for parameters that only the query resolves. */
  readonly query?: Readonly<Record<string, Effective>>
}

/** Goes on after the transaction, statement by statement: facts before it do not change. */
export interface LongRead {
  readonly rest: (connection: Connection) => Promise<DataResult>
}

export interface Reader<Values> {
  datasets(parameters: Values): readonly string[]
  read(query: Query<Values>): Promise<DataResult | LongRead | Refusal>
}

export type PointInTime = AsOf | 'latest' | 'finalized'

export interface SnapshotRead<Result = DataResult> {
  /** The index's status; its `asOfUnix` is that of the figures. */
  readonly status: IndexStatus
  readonly result: Result
  /** Set for an answer as of blocks. */
  readonly resolved: ResolvedSnapshot | undefined
}

/** Reads the figures at a point in time. */
export class SnapshotReader<Values> {
  readonly #deps: ReadDeps
  readonly #reader: Reader<Values>
  readonly #reading = new FairSlots(READING_MAX)
  /** Reads of the past take longest; others wait for one of them at most. */
  readonly #past = new FairSlots(1)

  constructor(deps: ReadDeps, reader: Reader<Values>) {
    this.#deps = deps
    this.#reader = reader
  }

  /** `bucket` pays for requests to nodes from its budget, and waits for its turn. */
  async read(
    parameters: Values,
    point: PointInTime,
    bucket: string,
  ): Promise<SnapshotRead | Refusal> {
    if (typeof point === 'object') return this.#readAsOf(parameters, point, bucket)
    const at = point === 'latest' ? newest : finalized
    const read = await this.#reading.run(bucket, () => this.#readSnapshot(parameters, at))
    if (isRefusal(read)) return read
    const finish = () => this.#finish(read)
    return 'rest' in read.result ? this.#past.run(bucket, finish) : finish()
  }

  async #readAsOf(
    parameters: Values,
    point: AsOf,
    bucket: string,
  ): Promise<SnapshotRead | Refusal> {
    const [{ findBlocks }, { resolveSnapshot }] = await Promise.all([
      import('./as-of/find-blocks.ts'),
      import('./as-of/resolve-snapshot.ts'),
    ])
    const found = await findBlocks({ ...this.#deps, bucket }, point)
    if (isRefusal(found)) return found
    const datasets = this.#reader.datasets(parameters)
    const at = (connection: Connection, status: IndexStatus) =>
      resolveSnapshot(connection, { ...this.#deps, found, status, datasets })
    return this.#past.run(bucket, () => this.#readAt(parameters, at))
  }

  async #readAt(
    parameters: Values,
    at: (connection: Connection, status: IndexStatus) => Promise<At | Refusal>,
  ): Promise<SnapshotRead | Refusal> {
    const read = await this.#readSnapshot(parameters, at)
    if (isRefusal(read)) return read
    const finished = await this.#finish(read)
    if (!('rest' in read.result)) return finished
    // A block that is not final may have been replaced meanwhile.
    const still = await this.#deps.register.snapshot(async (connection) => {
      const status = await readIndexStatus(connection, this.#deps.ecosystem.chains)
      return status === undefined ? NOTHING_YET : at(connection, status)
    })
    return isRefusal(still) ? still : finished
  }

  async #finish({ result, ...read }: SnapshotRead<DataResult | LongRead>): Promise<SnapshotRead> {
    if (!('rest' in result)) return { ...read, result }
    return { ...read, result: await result.rest(statementwise(this.#deps.register)) }
  }

  #readSnapshot(
    parameters: Values,
    at: (connection: Connection, status: IndexStatus) => Promise<At | Refusal>,
  ): Promise<SnapshotRead<DataResult | LongRead> | Refusal> {
    const { register, ecosystem, file } = this.#deps
    return register.snapshot(async (connection) => {
      const status = await readIndexStatus(connection, ecosystem.chains, file)
      if (status === undefined) return NOTHING_YET
      const { chain } = parameters as { readonly chain?: Chain }
      const datasets = this.#reader.datasets(parameters)
      const missing = notReadYet(status, file, { datasets, chain })
      if (missing !== undefined) return missing
      const point = await at(connection, status)
      if (isRefusal(point)) return point
      const result = await this.#reader.read({ ...point, connection, parameters })
      if (isRefusal(result)) return result
      const { asOfUnix } = point.status
      const resolved = 'blocks' in point ? point : undefined
      return { status: { ...status, asOfUnix }, result, resolved }
    })
  }
}

type At = ResolvedSnapshot | Pick<Query<unknown>, 'status' | 'snapshot' | 'boundTo'>

async function newest(_: Connection, status: IndexStatus): Promise<At> {
  return { status, snapshot: undefined, boundTo: undefined }
}

/** Cursors are not bound to heights: an event that becomes final moves no listed one. */
async function finalized(connection: Connection, status: IndexStatus): Promise<At | Refusal> {
  const snapshot = await finalSnapshot(connection, status)
  if (snapshot === undefined) return NOTHING_YET
  return { status: statusAt(status, snapshot), snapshot, boundTo: 'finalized' }
}

/** Other requests go on between the statements: SQLite answers in the same turn. */
export function statementwise(register: Engine): Connection {
  const refused = () => Promise.reject(new Error('a long read does not write'))
  return {
    async run(statement) {
      await setImmediate()
      return register.read(statement)
    },
    insert: refused,
    call: refused,
  }
}

const NOTHING_YET = refuse(
  'data_not_ready',
  'The index has not read its first blocks yet; try again soon.',
  { retryAfterSeconds: 2 },
)
