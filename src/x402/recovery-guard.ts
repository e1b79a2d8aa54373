import type { Refusal } from '#domain/refusal.ts'

/** Limits the work that one address's failures cause. */
export interface FailureGuard {
  /** Set while the address has too many recent failures. */
  refusal(addressBucket: string): Refusal | undefined
  failed(addressBucket: string): void
}

/** Checks a signature, which takes milliseconds, unless the address is over its limit. */
export type Recover = (isSigned: () => boolean) => boolean | Refusal

/** For one address. Valid signatures do not count, so a payer is not refused after signing. */
export function recoverWithin(guard: FailureGuard, addressBucket: string): Recover {
  return (isSigned) => {
    const limited = guard.refusal(addressBucket)
    if (limited !== undefined) return limited
    const isRight = isSigned()
    if (!isRight) guard.failed(addressBucket)
    return isRight
  }
}
