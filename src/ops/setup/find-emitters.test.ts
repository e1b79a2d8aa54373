import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { encodeFunctionData, parseAbi } from 'viem'
import { parseAddress } from '#base/address.ts'
import { openRpcSource } from '#chain/rpc-source.ts'
import { registerMigrations } from '#data/datasets.ts'
import { listMappings } from '#data/mappings.ts'
import { sql } from '#db/sql.ts'
import { accounts } from '#devnet/addresses.ts'
import { findEmitters } from '#ops/setup/check-mappings.ts'
import { deployContract, transact } from '#test/deploy-contract.ts'
import { oneTokenEcosystemAt, startIndexer } from '#test/indexed-ecosystem.ts'
import { startOwnDevnet } from '#test/start-own-devnet.ts'
import { onSqlite } from '#test/store/each-engine.ts'

const devnet = await startOwnDevnet()
after(() => devnet.stop())
const { base } = devnet.chains
const from = accounts.operator

test('payouts of contracts made by a factory are indexed from proven blocks, and found by another process', () =>
  onSqlite(registerMigrations, async ({ engine: register }) => {
    const factory = await deployContract(base.client, 'PotFactory')
    const stranger = await deployContract(base.client, 'Pot')
    const make = () => {
      const abi = parseAbi(['function make(address)'])
      const data = encodeFunctionData({ abi, functionName: 'make', args: [accounts.holder] })
      return transact(base.client, { from, to: factory, data })
    }
    await make()
    const read = () =>
      oneTokenEcosystemAt(base.rpcUrl, (file) => ({
        ...file,
        chains: file.chains.map((chain) => ({ ...chain, proofs: 'every' })),
        dividends: [
          {
            chain: 'base',
            contracts: {
              factory,
              event: 'event PotMade(address indexed owner, address pot)',
              argument: 'pot',
            },
            event: 'event Paid(address indexed to, uint256 amount)',
            ...{ kind: 'claim', recipient: 'to', amount: 'amount', token: 'GRAVE' },
          },
        ],
      }))
    const indexer = startIndexer({ ecosystem: read(), register })
    await indexer.caughtUp()
    await make()
    const abi = parseAbi(['function pay(address, uint256)'])
    const data = encodeFunctionData({ abi, functionName: 'pay', args: [accounts.holder, 4n] })
    await transact(base.client, { from, to: stranger, data })
    await indexer.caughtUp()
    await indexer.stop()
    const found = await register.snapshot((reads) =>
      reads.run(sql`select count(*) as events from events where dataset = 'dividends'`),
    )
    assert.equal(Number(found[0]?.events), 4)
    // Another process has an ecosystem of its own, in which no contract is found yet.
    const [mapping] = listMappings(read())
    assert.ok(mapping !== undefined)
    const source = openRpcSource({ chainId: 8453, urls: [base.rpcUrl] })
    const head = await source.header('latest')
    const range = { from: 0, to: head?.number ?? 0, untilMs: Date.now() + 30_000 }
    const deps = { source, clock: Date.now }
    const emitters = await findEmitters(deps, mapping.source, range)
    assert.equal(emitters.length, 2)
    assert.ok(!emitters.includes(parseAddress(stranger) ?? '0x'))
  }))
