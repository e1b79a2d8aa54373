import { codecOf, column, type RowOf } from '#store/sql.ts'

/** Who stands behind a claim, ascending. */
export const TRUSTS = ['none', 'payer', 'owner'] as const

export type Trust = (typeof TRUSTS)[number]

export const claims = codecOf({
  id: column.text,
  publicId: column.text,
  txHash: column.hex,
  owner: column.hex,
  payerAddress: column.hex,
  byOwner: column.flag,
  trust: column.placeIn(TRUSTS),
  claimedMicroUsd: column.amount,
  createdUnix: column.integer,
  /** Start of the day in which the transfer is awaited. */
  openedUnix: column.integer,
  /** Whether it ever was, perhaps before a reorg: the money returns there. */
  wasCredited: column.flag,
})

/** A hint that a transaction pays for a key; proves nothing by itself. */
export type Claim = RowOf<typeof claims>

/** Most likely replaced by then; posting again reopens it. */
export const CLAIM_TTL_SECONDS = 86_400

export const OPEN_CLAIMS_MAX = 20
