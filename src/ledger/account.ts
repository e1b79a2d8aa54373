import { type Address, parseAddress } from '#domain/address.ts'

export function keyAccount(publicId: string): string {
  return `key:${publicId}`
}

export function keyOfAccount(account: string): string | undefined {
  const prefix = keyAccount('')
  return account.startsWith(prefix) ? account.slice(prefix.length) : undefined
}

export function bucketAccount(addressBucket: string): string {
  return `bucket:${addressBucket}`
}

/** Names the bucket of callers who sign in with a wallet; it works like an address bucket. */
export function payerBucket(wallet: string): string {
  return `payer:${wallet}`
}

/** Undefined if the bucket is an address. */
export function walletOfBucket(bucket: string): Address | undefined {
  return bucket.startsWith('payer:') ? parseAddress(bucket.slice('payer:'.length)) : undefined
}

export function payerAccount(wallet: string): string {
  return bucketAccount(payerBucket(wallet))
}

/** Minus the money that came in. */
export function chainInAccount(chainId: number): string {
  return `chain_in:${chainId}`
}

/**
 * Holds the debt after a reorg took spent money; zero or below. Per wallet, so that moving money between keys
 * cannot evade it.
 */
export function receivableAccount(wallet: string): string {
  return `receivable:${wallet}`
}

export const REVENUE = 'revenue'

export const GRANTS = 'grants'

/** The database keeps it at zero or above. */
export function isPrepaid(account: string): boolean {
  return account.startsWith('key:') || account.startsWith('bucket:')
}
