import type { SigningKeys } from '#lib/signing-keys.ts'
import { type Clock, unixNow } from '#lib/time.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { type PostDeps, type PostOutcome, postEvent } from './post-event.ts'
import { signEvent } from './sign-event.ts'

export interface SendDeps extends PostDeps {
  readonly accounts: Engine
  readonly register: Engine
  readonly clock: Clock
  readonly keys: Pick<SigningKeys, 'sign'>
  /** Aborts what is being sent. */
  readonly signal: AbortSignal
  /** A transaction of the only deliverer. */
  write<T>(work: (connection: Connection) => Promise<T>): Promise<T>
}

/** Signed for this attempt. */
export function send(
  deps: SendDeps,
  input: {
    readonly url: string
    readonly id: string
    readonly payload: string
    readonly readsBody: boolean
  },
): Promise<PostOutcome> {
  const { keys, clock, signal } = deps
  const headers = signEvent(keys, { ...input, unix: unixNow(clock) })
  return postEvent(deps, { ...input, headers, signal })
}
