/** Micro-USD, within the default spending limit of stock clients. */
export const OFFERS = [100_000n, 1_000_000n] as const
