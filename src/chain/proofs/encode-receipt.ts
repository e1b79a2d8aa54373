import { fromHex } from 'ox/Rlp'

type Hex = `0x${string}`

/** As in `eth_getBlockReceipts`. */
export interface WireReceipt {
  readonly type?: string | null
  /** Absent before Byzantium, which used `root`. */
  readonly status?: string | null
  readonly root?: string | null
  readonly cumulativeGasUsed: string
  readonly logsBloom: string
  readonly logs: readonly {
    readonly address: string
    readonly topics: readonly string[]
    readonly data: string
  }[]
  readonly depositNonce?: string | null
  readonly depositReceiptVersion?: string | null
}

/** EIP-658, EIP-2718. OP stack deposits add nonce and version since Canyon. */
export function encodeReceipt(receipt: WireReceipt): Hex {
  const { status, root, depositNonce, depositReceiptVersion } = receipt
  const isOf = (value: string | null | undefined): value is string => typeof value === 'string'
  const fields = [
    isOf(status) ? integer(status) : bytes(root ?? '0x'),
    integer(receipt.cumulativeGasUsed),
    bytes(receipt.logsBloom),
    receipt.logs.map(({ address, topics, data }) => [
      bytes(address),
      topics.map(bytes),
      bytes(data),
    ]),
    // Before Canyon, nodes return a nonce that the trie lacks.
    ...(isOf(depositReceiptVersion)
      ? [integer(depositNonce ?? '0x0'), integer(depositReceiptVersion)]
      : []),
  ]
  const type = Number(receipt.type ?? 0)
  const payload = fromHex(fields, { as: 'Hex' })
  return type === 0 ? payload : `0x${type.toString(16).padStart(2, '0')}${payload.slice(2)}`
}

export function integer(quantity: string): Hex {
  const digits = quantity.slice(2).replace(/^0+/, '')
  return `0x${digits.length % 2 === 0 ? digits : `0${digits}`}`
}

export function bytes(text: string): Hex {
  return `0x${text.slice(2)}`
}
