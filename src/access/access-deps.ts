import type { Address } from '#domain/address.ts'
import type { Caller, Tier } from '#domain/caller.ts'
import type { MicroUsd } from '#domain/money.ts'
import type { RequestFacts } from '#http/route.ts'
import type { Clock } from '#lib/time.ts'
import type { Engine } from '#store/engine.ts'
import type { Callers } from './callers/callers.ts'
import type { Meter } from './meter/admission.ts'

/** What a wallet holds of the tokens that the gate counts. */
export type Holdings =
  | {
      readonly kind: 'ready'
      readonly heldUsd: MicroUsd
      /** Per token, as the refusal below the gate shows it. */
      readonly tokens: readonly Readonly<Record<string, unknown>>[]
    }
  | { readonly kind: 'unavailable'; readonly message: string }

/** Who may mint a key: a wallet above a minimum holding, any wallet (`open`), or no one (null). */
export type MintGate =
  | {
      /** Inclusive. */
      readonly minimum: MicroUsd
      /** From our own index; causes no RPC call. */
      readonly holdings: (wallet: Address) => Promise<Holdings>
    }
  | 'open'
  | null

/** What the routes of keys and usage need. */
export interface AccessDeps {
  /** The accounts store, migrated with `ledgerMigrations` and `accessMigrations`. */
  readonly engine: Engine
  readonly clock: Clock
  /** Cryptographically strong. */
  readonly randomBytes: (size: number) => Buffer
  /** The title of signed messages begins with it. */
  readonly serviceName: string
  readonly keyPrefix: string
  readonly quotas: Readonly<Record<Tier, number>>
  readonly gate: MintGate
  /** The payment chain's id, as payer proofs name it; null without payments. */
  readonly paymentChainId: number | null
  readonly meter: Meter
  readonly callers: Callers
  /** Who has the balance that a wallet's sign-in opens; undefined without one that is taken. */
  readonly signedIn?: (
    facts: Pick<RequestFacts, 'headers' | 'addressBucket'>,
  ) => Promise<Caller | undefined>
}
