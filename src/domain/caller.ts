import type { Address } from './address.ts'
import type { Tier, WalletTier } from './tier.ts'

/** Public part of a key, safe to log and show. */
export const PUBLIC_ID = /^[0-9a-f]{8}$/

/** An address bucket, or a key and its wallet. */
export type Caller =
  | {
      readonly kind: 'anonymous'
      /** In /api/usage: `ip:<bucket>`. */
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
      /** `wallet:<address>`: all keys of a wallet share its quota. */
      readonly bucket: string
      readonly tier: WalletTier
      readonly dailyQuota: number
      readonly publicId: string
      readonly wallet: Address
      /**
       * Whether free calls are also counted per key; the first key's are the wallet's minus the
       * others'.
       */
      readonly countsApart?: boolean
    }

/** Today's figures (UTC) after the caller's last decision. */
export interface UsageFigures {
  readonly tier: Tier
  readonly dailyQuota: number
  readonly requestCount: number
  /** The paid part of `requestCount`. */
  readonly overageCount: number
  readonly remaining: number
  readonly resetUnix: number
}
