import type { Logger } from 'pino'
import { Registry } from 'prom-client'
import type { Clock } from '#base/time.ts'
import type { Config } from '#config.ts'
import type { Engine } from '#db/engine.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'

/** What a process works with; built once, and the first argument of what needs any of it. */
export interface Context {
  readonly config: Config
  readonly ecosystem: Ecosystem
  /** Can be rebuilt from the chains. */
  readonly register: Engine
  /** Never lost. */
  readonly accounts: Engine
  /** The accounts, by connections that only calls wait for. */
  readonly admissions: Engine
  readonly clock: Clock
  readonly logger: Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>
}

/** What `make` returns, made once for each context: a cache, a limiter, the meter. */
export function oncePerContext<T>(make: (ctx: Context) => T): (ctx: Context) => T {
  const made = new WeakMap<Context, { readonly value: T }>()
  return (ctx) => {
    const known = made.get(ctx)
    if (known !== undefined) return known.value
    const value = make(ctx)
    made.set(ctx, { value })
    return value
  }
}

/** The metrics of this process. */
export const getRegistry = oncePerContext(() => new Registry())

/** Logs what went wrong with nobody waiting for it. */
export function reportError({ logger }: Pick<Context, 'logger'>, err: unknown): void {
  logger.error({ err }, 'error in the background')
}
