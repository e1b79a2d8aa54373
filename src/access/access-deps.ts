import type { Address } from '#domain/address.ts'
import type { Caller, Tier } from '#domain/caller.ts'
import type { MicroUsd } from '#domain/money.ts'
import type { RequestFacts } from '#http/route.ts'
import type { Clock } from '#lib/time.ts'
import type { Engine } from '#store/engine.ts'
import type { Callers } from './callers/callers.ts'
import type { Meter } from './meter/admission.ts'

export type Holdings =
  | {
      readonly kind: 'ready'
      readonly heldUsd: MicroUsd
      /** Per token, as shown in the refusal. */
      readonly tokens: readonly Readonly<Record<string, unknown>>[]
    }
  | { readonly kind: 'unavailable'; readonly message: string }

/** Who may mint: wallets above a minimum, any (`open`), or none (null). */
export type MintGate =
  | {
      /** Inclusive. */
      readonly minimum: MicroUsd
      /** From our own index; causes no RPC call. */
      readonly holdings: (wallet: Address) => Promise<Holdings>
    }
  | 'open'
  | null

export interface AccessDeps {
  /** The accounts store, migrated with `ledgerMigrations` and `accessMigrations`. */
  readonly engine: Engine
  readonly clock: Clock
  /** Cryptographically strong. */
  readonly randomBytes: (size: number) => Buffer
  /** Starts the title of signed messages. */
  readonly serviceName: string
  readonly keyPrefix: string
  readonly quotas: Readonly<Record<Tier, number>>
  readonly gate: MintGate
  /** Chain id in payer proofs; null without payments. */
  readonly paymentChainId: number | null
  readonly meter: Meter
  readonly callers: Callers
  /** The signed-in caller; undefined without a valid sign-in. */
  readonly signedIn?: (
    facts: Pick<RequestFacts, 'headers' | 'addressBucket'>,
  ) => Promise<Caller | undefined>
}
