import type { FailureGuard, Refusal } from '#domain/refusal.ts'

/** Recovery takes milliseconds; refused over the limit. */
export type Recover = (isSigned: () => boolean) => boolean | Refusal

export function recoverWithin(guard: FailureGuard, addressBucket: string): Recover {
  return (isSigned) => {
    const limited = guard.refusal(addressBucket)
    if (limited !== undefined) return limited
    const isRight = isSigned()
    if (!isRight) guard.failed(addressBucket)
    return isRight
  }
}
