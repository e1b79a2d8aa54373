import { type Hex, numberToHex, toRlp } from 'viem'
import { bloomOf } from './bloom-of.ts'
import { trieRoot } from './trie-root.ts'

/** What `eth_getBlockReceipts` returns of one transaction, without its logs. */
export interface BuiltReceipt {
  readonly type: Hex
  readonly status: Hex
  readonly cumulativeGasUsed: Hex
  readonly logsBloom: Hex
  readonly transactionHash: Hex
  readonly transactionIndex: Hex
}

interface ReceiptLog {
  readonly address: Hex
  readonly topics: readonly Hex[]
  readonly data: Hex
  readonly transactionHash: Hex
  readonly transactionIndex: number
}

const GAS_OF_TRANSACTION = 100_000

/** The receipts of a block's transactions and their true root, written apart from the code under test. */
export function buildReceipts(logs: readonly ReceiptLog[]): {
  readonly receipts: readonly BuiltReceipt[]
  readonly receiptsRoot: Hex
} {
  const built = transactionsOf(logs).map((transaction, index) => {
    const receipt: BuiltReceipt = {
      type: '0x2',
      status: '0x1',
      cumulativeGasUsed: numberToHex((index + 1) * GAS_OF_TRANSACTION),
      logsBloom: bloomOf(transaction.logs),
      transactionHash: transaction.hash,
      transactionIndex: numberToHex(index),
    }
    return { receipt, encoded: encodeReceipt(receipt, transaction.logs) }
  })
  return {
    receipts: built.map(({ receipt }) => receipt),
    receiptsRoot: trieRoot(built.map(({ encoded }) => encoded)),
  }
}

function transactionsOf(logs: readonly ReceiptLog[]) {
  const found: { readonly hash: Hex; readonly logs: ReceiptLog[] }[] = []
  for (const log of logs) {
    const known = found[log.transactionIndex]
    if (known === undefined) found.push({ hash: log.transactionHash, logs: [log] })
    else known.logs.push(log)
  }
  return found
}

/** EIP-2718, EIP-658. */
function encodeReceipt(receipt: BuiltReceipt, logs: readonly ReceiptLog[]): Hex {
  const payload = toRlp([
    evenDigits(receipt.status),
    evenDigits(receipt.cumulativeGasUsed),
    receipt.logsBloom,
    logs.map(({ address, topics, data }) => [address, [...topics], data]),
  ])
  return `0x02${payload.slice(2)}`
}

function evenDigits(quantity: Hex): Hex {
  const digits = quantity.slice(2)
  return `0x${digits.length % 2 === 0 ? digits : `0${digits}`}`
}
