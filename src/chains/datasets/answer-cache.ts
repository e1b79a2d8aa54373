import { LRUCache } from 'lru-cache'
import type { FileParts } from '#chains/indexer/indexed-config/file-part.ts'
import { conditionOf, type IndexStatus, readIndexStatus } from '#chains/indexer/status.ts'
import { type Context, oncePerContext } from '#context.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { unixNow } from '#lib/time.ts'
import type { Answer } from '#route/route.ts'
import type { Connection } from '#store/engine.ts'
import { filePartsOf } from './file-parts.ts'

type Outcome = Answer | Refusal

/** Together with the state, identifies an answer. */
export interface Question {
  readonly operationId: string
  readonly parameters: string
  readonly representation: 'json' | 'csv' | 'text'
}

/** How far the register is in one snapshot. */
export interface RegisterState {
  readonly status: IndexStatus
  readonly nowUnix: number
  /** Changes whenever an answer's body may, except for elapsed seconds. */
  readonly revision: string
}

type Read = (state: RegisterState, connection: Connection) => Promise<Outcome>

interface SharedState {
  readonly askedMs: number
  readonly state: Promise<RegisterState | undefined>
  /** Once it is read. */
  revision: string | undefined
}

interface Kept {
  /** The state that it shows. */
  shown: string
  readonly outcome: Promise<Outcome>
}

/** The maximum age of answers, 304s and readiness reports. */
export const AGE_MAX_MS = 100

/** A series of ten years takes up to 1 MB, most answers a few KB. */
const BYTES_MAX = 64_000_000

/** Overhead per entry. */
const ENTRY_BYTES = 1_000

/** The answers of this process. PostgreSQL tells of new blocks. */
export const answersOf = oncePerContext((ctx) => {
  const answers = new AnswerCache(ctx)
  ctx.register.listen?.('sexton_blocks', () => answers.forgetState())
  return answers
})

export class AnswerCache {
  readonly #ctx: Context
  readonly #file: FileParts
  readonly #answers = new LRUCache<string, Kept>({ maxSize: BYTES_MAX })
  #shared: SharedState | undefined

  constructor(ctx: Context) {
    this.#ctx = ctx
    this.#file = filePartsOf(ctx.ecosystem)
  }

  /** At most `AGE_MAX_MS` old, and never older than an answer given; undefined before the first blocks. */
  state(): Promise<RegisterState | undefined> {
    return this.#recent()?.state ?? this.#open(async (state) => state)
  }

  /** The register has changed. */
  forgetState(): void {
    this.#shared = undefined
  }

  /** The answer to a question; `read` makes it if there is none of the present state. */
  async answer(question: Question, read: Read): Promise<Outcome> {
    const { operationId, parameters, representation } = question
    const key = `${operationId} ${representation} ${parameters}`
    const shared = this.#recent()
    if (shared === undefined) return this.#answerFirst(key, read)
    const state = await shared.state
    if (state === undefined) return NOTHING_YET
    return (
      this.#find(key, state) ??
      this.#keep(key, state, (kept) =>
        this.#open(async (own, connection) => {
          if (own === undefined) return NOTHING_YET
          kept.shown = shownBy(own)
          return read(own, connection)
        }),
      )
    )
  }

  /** Nobody knows the state: the snapshot that tells it also answers. */
  async #answerFirst(key: string, read: Read): Promise<Outcome> {
    const { outcome } = await this.#open(async (state, connection) => {
      if (state === undefined) return { outcome: NOTHING_YET }
      const known = this.#find(key, state)
      // It may wait for this snapshot to end.
      if (known !== undefined) return { outcome: known }
      return { outcome: await this.#keep(key, state, () => read(state, connection)) }
    })
    return outcome
  }

  #recent(): SharedState | undefined {
    if (this.#shared === undefined) return undefined
    // A clock set back must not extend the age.
    const ageMs = Math.abs(this.#ctx.clock() - this.#shared.askedMs)
    return ageMs <= AGE_MAX_MS ? this.#shared : undefined
  }

  /** Opens a snapshot and reads its state, for `work` and for whoever waits for one. */
  #open<T>(
    work: (state: RegisterState | undefined, connection: Connection) => Promise<T>,
  ): Promise<T> {
    const { promise: state, resolve, reject } = Promise.withResolvers<RegisterState | undefined>()
    const own: SharedState = { askedMs: this.#ctx.clock(), state, revision: undefined }
    if (this.#recent() === undefined) this.#shared = own
    const done = this.#ctx.register.snapshot(async (connection) => {
      const read = await this.#read(connection)
      own.revision = read?.revision
      // No later call may see an older state than this one.
      if (this.#shared?.revision !== own.revision) this.forgetState()
      resolve(read)
      return work(read, connection)
    })
    done.catch((error: unknown) => {
      reject(error)
      if (this.#shared === own) this.forgetState()
    })
    state.catch(() => undefined)
    return done
  }

  async #read(connection: Connection): Promise<RegisterState | undefined> {
    const status = await readIndexStatus(connection, this.#ctx.ecosystem.chains, this.#file)
    if (status === undefined) return undefined
    const nowUnix = unixNow(this.#ctx.clock)
    const conditions = status.chains.map((each) => conditionOf(each, nowUnix)[1])
    return { status, nowUnix, revision: [status.revision, ...conditions].join('-') }
  }

  #find(key: string, state: RegisterState): Promise<Outcome> | undefined {
    const known = this.#answers.get(key)
    return known?.shown === shownBy(state) ? known.outcome : undefined
  }

  #keep(
    key: string,
    state: RegisterState,
    make: (kept: { shown: string }) => Promise<Outcome>,
  ): Promise<Outcome> {
    const shown = { shown: shownBy(state) }
    const kept: Kept = Object.assign(shown, { outcome: make(shown) })
    this.#answers.set(key, kept, { size: ENTRY_BYTES })
    const isKept = () => this.#answers.peek(key) === kept
    kept.outcome.then(
      (outcome) => {
        if (!isKept()) return
        if (outcome.kind !== 'answer') this.#answers.delete(key)
        // A new object, or the cache would not update its size.
        else this.#answers.set(key, { ...kept }, { size: ENTRY_BYTES + bytesOf(outcome) })
      },
      () => {
        if (isKept()) this.#answers.delete(key)
      },
    )
    return kept.outcome
  }
}

/** The second counts, since `meta.lagSeconds` advances while the index stands still. */
function shownBy({ revision, nowUnix }: RegisterState): string {
  return `${revision} ${nowUnix}`
}

function bytesOf({ body }: Answer): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : 0
}

const NOTHING_YET = refuse(
  'data_not_ready',
  'The index has not read its first blocks yet; try again soon.',
  { retryAfterSeconds: 2 },
)
