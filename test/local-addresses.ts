import type { Address } from '#base/address.ts'
import { accounts, addresses } from '#devnet/addresses.ts'

// Addresses of the local chains, in the lower case that the register stores.
export const grave = stored(addresses.base.grave)
export const graveyard = stored(addresses.base.graveyard)
export const usdc = stored(addresses.base.usdc)
export const holder = stored(accounts.holder)
export const operator = stored(accounts.operator)

function stored(address: string): Address {
  return address.toLowerCase() as Address
}
