import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { encodeFunctionData, type Hex, parseAbi } from 'viem'
import { type AnswerDeps, answerRpc } from './answer-rpc.ts'
import { benchAddresses as at } from './bench-ecosystem.ts'
import { chainTruth } from './chain-truth.ts'
import { eventKinds, KIND } from './event-kinds.ts'
import type { LogQuery } from './select-logs.ts'
import { SyntheticChain } from './synthetic-chain.ts'

const options = { logs: 40_000, seed: 7, endUnix: 1_800_000_000, timestamps: true }

interface WireLog {
  readonly address: Hex
  readonly topics: readonly Hex[]
  readonly data: Hex
  readonly blockNumber: Hex
  readonly blockHash: Hex
  readonly blockTimestamp: Hex
  readonly transactionHash: Hex
  readonly logIndex: Hex
}

describe('the synthetic chain', () => {
  let chain: SyntheticChain
  let all: readonly WireLog[]
  before(() => {
    chain = new SyntheticChain(options)
    all = ask(chain, 'eth_getLogs', [range(0, chain.blocks.head)]) as readonly WireLog[]
  })

  it('the same seed gives the same bytes, another seed others', () => {
    const same = new SyntheticChain(options)
    const other = new SyntheticChain({ ...options, seed: 8 })
    const bytes = ({ logs }: SyntheticChain) => Buffer.concat(logs.slices(0, logs.count - 1))
    assert.ok(bytes(chain).equals(bytes(same)))
    assert.ok(!bytes(chain).equals(bytes(other)))
  })

  it('holds as many logs as asked for, beside the noise, in chain order', () => {
    const { wanted, logs } = chainTruth(chain)
    assert.equal(wanted, options.logs)
    assert.equal(all.length, wanted + (logs.noise ?? 0))
    const places = all.map((log) => Number(log.blockNumber) * 1_000 + Number(log.logIndex))
    assert.ok(places.every((place, index) => index === 0 || place > (places[index - 1] ?? 0)))
    for (const log of all.slice(0, 500)) {
      const number = Number(log.blockNumber)
      assert.equal(log.blockHash, chain.blocks.hashOf(number))
      assert.equal(Number(log.blockTimestamp), chain.blocks.timeOf(number))
    }
  })

  for (const [name, query] of filters())
    it(`a filter answers as a naive one does: ${name}`, () => {
      const [from, to] = [3, Math.floor(chain.blocks.head / 3)]
      const found = ask(chain, 'eth_getLogs', [{ ...query, ...range(from, to) }])
      const wanted = all.filter(
        (log) =>
          Number(log.blockNumber) >= from && Number(log.blockNumber) <= to && passes(query, log),
      )
      assert.deepEqual(found, wanted)
    })

  it('what it says of itself is what its logs come to', () => {
    const truth = chainTruth(chain)
    for (const [token, figures] of [
      [at.grave, truth.grave],
      [at.crypt, truth.crypt],
    ] as const) {
      const balances = addUp(all, token)
      const burns = all.filter(
        ({ address, topics }) =>
          address === token &&
          [at.dead, at.zero].some((each) => topics[2]?.endsWith(each.slice(2))),
      )
      assert.equal(figures.burnCount, burns.length)
      assert.equal(
        figures.totalBurnedRaw,
        String(burns.reduce((sum, log) => sum + BigInt(log.data), 0n)),
      )
      const last30d = burns.filter(
        (log) => Number(log.blockTimestamp) > truth.headUnix - 30 * 86_400,
      )
      assert.equal(figures.last30d.burnCount, last30d.length)
      assert.equal(figures.totalSupplyRaw, String(-(balances.get(at.zero) ?? 0n)))
      const locked: readonly string[] = [at.zero, at.dead, at.treasury]
      const holders = [...balances].filter(([who, held]) => held > 0n && !locked.includes(who))
      assert.equal(figures.holderCount, holders.length)
      assert.ok([...balances].every(([who, held]) => held >= 0n || who === at.zero))
    }
    assert.equal(
      truth.claims.count,
      all.filter(({ address, topics }) => address === at.distributor && topics.length === 3).length,
    )
    assert.equal(truth.digs.count, all.filter(({ address }) => address === at.graveyard).length)
  })

  it('a balance of the past is what the logs until then come to', () => {
    const block = Math.floor(chain.blocks.head / 2)
    const until = all.filter((log) => Number(log.blockNumber) <= block)
    const balances = addUp(until, at.grave)
    for (const [owner, held] of [...balances].slice(0, 40)) {
      if (owner === at.zero) continue
      const data = encodeFunctionData({ abi: balanceAbi, args: [owner] })
      const params = [{ to: at.grave, data }, `0x${block.toString(16)}`]
      assert.equal(BigInt(String(ask(chain, 'eth_call', params))), held)
    }
  })

  it('blocks link to their parents and are found by hash', () => {
    const [low, high] = [41, 42].map((number) =>
      ask(chain, 'eth_getBlockByNumber', [`0x${number.toString(16)}`, true]),
    ) as unknown as readonly [Block, Block]
    assert.equal(high.parentHash, low.hash)
    assert.deepEqual(ask(chain, 'eth_getBlockByHash', [high.hash, true]), high)
    const logs = ask(chain, 'eth_getLogs', [{ blockHash: high.hash }]) as readonly WireLog[]
    assert.deepEqual(
      logs,
      all.filter((log) => Number(log.blockNumber) === 42),
    )
    const hashes = new Set(logs.map((log) => log.transactionHash))
    assert.deepEqual(new Set(high.transactions.map((each) => each.hash)), hashes)
  })

  it('grows at its head and stays one chain', () => {
    const live = new SyntheticChain({ ...options, logs: 1_000 })
    const before = chainTruth(live)
    for (let count = 1; count <= 50; count += 1) live.grow(options.endUnix + count * 2)
    const after = chainTruth(live)
    assert.equal(after.headNumber, before.headNumber + 50)
    const logs = ask(live, 'eth_getLogs', [range(0, after.headNumber)]) as readonly WireLog[]
    assert.equal(logs.length, after.wanted + (after.logs.noise ?? 0))
    assert.equal(-(addUp(logs, at.grave).get(at.zero) ?? 0n), BigInt(after.grave.totalSupplyRaw))
  })
})

