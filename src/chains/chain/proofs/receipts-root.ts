import { createMPT } from '@ethereumjs/mpt'
import { toBytes } from 'ox/Hex'
import { fromHex } from 'ox/Rlp'
import type { Hash } from '#domain/address.ts'
import { encodeReceipt, integer, type WireReceipt } from './encode-receipt.ts'

/** Yellow Paper, 4.3.1. */
export async function receiptsRoot(receipts: readonly WireReceipt[]): Promise<Hash> {
  const trie = await createMPT()
  for (const [index, receipt] of receipts.entries()) {
    const key = fromHex(integer(`0x${index.toString(16)}`), { as: 'Bytes' })
    await trie.put(key, toBytes(encodeReceipt(receipt)))
  }
  return `0x${Buffer.from(trie.root()).toString('hex')}`
}
