import { TRANSFER_TOPIC } from '#base/token.ts'
import type { Rpc } from '#devnet/rpc.ts'

interface RawLog {
  readonly topics: readonly string[]
  readonly data: string
}

/** Adds raw logs up, without any code that the service counts with. */
export async function countTransfers(
  rpc: Rpc,
  wanted: { readonly token: string; readonly from?: string; readonly to?: readonly string[] },
) {
  const logs = (await logsOf(rpc, wanted.token)).filter(
    ({ topics }) => topics[0] === TRANSFER_TOPIC,
  )
  const balances = new Map<string, bigint>()
  let amount = 0n
  let count = 0
  for (const { topics, data } of logs) {
    const [from, to] = topics.slice(1, 3).map((each) => `0x${each.slice(26)}`)
    if (from === undefined || to === undefined) continue
    balances.set(from, (balances.get(from) ?? 0n) - BigInt(data))
    balances.set(to, (balances.get(to) ?? 0n) + BigInt(data))
    if (wanted.from !== undefined && wanted.from.toLowerCase() !== from) continue
    if (wanted.to !== undefined && !wanted.to.includes(to)) continue
    amount += BigInt(data)
    count += 1
  }
  balances.delete(`0x${'0'.repeat(40)}`)
  const holders = new Set([...balances].filter(([, held]) => held > 0n).map(([each]) => each))
  return { amount, count, holders }
}

/** Sum of the first word of every log of a contract. */
export async function countWords(rpc: Rpc, contract: string) {
  const logs = await logsOf(rpc, contract)
  const sum = logs.reduce((all, { data }) => all + BigInt(data.slice(0, 66)), 0n)
  return { count: logs.length, sum }
}

async function logsOf(rpc: Rpc, address: string): Promise<readonly RawLog[]> {
  const params = [{ address, fromBlock: '0x0', toBlock: 'latest' }]
  return (await rpc.send({ method: 'eth_getLogs', params })) as readonly RawLog[]
}
