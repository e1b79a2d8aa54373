import type { FailureGuard } from '#domain/refusal.ts'
import { type CallGuard, createFailureGuard, createGuard, type GuardLimits } from './abuse-guard.ts'
import { type Callers, type CallersDeps, createCallers } from './callers.ts'
import {
  type AddressBucket,
  type AddressBucketDeps,
  createAddressBucket,
} from './client-address.ts'
import type { Meter } from './meter/admission.ts'

export interface CreateMeteringDeps extends CallersDeps, AddressBucketDeps {
  readonly meter: Meter
  readonly guardLimits: GuardLimits
}

export interface Metering {
  readonly callers: Callers
  readonly meter: Meter
  readonly identify: Callers['identify']
  readonly anonymous: Callers['anonymous']
  readonly addressBucket: AddressBucket
  readonly guard: CallGuard
  /** Limits signatures that do not match their wallet. */
  readonly recoveries: FailureGuard
  /** Limits payments that match an offer but cannot be settled. */
  readonly settlements: FailureGuard
  /** Another process changed the key with this digest, or any. */
  keyChanged(digest: string | undefined): void
}

export function createMetering(deps: CreateMeteringDeps): Metering {
  const callers = createCallers(deps)
  return {
    callers,
    meter: deps.meter,
    identify: callers.identify,
    anonymous: callers.anonymous,
    addressBucket: createAddressBucket(deps),
    guard: createGuard({ clock: deps.clock, limits: deps.guardLimits }),
    recoveries: createFailureGuard({
      clock: deps.clock,
      limit: deps.guardLimits.mint,
      message: 'too many wrong signatures from this address; send this again later',
    }),
    settlements: createFailureGuard({
      clock: deps.clock,
      limit: deps.guardLimits.claim,
      message: 'too many payments from this address could not be settled; send this again later',
    }),
    keyChanged: (digest) => (digest === undefined ? callers.forgetAll() : callers.forget(digest)),
  }
}
