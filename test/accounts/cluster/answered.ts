import type { OwnedKey } from '../world/owner.ts'

/** What callers were answered with by the replicas of a lossy fail-over. */
export class Answered {
  /** By wallet, in lower case. */
  readonly calls = new Map<string, { answered: number; unknown: number }>()
  /** Public ids of keys whose secret was shown. */
  readonly keys = new Set<string>()
  /** Of keys that were revoked or rotated. */
  readonly revoked = new Set<string>()
  readonly claims = new Set<string>()

  called(wallet: string, status: number): void {
    const name = wallet.toLowerCase()
    const sum = this.calls.get(name) ?? { answered: 0, unknown: 0 }
    this.calls.set(name, sum)
    if (status === 200) sum.answered += 1
    else if (status === 0 || status >= 500) sum.unknown += 1
  }

  made(key: OwnedKey): void {
    this.keys.add(key.publicId)
  }

  ended(key: OwnedKey, successor?: OwnedKey): void {
    this.revoked.add(key.publicId)
    if (successor !== undefined) this.made(successor)
  }

  claimed(key: OwnedKey, txHash: string): void {
    this.claims.add(`${key.publicId} ${txHash}`)
  }

  describe(): string {
    const calls = [...this.calls.values()]
    const [answered, unknown] = [
      calls.reduce((sum, each) => sum + each.answered, 0),
      calls.reduce((sum, each) => sum + each.unknown, 0),
    ]
    return `answered: ${answered} calls (${unknown} more with an unknown outcome), ${this.keys.size} keys, ${this.revoked.size} revocations, ${this.claims.size} claims`
  }
}
