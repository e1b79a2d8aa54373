/** Prepaid balance of a key. */
export function keyAccount(publicId: string): string {
  return `key:${publicId}`
}

/** The key whose balance an account is; undefined when it is none of a key. */
export function keyOfAccount(account: string): string | undefined {
  const prefix = keyAccount('')
  return account.startsWith(prefix) ? account.slice(prefix.length) : undefined
}

/** Prepaid balance of callers without a key from one address bucket. */
export function bucketAccount(addressBucket: string): string {
  return `bucket:${addressBucket}`
}

/** Stands for an address bucket where a wallet signs in: its balance, wherever it calls from. */
export function payerBucket(wallet: string): string {
  return `payer:${wallet}`
}

/** Prepaid balance of callers without a key who sign in with a wallet. */
export function payerAccount(wallet: string): string {
  return bucketAccount(payerBucket(wallet))
}

/** The outside world on one chain: as far below zero as money came in from there. */
export function chainInAccount(chainId: number): string {
  return `chain_in:${chainId}`
}

/**
 * What a wallet owes after a reorg took money that was spent already; zero or below. It is the
 * wallet's and no key's, so that money moved to another key does not leave the debt behind.
 */
export function receivableAccount(wallet: string): string {
  return `receivable:${wallet}`
}

/** What paid calls have earned, as far as their days are closed. */
export const REVENUE = 'revenue'

/** Prepaid accounts may never go below zero; the database refuses it. */
export function isPrepaid(account: string): boolean {
  return account.startsWith('key:') || account.startsWith('bucket:')
}
