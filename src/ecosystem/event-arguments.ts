import type { Address } from '#base/address.ts'

export type EventArguments = Readonly<Record<string, unknown>>

/** The log becomes an anomaly with this message. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError'
}

/** The file is not at fault: anyone may pay in a token of their own. */
export class UnlistedTokenError extends DecodeError {}

/** The ecosystem file was validated, so a mismatch is an anomaly. */
export const argument = {
  address(args: EventArguments, name: string): Address {
    const value = args[name]
    if (typeof value !== 'string') throw new DecodeError(`argument ${name} is not an address`)
    return value.toLowerCase() as Address
  },
  amount(args: EventArguments, name: string): bigint {
    const value = args[name]
    if (typeof value === 'number') return BigInt(value)
    if (typeof value !== 'bigint') throw new DecodeError(`argument ${name} is not an amount`)
    return value
  },
}
