import type { Address } from './address.ts'

/** A key's short name, safe to log and to show. */
export const PUBLIC_ID = /^[0-9a-f]{8}$/

export type Tier = 'anonymous' | 'free' | 'premium'

/** Who calls: an address bucket, or a key and the wallet behind it. */
export type Caller =
  | {
      readonly kind: 'anonymous'
      /** What /api/usage shows: `ip:<bucket>`. */
      readonly identity: string
      /** What is counted: one IPv4 address or one IPv6 /64. */
      readonly bucket: string
      readonly tier: 'anonymous'
      readonly dailyQuota: number
    }
  | {
      readonly kind: 'keyed'
      /** `key:<prefix>_<publicId>` */
      readonly identity: string
      /** `wallet:<address>`: the quota is shared by all keys of the wallet. */
      readonly bucket: string
      readonly tier: 'free' | 'premium'
      readonly dailyQuota: number
      readonly publicId: string
      readonly wallet: Address
      /** Free calls are counted for the key too; of a wallet's first key they are what is left. */
      readonly countsApart?: boolean
    }

/** A caller's figures of the UTC day, as they stand after the last decision. */
export interface UsageFigures {
  readonly tier: Tier
  readonly dailyQuota: number
  /** Every charged call of the day. */
  readonly requestCount: number
  /** The paid part of `requestCount`. */
  readonly overageCount: number
  readonly remaining: number
  readonly resetUnix: number
}
