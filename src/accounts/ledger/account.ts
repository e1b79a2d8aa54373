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

/** The database keeps it at zero or above. */
export function isPrepaid(account: string): boolean {
  return account.startsWith('key:') || account.startsWith('bucket:')
}
