import type { Refusal } from '#domain/refusal.ts'

/** Bounds what the failures of one address cost us. */
export interface FailureGuard {
  /** Set while the address has failed too often of late. */
  refusal(addressBucket: string): Refusal | undefined
  failed(addressBucket: string): void
}

/** Checks a signature, which takes milliseconds, unless that is refused. */
export type Recover = (isSigned: () => boolean) => boolean | Refusal

/** For one address; a right signature costs it nothing, so who pays is not refused after signing. */
export function recoverWithin(guard: FailureGuard, addressBucket: string): Recover {
  return (isSigned) => {
    const limited = guard.refusal(addressBucket)
    if (limited !== undefined) return limited
    const isRight = isSigned()
    if (!isRight) guard.failed(addressBucket)
    return isRight
  }
}