interface Block {
  readonly hash: Hex
  readonly parentHash: Hex
  readonly transactions: readonly { readonly hash: Hex }[]
}

const balanceAbi = parseAbi(['function balanceOf(address owner) view returns (uint256)'])

function depsOf(chain: SyntheticChain): AnswerDeps {
  return {
    chain,
    bloom: 'right',
    bloomItems: new Map(),
    limits: { dialect: 'generic', blocksMax: undefined, logsMax: undefined, bytesMax: 1e9 },
    finalDepth: 100,
    onRefused: () => assert.fail('refused'),
  }
}

function ask(chain: SyntheticChain, method: string, params: readonly unknown[]): unknown {
  const text = Buffer.concat(answerRpc(depsOf(chain), { id: 1, method, params })).toString()
  const answer = JSON.parse(text)
  assert.equal(answer.error, undefined, text)
  return answer.result
}

function range(from: number, to: number) {
  return { fromBlock: `0x${from.toString(16)}`, toBlock: `0x${to.toString(16)}` }
}

function filters(): readonly (readonly [string, LogQuery])[] {
  const topic = (kind: keyof typeof KIND) => eventKinds[KIND[kind]]?.topic0 ?? '0x'
  const word = (address: Hex) => `0x${address.slice(2).padStart(64, '0')}`
  return [
    ['nothing', {}],
    ['one address', { address: at.grave }],
    [
      'addresses and events',
      { address: [at.grave, at.distributor], topics: [[topic('claim'), topic('graveTransfer')]] },
    ],
    ['payments', { address: [at.usdc], topics: [[topic('payment')], null, [word(at.payTo)]] }],
    ['burns', { topics: [topic('graveTransfer'), null, [word(at.dead), word(at.zero)]] }],
    ['claims of one token', { topics: [[topic('claim')], null, word(at.usdc)] }],
    [
      'mixed case and an empty list',
      { address: [at.grave.toUpperCase().replace('0X', '0x')], topics: [[], null] },
    ],
    ['more topics than some logs have', { topics: [null, null, null] }],
  ]
}

function passes({ address, topics = [] }: LogQuery, log: WireLog): boolean {
  const fits = (values: string | readonly string[] | null | undefined, value: string) => {
    const list = [values ?? []].flat()
    return list.length === 0 || list.some((each) => each.toLowerCase() === value)
  }
  if (!fits(address, log.address) || topics.length > log.topics.length) return false
  return topics.every((values, position) => fits(values, log.topics[position] ?? ''))
}

function addUp(logs: readonly WireLog[], token: Hex): Map<Hex, bigint> {
  const balances = new Map<Hex, bigint>()
  const add = (topic: Hex | undefined, amount: bigint) => {
    const owner: Hex = `0x${topic?.slice(26)}`
    balances.set(owner, (balances.get(owner) ?? 0n) + amount)
  }
  for (const { address, topics, data } of logs) {
    if (address !== token) continue
    add(topics[1], -BigInt(data))
    add(topics[2], BigInt(data))
  }
  return balances
}
