import type { Address } from './address.ts'
import type { KeyLimits } from './key-limits.ts'
import type { Tier, WalletTier } from './tier.ts'

/** Public part of a key, safe to log. */
export const PUBLIC_ID = /^[0-9a-f]{8}$/

export type Caller =
  | {
      readonly kind: 'anonymous'
      /** `ip:<bucket>` */
      readonly identity: string
      /** One IPv4 address or one IPv6 /64. */
      readonly bucket: string
      readonly tier: 'anonymous'
      readonly dailyQuota: number
    }
  | {
      readonly kind: 'keyed'
      /** `key:<prefix>_<publicId>` */
      readonly identity: string
      /** `wallet:<address>`: a wallet's keys share its quota. */
      readonly bucket: string
      readonly tier: WalletTier
      readonly dailyQuota: number
      readonly publicId: string
      readonly wallet: Address
      readonly limits?: KeyLimits | undefined
      /** Whether the key's balance pays for a call. */
      readonly hasBalance?: boolean
    }

/** What the rate-limit headers and `/api/usage` show. */
export interface RateLimitState {
  readonly tier: Tier
  readonly dailyQuota: number
  readonly requestCount: number
  readonly overageCount: number
  readonly remaining: number
  readonly resetUnix: number
}
